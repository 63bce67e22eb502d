"""What is handed out: labels beside numbers, bars that cover, a card that says what was declared; and the session."""

import json
from datetime import date
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.query.plan.key_sets import hierarchy, key_set
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.measure import Exact
from discreet.synthetic.hierarchical.plan import plan, publication
from discreet.synthetic.hierarchical.released import level_shares, publish
from discreet.synthetic.source import Rows

GEO = hierarchy("geo", ["state", "county"], table=[(s, f"{s}{i}") for s in "ABCDE" for i in range(20)])
TABLES = [("state", "sex", "age"), ("state", "age"), ("county", "sex"), ("sex",), ()]
PEOPLE = Domain({"sex": whole(0, 1, nullable=False), "age": whole(0, 4, nullable=False)})


def codes(planned: Any, many: int) -> Any:
    draw = np.random.default_rng(5)
    return np.stack([draw.integers(0, n, many) for n in planned.domain.sizes], axis=1)


def test_bars_cover_and_nothing_is_mismatched() -> None:
    """A county x sex table of 200 cells, 40 releases: 8,000 bars of 95 %. Within 93 to 97 %: errors of cells in one
    release are nearly independent, so 7 standard errors of 0.0024; of whole numbers at least 93 %.
    """
    planned = plan(publication(TABLES), PEOPLE, GEO)
    source = Rows(planned.domain, codes(planned, 4000))
    truth = Exact.of(planned, source.cells((0, 1, 2))).table(2, (0,))
    covered, whole_covered = [], []
    for _ in range(40):
        made = publish(source, planned, rho="0.5")
        assert made.mismatches() == 0
        table = made.table(2)
        estimate, error, count, beside = (
            np.asarray(table.column(name)).reshape(truth.shape)
            for name in ("estimate", "error", "count", "count_error")
        )
        covered.append(np.abs(estimate - truth) <= error)
        whole_covered.append(np.abs(count - truth) <= beside)
    assert 0.93 < np.mean(covered) < 0.97
    assert np.mean(whole_covered) >= np.mean(covered)


def test_labels_stand_beside_their_numbers() -> None:
    planned = plan(publication(TABLES), PEOPLE, GEO)
    rows = codes(planned, 3000)
    made = publish(Rows(planned.domain, rows), planned, rho=10**7)
    for row in made.table(0).to_pylist():
        state = "ABCDE".index(row["state"])
        mine = (rows[:, 0] // 20 == state) & (rows[:, 1] == row["sex"]) & (rows[:, 2] == row["age"])
        assert row["count"] == mine.sum()
    assert made.table(2).column_names[:3] == ["state", "county", "sex"]
    assert made.table(4).to_pylist()[0]["count"] == 3000


def test_the_card_says_what_was_declared() -> None:
    zeros = key_set([(s, a) for s in range(2) for a in range(5) if (s, a) != (0, 0)], ["sex", "age"])
    planned = plan(publication([("sex", "age")]), PEOPLE, key_sets=[zeros])
    made = publish(Rows(planned.domain, codes(planned, 500)), planned, rho=1)
    card = made.card()
    assert card["structural_zeros"] == [{"columns": ["sex", "age"], "impossible": 1}]
    assert "owner's declaration" in made.explain()
    assert "Invariants: none" in made.explain()
    assert (0, 0) not in {(r["sex"], r["age"]) for r in made.table(0).to_pylist()}
    assert len(made.table(0)) == 9
    json.loads(made.to_json())
    assert sum(level_shares(planned).values()) == pytest.approx(1)


def people(many: int = 2000) -> dict[str, list[Any]]:
    draw = np.random.default_rng(2)
    place = draw.integers(0, 100, many)
    county = GEO.labels(1)
    return {
        "person": list(range(many)),
        "county": [str(county[i]) for i in place],
        "state": [str(county[i])[0] for i in place],
        "sex": draw.choice(["f", "m"], many).tolist(),
    }


def session(budget: Any = None, **more: Any) -> Any:
    columns = {"sex": dp.keys(["f", "m"], nullable=False)}
    table = dp.table(people(), unit="person", columns=columns, max_rows=1, key_sets=[GEO])
    return dp.Session(people=table, budget=budget or dp.ZCDP(10**6), **more)


def test_a_session_publishes_for_one_charge() -> None:
    opened = session()
    made = opened.tabulate("people", dp.synthetic.publication([("state", "sex"), ("county",)]), rho=10**5)
    assert opened.remaining == dp.ZCDP(9 * 10**5)
    rows = people()
    for row in made.table(1).to_pylist():
        assert row["count"] == rows["county"].count(row["county"])
    assert made.receipt is not None


@pytest.mark.parametrize("tables", [[("state", "county")], [("state", "height")], [("tract",)]])
def test_a_session_refuses_before_it_pays(tables: list[tuple[str, ...]]) -> None:
    opened = session()
    with pytest.raises(BadParameter):
        opened.tabulate("people", dp.synthetic.publication(tables), rho=1)
    assert opened.remaining == dp.ZCDP(10**6)


def test_a_ledger_keeps_the_numbers(tmp_path: Any) -> None:
    opened = session(dp.ZCDP(100), ledger=tmp_path / "budget.db")
    opened.tabulate("people", dp.synthetic.publication([("county", "sex")]), rho=1)
    assert opened.remaining == dp.ZCDP(99)


def test_a_ledger_says_what_was_declared(tmp_path: Any) -> None:
    columns = {"sex": dp.keys(["f", "m"], nullable=False)}
    totals = dp.public_totals(dict.fromkeys("ABCDE", 400), ["state"], from_data="the law on seats")
    table = dp.table(people(), unit="person", columns=columns, max_rows=1, key_sets=[GEO], public_totals=[totals])
    opened = dp.Session(people=table, budget=dp.ZCDP(100), ledger=tmp_path / "budget.db")
    made = opened.tabulate("people", dp.synthetic.publication([("state",), ("county",)]), rho=1)
    assert made.table(0).column("count").to_pylist() == [400] * 5
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())  # beside the database, what it is about to take
    assert b"without noise (the law on seats)" in kept


def test_bins_and_days_are_keys_of_published_tables(tmp_path: Any) -> None:
    """They were pairs of fractions, which no table can hold: a Python error after the payment."""
    rows = {"county": ["A1", "B2"] * 30, "pay": [5.0, 700.0] * 30, "day": [date(2024, 5, 1)] * 60}
    domain = {"pay": dp.bounds(0, 1000), "day": dp.bounds("2024-01-01", "2026-01-01")}
    made = publish(rows, publication([("county", "pay"), ("day",)]), hierarchy=GEO, domain=domain, rho=1000)
    assert set(made.table(0).column("pay").to_pylist()) > {"0 to 31.25", None}
    assert "2024-01-01 to 2024-01-07" in made.table(1).column("day").to_pylist()
    assert made.write(tmp_path) == ["county_pay.csv", "day.csv"]
