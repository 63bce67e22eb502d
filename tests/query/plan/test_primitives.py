"""The list of primitives: what is documented is what there is."""

import re

from discreet.engines.memory.row import evaluate as oracle
from discreet.query.plan import primitives
from discreet.query.plan.evaluate import NAMES, evaluate
from discreet.query.plan.expressions import Call, Literal
from discreet.query.plan.primitives import PRIMITIVES


def test_every_primitive_is_documented() -> None:
    words = set(re.findall(r"[a-z_]+", primitives.__doc__ or ""))
    assert PRIMITIVES == NAMES
    assert not PRIMITIVES - words


def test_null_is_null_unless_the_line_says_otherwise() -> None:
    lazy = {"is_null", "and", "or", "case", "coalesce"}
    for name, many in [("add", 2), ("neg", 1), ("eq", 2), ("lower", 1), ("year", 1), ("days_between", 2), ("not", 1)]:
        assert name in PRIMITIVES - lazy
        for run in (evaluate, oracle):
            assert run(Call(name, (Literal(None),) * many), {}) is None
    assert evaluate(Call("is_null", (Literal(None),)), {}) is True
