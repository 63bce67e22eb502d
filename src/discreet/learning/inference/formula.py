"""Formulas of regressions as R and statsmodels write them: ``hours ~ age + C(sex) + age:education``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.errors import BadParameter

_FACTOR = re.compile(r'\s*(?:C\(\s*(?P<listed>[^()]+?)\s*\)|"(?P<quoted>[^"]+)"|(?P<name>\w+))\s*\Z')
_MUST = (
    'must look like "y ~ a + C(b) + a:c": columns joined by +, C(...) for categories, a:b for a product and a*b for '
    "a + b + a:b; the intercept is always there"
)


@dataclass(frozen=True, slots=True)
class Factor:
    """A column of a term, and whether its values are categories."""

    column: str
    listed: bool


@dataclass(frozen=True, slots=True)
class Formula:
    """The target, and the terms: each a product of factors."""

    target: str
    terms: tuple[tuple[Factor, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names, the target last, each once."""
        named = dict.fromkeys(factor.column for term in self.terms for factor in term)
        return (*(name for name in named if name != self.target), self.target)


def parse(text: str) -> Formula:
    """Read a formula.

    >>> [[f.column for f in term] for term in parse("hours ~ age * C(sex) + education").terms]
    [['age'], ['sex'], ['age', 'sex'], ['education']]
    """
    given: object = text
    left, tilde, right = given.partition("~") if isinstance(given, str) else ("", "", "")
    target = _FACTOR.match(left)
    if not tilde or target is None or target["listed"] is not None or not right.strip():
        raise BadParameter("formula", text, _MUST)
    terms: dict[tuple[Factor, ...], None] = {}
    for part in right.split("+"):
        if part.strip() == "1":
            continue
        for term in _expanded([_factors(piece, text) for piece in part.split("*")]):
            terms[term] = None
    name = target["quoted"] or target["name"]
    if not terms or any(factor.column == name for term in terms for factor in term):
        raise BadParameter("formula", text, f"{_MUST}; the target is no term")
    return Formula(name, tuple(terms))


def _expanded(parts: list[tuple[Factor, ...]]) -> list[tuple[Factor, ...]]:
    """a * b is a + b + a:b."""
    found: list[tuple[Factor, ...]] = []
    for part in parts:
        found += [part, *((*before, *part) for before in found.copy())]
    return found


def _factors(text: str, whole: str) -> tuple[Factor, ...]:
    found = []
    for piece in text.split(":"):
        match = _FACTOR.match(piece)
        if match is None:
            raise BadParameter("formula", whole, _MUST)
        found.append(
            Factor((match["listed"] or match["quoted"] or match["name"]).strip('"'), match["listed"] is not None)
        )
    return tuple(found)
