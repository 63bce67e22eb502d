"""Every function, as in its examples, row by row, on every engine: the value of the oracle."""

import pytest

from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.plan.expressions import Call, Column, Expression
from discreet.query.typing.infer import typed
from tests.contracts.engines.lab import READ, Lab, agree, every_engine, f
from tests.contracts.engines.test_primitives import WIDE, works
from tests.helpers.examples import FIELDS, over_columns

STORED = {
    "number": f("read_integer", Column("i"), -1000, 1000),
    "text": READ["t"],
    "flag": READ["b"],
    "day": READ["d"],
    "moment": READ["m"],
}


def stored(expression: Expression) -> Expression:
    """The same over the columns of the wide table."""
    match expression:
        case Column(name=name):
            return STORED[name]
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(map(stored, arguments)))
        case _:
            return expression


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_means_the_same_everywhere(lab: Lab, name: str) -> None:
    if lab.every >= 10 and lab.skips(name):  # of functions, since all primitives that they consist of are tried
        pytest.skip("a sample of these on this engine; all in `make audit`")
    lowered = [stored(typed(call, FIELDS, keyed=False).lowered) for call in over_columns(name)]
    for work in works(lowered):
        agree(lab, [work], {"t": WIDE})
