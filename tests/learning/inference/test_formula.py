"""Formulas: what they mean, and what is refused."""

import pytest

from discreet.errors import BadParameter
from discreet.learning.inference.formula import Factor, parse


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("y ~ a", [["a"]]),
        ("y ~ 1 + a + C(b)", [["a"], ["C b"]]),
        ("y ~ a:b", [["a", "b"]]),
        ("y ~ a*C(b)", [["a"], ["C b"], ["a", "C b"]]),
        ("y~a*b*c", [["a"], ["b"], ["a", "b"], ["c"], ["a", "c"], ["b", "c"], ["a", "b", "c"]]),
        ('y ~ "a b" + a + a', [["a b"], ["a"]]),
    ],
)
def test_what_a_formula_means(text: str, terms: list[list[str]]) -> None:
    found = parse(text)
    assert [[f"C {f.column}" if f.listed else f.column for f in term] for term in found.terms] == terms
    assert found.target == "y"
    assert found.columns[-1] == "y"


@pytest.mark.parametrize(
    "text", ["", "y", "y ~", "~ a", "y ~ a - 1", "y ~ log(a)", "y ~ y", "C(y) ~ a", "y ~ 1", "y ~ a ** 2", "y ~ a;b", 3]
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="formula"):
        parse(text)


def test_columns_are_named_once() -> None:
    assert parse("y ~ a*C(b) + a:c").columns == ("a", "b", "c", "y")
    assert parse("y ~ C(b)").terms == ((Factor("b", listed=True),),)
