"""From text to a syntax tree, by sqlglot, within limits: size, nesting, time. What it may hold is decided elsewhere.

Promise: whatever the text is, the result is a tree or a ``BadQuestion``; never another error, never a wait. Messages
name places and words of SQL, not the constants in the text.
Believes: sqlglot stops at ``max_nodes``. Its parser tries several readings of one text, some of them again at each
level of nesting; the number of nodes that it may make is therefore limited to a multiple of the text's length.

The parser is sqlglot's own for DuckDB, as it comes: its compiled form cannot be extended. So it is the words that are
prepared for it. Names in quotes and names of functions are spelled so that they mean nothing to it (``spelled`` reads
them again): then a function comes back as a name with arguments, whichever it is, and a name is never read as a text
of its own, which would have no limit. Types are only left where a type may stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from itertools import pairwise

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.dialects import frozen, respelled, spelling_of
from discreet.query.front.sql.opaque_names import MARK, opaque
from discreet.query.front.sql.refusals import refusal
from discreet.query.front.sql.translate import translated
from discreet.query.resolve.unresolved import checked_text

LONGEST = 100_000
"""Characters of a text."""
DEEPEST = 32
"""Open parentheses and CASEs at one place; sqlglot needs some 20 frames of Python's stack for each."""
DEEPEST_TREE = 100

_DIALECT = Dialect.get_or_raise("duckdb")


def read_select(text: str, columns: Iterable[str] = (), dialect: str | None = None) -> exp.Expr:
    """The tree of one statement that begins as a SELECT does; ``columns`` are those that it may be about.

    If it names the time of asking, that moment is frozen, and is what ``asked_at`` says of the tree.
    """
    text, moment = frozen(respelled(text, dialect))
    spelling = spelling_of(dialect)
    tokens = _with_paths(_tokens(text)) if spelling.paths else _tokens(text)
    _check_statement(tokens)
    tree = translated(_parsed(None, tokens, text, columns), spelling)
    tree.meta["asked at"] = moment
    return tree


def asked_at(tree: exp.Expr) -> datetime | None:
    """The moment of asking, if the text names it."""
    found = tree.meta.get("asked at")
    return found if isinstance(found, datetime) else None


def read_expression(text: str) -> exp.Expr:
    """The tree of one expression, perhaps with a name after AS."""
    text, _ = frozen(respelled(text))
    return translated(_parsed(exp.Expr, _tokens(text), text), spelling_of(None))


def placeholders(text: str) -> list[int]:
    """Where the marks ? for parameters stand: outside of texts, names in quotes and comments.

    >>> placeholders("a = ? /* don't? */ AND b = '?'")
    [4]
    """
    marks = (TokenType.PLACEHOLDER, TokenType.QDCOLON)  # the second: the ? of ?::BIGINT
    return [token.start for token in _tokens(text) if token.token_type in marks]


def _tokens(text: str) -> list[Token]:
    given: object = text
    if not isinstance(given, str):
        raise BadQuestion("a query must be a text")
    if len(text) > LONGEST:
        raise BadQuestion(f"a query has at most {LONGEST:,} characters")
    if MARK in checked_text(text):
        raise BadQuestion("text must not hold characters that are none")
    try:
        tokens = list(_DIALECT.tokenize(text))
    except SqlglotError:
        raise BadQuestion("this is not SQL that we understand: a quote or a comment does not end") from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise BadQuestion("there is no query in this text")
    return _without_names(_with_lists(tokens))


def _without_names(tokens: list[Token]) -> list[Token]:
    """FLATTEN(input => x) of Snowflake as FLATTEN(x)."""
    words = [*map(_word, tokens)]
    named = [i for i in range(len(words) - 3) if words[i : i + 4] == ["FLATTEN", "(", "INPUT", "=>"]]
    return [token for i, token in enumerate(tokens) if not any(i in (at + 2, at + 3) for at in named)]


def _with_lists(tokens: list[Token]) -> list[Token]:
    """= ANY (ARRAY[a, b]) as IN (a, b), and <> ALL (ARRAY[a, b]) as NOT IN (a, b)."""
    words, made, at = [*map(_word, tokens)], list[Token](), 0
    while at < len(tokens):
        end = words.index("]", at) if words[at + 1 : at + 5] in _OF_LISTS and "]" in words[at:] else len(tokens)
        forms = {("=", "ANY"): ("IN",), ("<>", "ALL"): ("NOT", "IN"), ("!=", "ALL"): ("NOT", "IN")}
        form = forms.get((words[at], words[at + 1])) if words[end + 1 : end + 2] == [")"] else None
        if form is None:
            made.append(tokens[at])
            at += 1
            continue
        made += [_changed(tokens[at], TokenType[word], word) for word in form]
        made += [tokens[at + 2], *tokens[at + 5 : end], tokens[end + 1]]
        at = end + 2
    return made


_OF_LISTS = (["ANY", "(", "ARRAY", "["], ["ALL", "(", "ARRAY", "["])


def _parsed(wanted: type[exp.Expr] | None, tokens: list[Token], text: str, columns: Iterable[str] = ()) -> exp.Expr:
    """The tree of the wanted kind, or of a statement."""
    _check_words(tokens)
    _check_nesting(tokens)
    reader = _DIALECT.parser(max_nodes=100 + 10 * len(tokens), error_message_context=0)
    words = _prepared(_with_limit(tokens))
    try:
        trees = reader.parse(words, text) if wanted is None else reader.parse_into(wanted, words, text)
    except ParseError as error:
        raise _misread(error, tokens, columns) from None
    except RecursionError:
        raise BadQuestion("this query is nested too deeply; ask more simply") from None
    except Exception:  # a parser that trips over a text has not understood it
        raise BadQuestion("this is not SQL that we understand") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Expr):
        raise BadQuestion("this is not SQL that we understand")
    _check_tree(trees[0])
    return trees[0]


def _with_paths(tokens: list[Token]) -> list[Token]:
    """x:key of Snowflake as (x ->> 'key')."""
    made: list[Token] = []
    plain = (TokenType.VAR, TokenType.IDENTIFIER)
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1 : i], tokens[i + 1 : i + 2]
        if token.token_type is TokenType.COLON and made and made[-1].token_type in plain and after:
            start = len(made) - 1
            while start >= 2 and made[start - 1].token_type is TokenType.DOT:
                start -= 2
            made.insert(start, _changed(token, TokenType.L_PAREN, "("))
            made.append(_changed(token, TokenType.DARROW, "->>"))
        elif before and before[0].token_type is TokenType.COLON and made[-1].token_type is TokenType.DARROW:
            made += [_changed(token, TokenType.STRING, token.text), _changed(token, TokenType.R_PAREN, ")")]
        else:
            made.append(token)
    return made


def _with_limit(tokens: list[Token]) -> list[Token]:
    """SELECT TOP n ... and SELECT TOP (n) ... as SELECT ... LIMIT n; WITH (NOLOCK) left out."""
    words = [_word(token) for token in tokens]
    locks = [i for i in range(len(words) - 3) if words[i : i + 4] == ["WITH", "(", "NOLOCK", ")"]]
    tokens = [token for i, token in enumerate(tokens) if not any(at <= i < at + 4 for at in locks)]
    first = [_word(token) for token in tokens[:3]]
    at = 2 if first[1:2] == ["DISTINCT"] else 1
    if first[:1] != ["SELECT"] or len(tokens) < at + 3 or _word(tokens[at]) != "TOP":
        return tokens
    brackets = tokens[at + 1].token_type is TokenType.L_PAREN
    number, rest = tokens[at + 1 + brackets], tokens[at + 2 + 2 * brackets :]
    if number.token_type is not TokenType.NUMBER or not rest or rest[0].token_type is TokenType.COMMA:
        return tokens
    end = tokens[-1]
    limit = [_changed(end, TokenType.LIMIT, "LIMIT"), _changed(end, TokenType.NUMBER, number.text)]
    return [*tokens[:at], *rest, *limit]


def _misread(error: ParseError, tokens: list[Token], columns: Iterable[str]) -> BadQuestion:
    place = error.errors[0] if error.errors else {}
    line, column = place.get("line"), place.get("col")
    words = "this is not SQL that we understand"
    if isinstance(line, int) and isinstance(column, int):
        words += f", near line {line} column {column}"
    names = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
    of_sql = {token.text.casefold() for token in tokens if token.token_type not in names}
    called = next((name for name in columns if name.casefold() in of_sql), None)
    wrong = _misspelled(tokens, columns)
    if wrong is not None:
        token, word = wrong
        word += " BY" if word == token.text.upper() else ""
        at = f"line {token.line}, column {token.col - len(token.text) + 1}"
        words = f"{token.text.upper()} in {at}: did you mean {word}?"
    elif called is not None:
        words += f'; the column {called} is called like a word of SQL: write it in quotes, "{called}"'
    elif _computes_a_set(tokens):
        words += "; in ROLLUP, CUBE and GROUPING SETS a computed key needs parentheses: ROLLUP(a, (b > 1))"
    return BadQuestion(words)


_COMMON = ("SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "DISTINCT", "BETWEEN", "UNION",
           "QUALIFY", "OFFSET", "INNER", "OUTER", "WHEN", "THEN", "ELSE", "CASE", "PARTITION")  # fmt: skip


def _misspelled(tokens: list[Token], columns: Iterable[str]) -> tuple[Token, str] | None:
    """The first word that nearly is one of SQL and is no column, and that word."""
    names = {name.casefold() for name in columns}
    for before, token in pairwise(tokens):
        plain = token.token_type is TokenType.VAR and token.text.casefold() not in names
        if not plain or before.token_type in (TokenType.DOT, TokenType.FROM, TokenType.JOIN, TokenType.ALIAS):
            continue
        near = get_close_matches(token.text.upper(), _COMMON, n=1, cutoff=0.79)
        if near and (near[0] != token.text.upper() or near[0] in ("GROUP", "ORDER", "PARTITION")):
            return token, near[0]
    return None


def _computes_a_set(tokens: list[Token]) -> bool:
    """Whether something other than names and numbers stands in ROLLUP, CUBE or SETS, outside inner parentheses."""
    plain = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.COMMA, TokenType.DOT)
    depth = 0
    for before, token in pairwise(tokens):
        if token.token_type is TokenType.L_PAREN:
            depth += bool(depth) or _word(before).endswith(("ROLLUP", "CUBE", "SETS"))
        elif token.token_type is TokenType.R_PAREN:
            depth = max(depth - 1, 0)
        elif depth == 1 and token.token_type not in plain:
            return True
    return False


# --- before sqlglot reads it ------------------------------------------------------------------------------------------

_STATEMENTS = frozenset(
    {
        "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE",
        "DEALLOCATE", "DELETE", "DESC", "DESCRIBE", "DETACH", "DROP", "EXECUTE", "EXPLAIN", "EXPORT", "FORCE", "GRANT",
        "IMPORT", "INSERT", "INSTALL", "KILL", "LOAD", "MERGE", "PRAGMA", "PREPARE", "RESET", "REVOKE",
        "ROLLBACK", "SET", "SHOW", "SUMMARIZE", "TABLE", "TRUNCATE", "UNPIVOT", "UPDATE", "USE", "VACUUM", "VALUES",
    }
)  # fmt: skip
_BEGINS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM, TokenType.PIVOT)

_PARAMETER = ("a parameter", "write the value itself")
_LIST = ("a list or an index", "use plain columns, constants, and IN (a, b) for ANY (ARRAY[a, b])")
_STRUCT = ("a struct or a template", "use plain columns and constants")
_JSON = ("this operator on JSON", "write x ->> 'key', or JSON_VALUE(x, '$.key'), for a key of a flat object")
_PREFIXED = ("a text with a prefix or in dollar signs", "write 'text'")
_MARKS: dict[TokenType, tuple[str, str]] = {
    **dict.fromkeys(
        (TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.SESSION_PARAMETER, TokenType.COLON), _PARAMETER
    ),
    **dict.fromkeys((TokenType.L_BRACKET, TokenType.R_BRACKET), _LIST),
    **dict.fromkeys((TokenType.L_BRACE, TokenType.R_BRACE, TokenType.BLOCK_START, TokenType.BLOCK_END), _STRUCT),
    **dict.fromkeys((TokenType.ARROW, TokenType.HASH_ARROW, TokenType.DHASH_ARROW), _JSON),
    **dict.fromkeys(
        (TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING,
         TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.UNICODE_STRING),
        _PREFIXED,
    ),
    TokenType.FARROW: ("a named argument", "give the arguments in their order"),
    TokenType.COLON_EQ: ("an assignment", "give names with AS"),
    TokenType.PIPE_GT: ("the pipe syntax", "write SELECT ... FROM ..."),
    TokenType.HINT: ("a hint to the optimizer", "leave it out"),
    TokenType.OPERATOR: ("OPERATOR(...)", "write the operator itself"),
}  # fmt: skip


def _check_statement(tokens: list[Token]) -> None:
    first = tokens[0]
    if _is_statement(first):
        raise Unsupported(f"the statement {first.text.upper()}", "ask one SELECT")
    if first.token_type not in _BEGINS:
        raise BadQuestion("a query must begin with SELECT or WITH")


def _is_statement(token: Token) -> bool:
    return _word(token) in _STATEMENTS


def _check_words(tokens: list[Token]) -> None:
    """Refuses marks that have no place in any question, and what sqlglot would read as something else."""
    for i, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.SEMICOLON:
            raise Unsupported("a second statement", "ask one SELECT at a time")
        if kind in _MARKS and not _is_quantile(tokens[i - 1 : i + 2]):
            raise Unsupported(*_MARKS[kind])
        before = tokens[i - 1].token_type if i else None
        if before is TokenType.NUMBER and token.start == tokens[i - 1].end + 1 and _wordlike(token):
            raise BadQuestion(f"a number is followed by letters, near line {token.line} column {token.col}")
        if kind is TokenType.STRING and before in (TokenType.FROM, TokenType.JOIN) and not _compares(tokens[:i]):
            raise Unsupported("a file in FROM", "name a table of the session")
        if kind is TokenType.STRING and before is TokenType.INTERVAL and _INTERVAL.fullmatch(token.text) is None:
            raise refusal(exp.Interval())  # sqlglot would leave out what it does not know
        if kind is TokenType.STRING and before is TokenType.ALIAS:
            raise Unsupported("a text as a name", 'quote names as "name"')
        if before is TokenType.L_PAREN and i > 1 and _opens_cte(tokens[i - 2]) and _is_statement(token):
            raise Unsupported(f"the statement {token.text.upper()}", "ask one SELECT")


def _is_quantile(words: list[Token]) -> bool:
    """Whether a bracket is one of APPROX_QUANTILES(x, 100)[OFFSET(50)]."""
    before, bracket, after = [*map(_word, words), "", ""][:3]
    return before == ")" and (bracket == "]" or (bracket == "[" and after in ("OFFSET", "SAFE_OFFSET", "ORDINAL")))


_INTERVAL = re.compile(r"\s*(?:-?\d+(?:\.\d+)?|(?:-?\d+\s*[a-z]+\s*)+|\d+:\d\d:\d\d)\s*", re.IGNORECASE | re.ASCII)


def _compares(before: list[Token]) -> bool:
    """Whether the words before end in IS DISTINCT FROM or IS NOT DISTINCT FROM: no table follows."""
    last = [token.token_type for token in before[-4:]]
    asked = [TokenType.DISTINCT, TokenType.FROM]
    return last[-3:] == [TokenType.IS, *asked] or last == [TokenType.IS, TokenType.NOT, *asked]


def _wordlike(token: Token) -> bool:
    return token.text[:1].isalnum() or token.text[:1] == "_"


def _opens_cte(token: Token) -> bool:
    return token.token_type is TokenType.ALIAS or _word(token) == "MATERIALIZED"


def _check_nesting(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in (TokenType.L_PAREN, TokenType.CASE):
            depth += 1
        elif token.token_type in (TokenType.R_PAREN, TokenType.END):
            depth = max(0, depth - 1)
        if depth > DEEPEST:
            raise BadQuestion(f"parentheses and CASEs are nested more than {DEEPEST} deep; ask more simply")


# --- words for sqlglot ------------------------------------------------------------------------------------------------

_OWN_WORDS = frozenset({"IF", "MAP", "CONNECT_BY_ROOT"})
_KEYWORDS = _OWN_WORDS.union(*(key.split() for key in _DIALECT.tokenizer_class.KEYWORDS))
"""All words that mean something alone or beside others, such as the ORDER of ORDER BY."""
_CASTS = ("CAST", "TRY_CAST", "SAFE_CAST")
_SYNTAX = frozenset({*_CASTS, "EXTRACT", "SUBSTRING", "TRIM"})
"""Functions with words between their arguments: sqlglot reads these."""
_PHRASES = frozenset({("WITHIN", "GROUP"), ("AS", "MATERIALIZED"), ("NOT", "MATERIALIZED"), ("*", "EXCLUDE"),
                      ("*", "REPLACE"), ("*", "RENAME")})  # fmt: skip
_SCALARS = frozenset(
    TokenType[name]
    for name in ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "VARCHAR", "TEXT",
                 "DATE", "TIME", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME")
)  # fmt: skip
_READER = _DIALECT.parser_class
_TYPES = frozenset(_READER.TYPE_TOKENS) - {TokenType.NULL, TokenType.UNION, TokenType.INTERVAL, TokenType.UNKNOWN}
_CALLABLE = _TYPES | {
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.LEFT, TokenType.RIGHT, TokenType.FIRST, TokenType.REPLACE,
    TokenType.FORMAT, TokenType.TRUNCATE, TokenType.INDEX, TokenType.ROW,
}  # fmt: skip
_OTHER_TYPES = {"FLOAT64": TokenType.DOUBLE, "INT64": TokenType.BIGINT, "STRING": TokenType.VARCHAR,
                "BIGNUMERIC": TokenType.DECIMAL, "NVARCHAR": TokenType.VARCHAR, "NUMBER": TokenType.DECIMAL,
                "BIT": TokenType.BOOLEAN, "DATETIME2": TokenType.TIMESTAMP, "DATETIME": TokenType.TIMESTAMP,
                "SMALLDATETIME": TokenType.TIMESTAMP, "UNSIGNED": TokenType.BIGINT, "SIGNED": TokenType.BIGINT,
                "TIMESTAMP_NTZ": TokenType.TIMESTAMP, "INTEGER": TokenType.BIGINT}  # fmt: skip
CASTS = "cast to BIGINT, DECIMAL(p, s), DOUBLE, TEXT, DATE, TIME, TIMESTAMP or BOOLEAN"
_CAST = ("a cast to this type", CASTS)


def is_plain_name(word: str) -> bool:
    """Whether a name can stand in a text without quotes: to sqlglot it is a word and nothing more."""
    if not (word.isascii() and word.isidentifier()) or word.upper() in _KEYWORDS:
        return False
    found = list(_DIALECT.tokenize(word))
    return len(found) == 1 and found[0].token_type is TokenType.VAR


def _opaque(token: Token, kind: TokenType) -> Token:
    """The same name in a spelling that means nothing."""
    return _changed(token, kind, opaque(token.text))


def _changed(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _prepared(tokens: list[Token]) -> list[Token]:
    """The words of a text, prepared as the module's docstring says."""
    made: list[Token] = []
    casts: list[bool] = []
    for i, token in enumerate(tokens):
        kind, before = token.token_type, tokens[i - 1] if i else None
        after = tokens[i + 1].token_type if i + 1 < len(tokens) else None
        if kind is TokenType.L_PAREN:
            casts.append(before is not None and _word(before) in _CASTS)
        elif kind is TokenType.R_PAREN and casts:
            casts.pop()
        if before is not None and (
            before.token_type is TokenType.DCOLON or (before.token_type is TokenType.ALIAS and casts and casts[-1])
        ):
            made.append(_target(i, tokens))
        elif kind is TokenType.IDENTIFIER:
            made.append(_opaque(token, kind))
        elif _word(token) == "SAFE_CAST" and after is TokenType.L_PAREN:
            made.append(_changed(token, token.token_type, "TRY_CAST"))
        elif after is TokenType.L_PAREN and kind in _CALLABLE and not _syntax(token, before):
            made.append(_opaque(token, TokenType.VAR))
        elif kind is TokenType.RANGE and after is TokenType.BETWEEN:  # the frame of a window
            made.append(token)
        elif kind in _TYPES and not (after is TokenType.STRING and kind in _SCALARS):
            made.append(_changed(token, TokenType.VAR, token.text))
        elif _word(token) in _OWN_WORDS:  # columns that are called like syntax
            made.append(_opaque(token, TokenType.IDENTIFIER))
        else:
            made.append(token)
    return made


def _word(token: Token) -> str:
    """A word of SQL, in capitals; a text or a name in quotes is none, whatever it says."""
    return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()


def _syntax(token: Token, before: Token | None) -> bool:
    """Whether a word before a parenthesis is more than the name of a function."""
    word, last = _word(token), "" if before is None else _word(before)
    return word in _SYNTAX or (last, word) in _PHRASES


def _target(i: int, tokens: list[Token]) -> Token:
    """The type after CAST ... AS or ::, which must be one that we know; only DECIMAL and text have a size."""
    token = tokens[i]
    if (other := _OTHER_TYPES.get(_word(token))) is not None:
        token = _changed(token, other, token.text)
    if token.token_type not in _SCALARS:
        raise Unsupported(*_CAST)
    sized = i + 1 < len(tokens) and tokens[i + 1].token_type is TokenType.L_PAREN
    if token.token_type is not TokenType.DECIMAL:
        if sized and token.token_type not in (TokenType.VARCHAR, TokenType.TEXT):
            raise Unsupported(f"CAST AS {token.text.upper()}(...)", CASTS)
        return _changed(token, TokenType.VARCHAR, token.text) if sized else token
    for size in tokens[i + 2 : i + 6] if sized else ():
        if size.token_type is TokenType.R_PAREN:
            return token
        if size.token_type not in (TokenType.NUMBER, TokenType.COMMA):
            raise Unsupported(*_CAST)
    if sized:
        raise Unsupported(*_CAST)
    return _changed(token, TokenType.BIGDECIMAL, token.text)  # DECIMAL alone has no default size here


# --- after ------------------------------------------------------------------------------------------------------------


def _check_tree(tree: exp.Expr) -> None:
    """Refuses a tree that is too deep to walk. A long AND, OR, || or UNION ALL is one level, as ``chain`` reads it."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST_TREE:
            raise BadQuestion(f"an expression is nested more than {DEEPEST_TREE} deep; ask more simply")
        long = isinstance(node, exp.And | exp.Or | exp.DPipe | exp.Union)
        waiting += [
            (child, depth if long and type(child) is type(node) else depth + 1) for child in node.iter_expressions()
        ]


def chain(node: exp.Binary | exp.Union) -> list[exp.Expr]:
    """What a chain of one operator joins, from left to right, however long; found without recursion."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [node]
    while waiting:
        part = waiting.pop()
        if type(part) is type(node):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found
