"""unchanged.py: which changes of a table are refused before the payment."""

from __future__ import annotations

import pytest

from discreet.engines.unchanged import check_unchanged
from discreet.errors import BadData
from discreet.query.plan.nodes import Scan
from discreet.query.plan.schema import Declared, Stored, StoredKind, Table, bounds, keys, resolve
from tests.contracts.engines import forms
from tests.engines.duckdb.test_engine_plans import work

INTEGER, TEXT, OTHER = Stored(StoredKind.INTEGER), Stored(StoredKind.TEXT), Stored(StoredKind.OTHER)
WORDS = Stored(StoredKind.OTHER, element=StoredKind.TEXT)
BEFORE = {"id": INTEGER, "name": TEXT, "blob": OTHER, "tags": WORDS}
LESS = {"id": INTEGER, "name": TEXT, "tags": WORDS}
SAME = [BEFORE, {**BEFORE, "more": TEXT}, LESS, {**BEFORE, "blob": TEXT}]
CHANGED = [{**BEFORE, "name": INTEGER}, {**BEFORE, "id": Stored(StoredKind.DECIMAL, 2)}, {"id": INTEGER}, {},
           {**BEFORE, "tags": Stored(StoredKind.OTHER, element=StoredKind.INTEGER)},
           {**BEFORE, "tags": OTHER}]  # fmt: skip


def checked(now: dict[str, Stored]) -> None:
    schemas = {name: resolve(name, Table(source=name, unit=None, public=True), BEFORE) for name in ("t", "other")}
    asked = work(Scan("t"), (), (forms.ONE,), forms.BOUNDING[1])
    check_unchanged([asked], schemas, {"t": now}.__getitem__)  # type: ignore[arg-type] # of no other table


@pytest.mark.parametrize("now", SAME, ids=str)
def test_new_columns_and_columns_that_nobody_can_use_are_no_change(now: dict[str, Stored]) -> None:
    checked(now)


@pytest.mark.parametrize("now", CHANGED, ids=str)
def test_other_types_and_columns_less_are_refused(now: dict[str, Stored]) -> None:
    with pytest.raises(BadData, match="nothing was spent"):
        checked(now)


@pytest.mark.parametrize("declared", [bounds(0, 100), keys([1, 2]), bounds("2024-01-01", "2024-12-31")], ids=str)
def test_a_declared_column_of_a_file_without_types_is_text_before_and_after(declared: Declared) -> None:
    """Before, every declared column of a CSV file was refused as changed."""
    text = Stored(StoredKind.TEXT, untyped=True)
    schemas = {"t": resolve("t", Table(source="t", unit=None, public=True, columns={"x": declared}), {"x": text})}
    assert schemas["t"].stored["x"] != text
    asked = work(Scan("t"), (), (forms.ONE,), forms.BOUNDING[1])
    check_unchanged([asked], schemas, lambda _: {"x": text})
    with pytest.raises(BadData, match="nothing was spent"):
        check_unchanged([asked], schemas, lambda _: {"x": TEXT})
