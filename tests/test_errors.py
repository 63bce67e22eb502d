"""The tree of errors: drawn as it is, with messages that stay sentences and never hold data."""

from __future__ import annotations

import inspect
import re
from importlib import metadata
from typing import Any

import pytest

from discreet import errors
from discreet.errors import (
    BadParameter,
    BadQuestion,
    CuratorRefused,
    DiscreetError,
    EngineFailed,
    EngineUnreachable,
    LedgerError,
    MissingExtra,
    NoEstimate,
    OverBudget,
    Unsupported,
)
from discreet.privacy.promises.measures import Approx, Pure


def drawn() -> dict[str, str | None]:
    """Name -> name of its parent, as the tree at the top of the module draws them."""
    parents: dict[str, str | None] = {"DiscreetError": None}
    above = ["DiscreetError"]
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ([│ ]*)[├└]── (\w+)", line)
        if found:
            depth = len(found[1]) // 4
            parents[found[2]] = above[depth]
            above[depth + 1 :] = [found[2]]
    return parents


def defined() -> dict[str, type[Exception]]:
    return {
        name: kind
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    }


def test_the_tree_is_drawn_as_it_is() -> None:
    tree = {
        name: next((base.__name__ for base in kind.__bases__ if issubclass(base, DiscreetError)), None)
        for name, kind in defined().items()
    }
    assert drawn() == tree


def test_every_error_of_ours_can_be_caught_at_once() -> None:
    assert all(issubclass(kind, DiscreetError) for kind in defined().values())
    assert all(kind.__doc__ for kind in defined().values())
    for kind, builtin in ((BadParameter, ValueError), (BadQuestion, ValueError), (MissingExtra, ImportError)):
        assert issubclass(kind, builtin)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-1, "-1"), ("0.1x", "'0.1x'"), (None, "None"), (2**200 - 1, repr(2**200 - 1)[:60]),
     (2**200, "an integer of 201 bits"),
     (10**5000, "an integer of 16610 bits"), ([10**5000], "a list"),
     ("x" * 100, repr("x" * 100)[:60] + "..."), (True, "True")],
    ids=range(9),
)  # fmt: skip
def test_a_bad_parameter_is_shown_in_a_sentence(value: Any, shown: str) -> None:
    error = BadParameter("scale", value, "must be above 0")
    assert str(error).startswith(f"scale is {shown}")
    assert str(error).endswith(", but it must be above 0")
    assert len(str(error)) < 120
    assert (error.name, error.must) == ("scale", "must be above 0")


def test_an_object_that_fails_to_print_is_named_by_its_type() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("a secret")

    assert str(BadParameter("x", Broken(), "must be a number")) == "x is a Broken, but it must be a number"


def test_errors_keep_their_fields() -> None:
    refused = Unsupported("a window function", "write GROUP BY")
    assert (refused.what, refused.hint, refused.column) == ("a window function", "write GROUP BY", None)
    over = OverBudget(asked="epsilon 1", left="epsilon 0")
    assert (over.asked, over.left) == ("epsilon 1", "epsilon 0")
    assert CuratorRefused("Unauthorised", "a token is needed").kind == "Unauthorised"
    assert EngineUnreachable("the server").what == "the server"
    assert MissingExtra("plots", extra="plot").extra == "plot"
    assert EngineFailed().again is None


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (Pure(0.1 * 3), 'write "0.3"'),
        (Approx(1, 0.1 * 3), 'write "0.3"'),
        (Pure("3/10"), "ask for less"),
        (Pure(0.1 + 0.7), "ask for less"),  # just below 0.8: what is meant is more
        (Pure(2**0.5), "ask for less"),
    ],
)
def test_who_computes_with_floats_is_told(asked: Pure | Approx, hint: str) -> None:
    assert hint in str(OverBudget(asked=asked, left=Pure("3/10")))
    assert "owner" in str(OverBudget(asked=asked, left=Pure(0)))


def test_a_missing_part_is_named_by_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the folder of a clone: a wheel has none."""
    assert re.search(r'pip install "pandas>=2[\d.]+" "polars>=1.20"$', str(MissingExtra("x", extra="frames")))

    def nothing(_: str) -> list[str]:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", nothing)
    assert str(MissingExtra("x", extra="frames")).endswith('pip install "discreet[frames]"')


def test_what_happens_after_the_payment_has_one_text() -> None:
    """Neither the engine's failure nor an empty estimate can carry a word about the data: they take no arguments."""
    for kind in (EngineFailed, NoEstimate):
        assert list(inspect.signature(kind).parameters) == []
        assert str(kind()) == str(kind())
        assert "stays spent" in str(kind())


def test_a_ledger_error_is_caught_as_one() -> None:
    kinds = [kind for kind in defined().values() if issubclass(kind, LedgerError)]
    assert len(kinds) == 8
