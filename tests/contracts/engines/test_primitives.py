"""Every primitive, row by row, on every engine: the same value as in plain Python."""

from collections.abc import Sequence

import pytest

from discreet.query.plan.expressions import Column, Expression, Literal
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey
from tests.contracts.engines.lab import ORACLE, READ, UNIT, Lab, agree, every_storage, f, reading
from tests.contracts.engines.probes import PROBES
from tests.helpers import tables

EVERYTHING = Weights(form=Form.ROWS, cap=1, scale=1)
WIDE = tables.wide()
BEYOND = tables.beyond()
BATCH = 12


def values(*expressions: Expression, table: str = "t") -> Work:
    """A work whose rows out are the values themselves: each row is a unit and a group of its own."""
    source = reading(table, "id", "id")
    names = tuple(f"v{n}" for n in range(len(expressions)))
    source = type(source)(source.source, (*source.columns, *zip(names, expressions, strict=True)))
    keys = tuple(WorkKey(name, Column(name), None) for name in ("id", *names))
    return Work(source=source, unit=UNIT, keys=keys, cells=(RowSum(Literal(1)),), weights=EVERYTHING)


def works(expressions: Sequence[Expression], batch: int = BATCH) -> list[Work]:
    return [values(*expressions[n : n + batch]) for n in range(0, len(expressions), batch)]


def test_every_primitive_has_a_probe() -> None:
    assert set(PROBES) == PRIMITIVES


@pytest.mark.slow
@every_storage
@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_a_primitive_means_the_same_everywhere(lab: Lab, primitive: str) -> None:
    if primitive in lab.lacks:
        pytest.skip("its dialect refuses it by name")
    for work in works(PROBES[primitive], BATCH * min(lab.every, 4)):
        agree(lab, [work], {"t": WIDE})


@pytest.mark.slow
@every_storage
@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_a_primitive_of_no_rows(lab: Lab, primitive: str) -> None:
    if primitive in lab.lacks or lab.skips(primitive):
        pytest.skip("a sample of these on this engine; all in `make audit`")
    agree(lab, works(PROBES[primitive][:BATCH]), {"t": tables.empty(WIDE)})


@every_storage
def test_days_and_moments_beyond_the_calendar_are_its_ends(lab: Lab) -> None:
    if "beyond" in lab.lacks:
        pytest.skip("its storage holds no such days")
    agree(lab, [values(READ["d"], READ["m"], READ["zoned"], f("year", READ["d"]), f("hour", READ["m"]))], {"t": BEYOND})


@pytest.mark.slow
@every_storage
def test_the_character_nul(lab: Lab) -> None:
    if "nul" in lab.lacks:
        pytest.skip("its storage holds no such text")
    table = tables.wide(4).set_column(10, "t", [["\x00", "a\x00", "a\x00b", "\x00\x00"]])
    probes = [
        READ["t"],
        f("length", READ["t"]),
        f("eq", READ["t"], "a"),
        f("like", READ["t"], "a_"),
        f("concat", READ["t"], "x"),
    ]
    agree(lab, [values(*probes, f("contains", READ["t"], "b"), f("in", READ["t"], "a", "b"))], {"t": table})


def test_the_probes_see_every_row() -> None:
    (found,) = ORACLE.run([values(READ["t"])], {"t": WIDE})
    assert len(found) == WIDE.num_rows
    assert set(found.values()) == {(1,)}
