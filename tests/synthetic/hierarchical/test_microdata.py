"""Rows have every published count, exactly."""

from collections import Counter

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.query.plan.key_sets import hierarchy
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.cliques import row_order
from discreet.synthetic.hierarchical.microdata import make_rows
from discreet.synthetic.hierarchical.plan import plan, publication
from discreet.synthetic.hierarchical.released import publish
from discreet.synthetic.source import Rows

GEO = hierarchy("geo", ["state", "county"], table=[(s, f"{s}{i}") for s in "ABC" for i in range(3)])
PEOPLE = Domain({name: whole(0, n - 1, nullable=False) for name, n in (("a", 2), ("b", 3), ("c", 4))})


@pytest.mark.parametrize(
    "tables",
    [
        [("state", "a", "b"), ("county", "a")],
        [("a", "b"), ("b", "c"), ("state", "a", "b"), ("county", "b")],
        [("a", "b", "c"), ("state", "a"), ("state", "b"), ("county", "c"), ("county", "a")],
        [("a", "b"), ("b", "c"), ("a", "c"), ("county", "a"), ("county", "c")],
        [("state", "c")],
    ],
)
def test_rows_have_all_counts(tables: list[tuple[str, ...]]) -> None:
    planned = plan(publication(tables, rows=True), PEOPLE, GEO)
    draw = np.random.default_rng(3)
    codes = np.stack([draw.integers(0, n, 300) for n in planned.domain.sizes], axis=1)
    made = publish(Rows(planned.domain, codes), planned, rho="0.1")
    assert made.mismatches() == 0
    rows = made.rows().to_pylist()
    state = {county: str(county)[0] for county in GEO.labels(1)}
    for i, asked in enumerate(tables):
        table = made.table(i).to_pylist()
        for row in rows:
            row["state"] = state[row["county"]] if "county" in row else row.get("state")
        counted = Counter(tuple(row[name] for name in asked) for row in rows)
        assert {tuple(cell[name] for name in asked): cell["count"] for cell in table if cell["count"]} == counted


def test_tables_without_an_order_are_refused_where_rows_were_not_asked_for() -> None:
    asked = publication([("a", "b", "c"), ("state", "a"), ("state", "b"), ("county", "a"), ("county", "c")])
    planned = plan(asked, PEOPLE, GEO)
    assert row_order(planned.sets) is None
    made = publish(Rows(planned.domain, np.zeros((5, 4), dtype=np.int64)), planned, rho=1)
    with pytest.raises(BadParameter, match="must be True"):
        made.rows()


def test_the_order_begins_with_the_deepest_level() -> None:
    planned = plan(publication([("a", "b"), ("county", "a")]), PEOPLE, GEO)
    order = row_order(planned.sets)
    assert order is not None
    assert order[0][0] == 2
    made = publish(Rows(planned.domain, np.zeros((5, len(planned.domain)), dtype=np.int64)), planned, rho=100)
    place, codes = make_rows(planned.tree, planned.sizes, order, made.whole, np.random.default_rng(0))
    assert len(place) == len(codes[0]) == len(codes[1])
