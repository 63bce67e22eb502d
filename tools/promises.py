"""The page of promises from the register of claims, and what the register must list.

``python -m tools.promises`` writes the table of docs/explanation/promises.md; ``tests/test_claims.py`` compares.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import discreet
from tools.claims import CLAIMS, STATES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "promises.md"
BEGIN, END = "<!-- written by python -m tools.promises -->\n", "<!-- end -->\n"
_HEAD = """| claim | neighbours | unit | over | proof, enumeration |
|---|---|---|---|---|
"""


def states_a_price(kind: type) -> bool:
    """Whether a class has one of the words that name a price, of its own or inherited.

    >>> from discreet.privacy.budgets.filters import Filter, Rule
    >>> states_a_price(Filter), states_a_price(Rule)
    (True, False)
    """
    parts = (vars(one) for one in kind.__mro__ if one is not object)
    return any(STATES & (set(part) | set(part.get("__annotations__", ()))) for part in parts)


def public_classes() -> Iterator[str]:
    """All public classes that state a price, where they are defined; dotted, without ``discreet.`` in front."""
    for found in pkgutil.walk_packages(discreet.__path__, "discreet."):
        module = imported(found.name)
        if module is None or any(part.startswith("_") for part in found.name.split(".")):
            continue
        for name, kind in vars(module).items():
            here = inspect.isclass(kind) and kind.__module__ == module.__name__
            if here and not name.startswith("_") and states_a_price(kind):
                yield f"{module.__name__}.{name}".removeprefix("discreet.")


def imported(name: str) -> ModuleType | None:
    """A module, or None where a package that it needs is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def table() -> str:
    """The register as a table."""
    rows = []
    for claim in CLAIMS:
        names = ", ".join(f"`{name.rsplit('.', 1)[1]}`" for name in claim.names)
        held = f"`{claim.proof}` `{claim.test}`"
        rows.append(f"| {claim.about}: {names} | {claim.neighbours} | {claim.unit} | {claim.over} | {held} |\n")
    return _HEAD + "".join(rows)


def page() -> str:
    """The page, with its table written anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page())
