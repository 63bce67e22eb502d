"""The methods of expressions: each makes a function that there is."""

from __future__ import annotations

from datetime import date

import pytest

from discreet.query.front import verbs as dp
from discreet.query.functions.catalogue import FUNCTIONS, OF_RELEASED
from discreet.query.resolve.unresolved import Apply, Said

col = dp.col

METHODS: list[dp.Expr] = [
    col("x").abs(), col("x").round(), col("x").round(2), col("x").floor(), col("x").ceil(), col("x").clamp(0, 1),
    col("x").bucket(0, 1, 2), col("x").is_in([1]), col("x").between(0, 1), col("x").is_null(), col("x").not_null(),
    col("x").or_else(1), col("x").null_if(1), col("x").like("a"), col("x").ilike("a"), col("x").starts_with("a"),
    col("x").ends_with("a"), col("x").contains("a"), col("x").lower(), col("x").upper(), col("x").trim(),
    col("x").length(), col("x").substring(1), col("x").substring(1, 2), col("x").concat("a"), col("x").part("dow"),
    col("x").trunc("month"), col("x").until(date(2024, 1, 1)), col("x").add_days(1), dp.case((col("x"), 1)),
    *(col("x").cast(to) for to in ("integer", "decimal", "real", "text", "date", "timestamp", "boolean")),
    col("x") + 1, col("x") - 1, col("x") * 1, col("x") / 1, col("x") // 1, col("x") % 1, col("x") ** 2, -col("x"),
    col("x") == 1, col("x") != 1, col("x") < 1, col("x") <= 1, col("x") > 1, col("x") >= 1, ~col("x"),
    col("x") & col("x"), col("x") | col("x"),
]  # fmt: skip


def functions(said: Said) -> set[str]:
    return {said.function}.union(*map(functions, said.arguments)) if isinstance(said, Apply) else set()


@pytest.mark.parametrize("made", METHODS, ids=repr)
def test_every_method_makes_functions_that_typing_knows(made: dp.Expr) -> None:
    assert functions(made.said)
    assert functions(made.said) <= set(FUNCTIONS)


def test_what_can_follow_a_release_can_also_be_asked_of_a_row() -> None:
    assert set(FUNCTIONS) >= OF_RELEASED - {"grouping"}


BY_HAND = {"case", "cast", "is_in", "part", "trunc", "until"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_there_is_a_verb(name: str) -> None:
    method = FUNCTIONS[name].method
    if "(" in method:
        call = getattr(dp.Expr, method.split("(")[0])
        many = sum(": " in p and "= None" not in p for p in method.split(", ") if "(" in p or ":" in p)
        made = call(dp.col("x"), *[1] * (many if not method.endswith("()") else 0))
        assert made.said.function == name
    elif method.startswith("__"):
        unary = FUNCTIONS[name].arguments == (1, 1)
        made = getattr(dp.Expr, method)(dp.col("x"), *([] if unary else [dp.col("y")]))
        assert made.said.function == name
    else:
        assert method in BY_HAND
        assert hasattr(dp if method == "case" else dp.Expr, method)
