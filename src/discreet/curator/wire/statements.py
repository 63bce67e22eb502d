"""Statements as clients of PostgreSQL send them: split, told apart, with the price that a comment names.

Guarantee: pure functions of text. A price is taken from a comment of its own (``/* epsilon=0.1 */``) or from a setting,
never guessed; a comment that begins like a price and is none is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from discreet.errors import BadParameter, BadQuestion

PRICES = ("epsilon", "delta", "rho", "confidence", "key", "fresh")
LONGEST = 100_000
_DIALECT = Postgres()
_BEFORE = "SELECT "
_COMMENT = re.compile(rf"\s*({'|'.join(PRICES)})\s*=", re.IGNORECASE)
_ITEM = re.compile(r"\s*(\w+)\s*=\s*(?:'([^']*)'|([^\s,']+))\s*(?:,|$)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement."""

    text: str
    tokens: tuple[Token, ...]
    prices: Mapping[str, str]
    """What its comments say of its price."""

    @property
    def words(self) -> tuple[str, ...]:
        """Its first words, in capitals."""
        return tuple(token.text.upper() for token in self.tokens[:4])

    def after(self, place: int) -> str:
        """The text from a token on."""
        return self.text[self.tokens[place].start :] if place < len(self.tokens) else ""

    def filled(self, literals: Sequence[str]) -> str:
        """The text with a literal in the place of each ``$1``.

        >>> (one,) = statements("SELECT COUNT(*) FROM t WHERE a = $1 AND b = '$1'")
        >>> one.filled(["'x'"])
        "SELECT COUNT(*) FROM t WHERE a = 'x' AND b = '$1'"
        """
        parts, after = list[str](), 0
        for place, number in self._places():
            if not 1 <= number <= len(literals):
                raise BadQuestion(f"Parameter ${number} has no value; {len(literals)} were given.")
            written = literals[number - 1]
            before = self.text[after:place]
            parts += [before, " " if before.endswith("-") and written.startswith("-") else "", written]
            after = place + 1 + len(str(number))
        return "".join([*parts, self.text[after:]])

    @property
    def parameters(self) -> int:
        """How many values it needs."""
        return max((number for _, number in self._places()), default=0)

    def _places(self) -> list[tuple[int, int]]:
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return [
            (mark.start, int(digits.text))
            for mark, digits in pairs
            if mark.token_type is TokenType.PARAMETER
            and mark.text == "$"
            and digits.start == mark.end + 1
            and re.fullmatch(r"[1-9]\d{0,4}", digits.text)
        ]


def statements(text: str) -> list[Statement]:
    """The statements of a text; none if it is empty.

    >>> [one.text for one in statements("SET a = 'x;y'; /* epsilon=0.1 */ SELECT 1;")]
    ["SET a = 'x;y'", 'SELECT 1']
    """
    if len(text) > LONGEST:
        raise BadQuestion(f"A text has at most {LONGEST:,} characters.")
    split: list[list[Token]] = [[]]
    for token in _tokens(text):
        if token.token_type is TokenType.SEMICOLON:
            split.append([])
        else:
            split[-1].append(token)
    return [_statement(text[some[0].start : some[-1].end + 1], some) for some in split if some]


def _statement(text: str, tokens: Sequence[Token]) -> Statement:
    """One statement; words such as SHOW, which the tokenizer takes as the beginning of a text, are read as words."""
    words = [_moved(token, -len(_BEFORE)) for token in _tokens(_BEFORE + text)[1:]]
    return Statement(text, tuple(words), _prices(tokens) | _prices(words))


def _moved(token: Token, by: int) -> Token:
    return Token(token.token_type, token.text, token.line, token.col, token.start + by, token.end + by, token.comments)


def _tokens(text: str) -> list[Token]:
    try:
        return list(_DIALECT.tokenize(text))
    except (SqlglotError, RecursionError, ValueError):
        raise BadQuestion("This is not SQL: a quote or a comment does not end.") from None


def _prices(tokens: Sequence[Token]) -> dict[str, str]:
    found: dict[str, str] = {}
    for comment in (comment for token in tokens for comment in token.comments):
        if _COMMENT.match(comment):
            _once_each(found, read_prices(comment))
    return found


def _once_each(found: dict[str, str], more: Mapping[str, str]) -> None:
    """Take these in too; a price that is said twice, differently, is refused: nobody pays the one he did not mean."""
    for name, value in more.items():
        if found.setdefault(name, value) != value:
            raise BadParameter("comment", f"{name}={value}", f"must be the same as {name}={found[name]} before it")


def read_prices(text: str) -> dict[str, str]:
    """The price in a comment.

    >>> read_prices(" epsilon=0.1, key='daily 7' ")
    {'epsilon': '0.1', 'key': 'daily 7'}
    """
    found, at = dict[str, str](), 0
    while text[at:].strip():
        item = _ITEM.match(text, at)
        if item is None or item[1].lower() not in PRICES:
            raise BadParameter(
                "comment", text.strip(), "must name a privacy cost, such as /* epsilon=0.1, delta=1e-9 */"
            )
        _once_each(found, {item[1].lower(): item[2] if item[2] is not None else item[3]})
        at = item.end()
    return found
