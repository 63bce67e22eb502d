"""Public totals: met exactly, never compared with the data, paid for by nobody; impossible ones are refused first."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.budget import Moves
from discreet.query.plan.key_sets import hierarchy, key_set
from discreet.query.plan.public_totals import PublicTotals, public_totals
from discreet.randomness import SystemBits
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.measure import Exact, estimates
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, plan, publication
from discreet.synthetic.hierarchical.released import publish
from discreet.synthetic.source import Rows

GEO = hierarchy("geo", ["state", "county"], table=[(s, f"{s}{i}") for s in "ABC" for i in range(1 + ord(s) % 3)])
PEOPLE = Domain({name: whole(0, n - 1, nullable=False) for name, n in (("a", 2), ("b", 3), ("c", 2))})
COUNTIES = {str(county): 10 + 7 * i for i, county in enumerate(GEO.labels(1))}
STATES = {s: sum(n for county, n in COUNTIES.items() if county[0] == s) for s in "ABC"}
SIZE = sum(STATES.values())
TABLES = [("a", "b", "c"), ("state", "a", "b"), ("state", "c"), ("county", "b")]


def source(planned: HierarchicalPlan, many: int = 200) -> Rows:
    draw = np.random.default_rng(3)
    return Rows(planned.domain, np.stack([draw.integers(0, n, many) for n in planned.domain.sizes], axis=1))


def by_sex(shares: tuple[int, ...], name: str = "b") -> PublicTotals:
    """Of all rows: some in each value but the last, which has the rest."""
    counts = [*shares, SIZE - sum(shares)]
    return public_totals(dict(enumerate(counts)), [name])


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(
    "totals",
    [
        [public_totals(SIZE)],
        [public_totals(COUNTIES, ["county"])],
        [public_totals(STATES, ["state"]), by_sex((20, 0))],
        [
            public_totals(
                {(s, a): n // 2 if a else n - n // 2 for s, n in STATES.items() for a in (0, 1)}, ["state", "a"]
            )
        ],
        [
            public_totals({(a, b): (SIZE if a + b == 0 else 0) for a in (0, 1) for b in range(3)}, ["a", "b"]),
            by_sex((SIZE, 0)),
        ],
        [public_totals(COUNTIES, ["county"]), by_sex((1,), "c")],
    ],
)
def test_they_are_met_whatever_the_data_is(totals: list[PublicTotals], rows: bool) -> None:
    planned = plan(publication(TABLES, rows=rows), PEOPLE, GEO, [GEO], totals)
    made = publish(source(planned), planned, rho="0.05")
    assert made.mismatches() == 0
    for one in totals:
        counted: dict[Any, int] = dict.fromkeys(one.keys, 0)
        index = next(i for i, table in enumerate(TABLES) if not one.columns or set(one.columns) <= {*table})
        for row in made.table(index).to_pylist():
            counted[tuple(row[name] for name in one.columns)] += row["count"]
        assert counted == dict(zip(one.keys, one.counts, strict=True))
    if rows:
        assert made.rows().num_rows == SIZE


def test_nothing_is_paid_for_them_and_their_estimates_are_exact() -> None:
    wanted = publication([("state",), ("county", "a")])
    free = plan(wanted, PEOPLE, GEO, [GEO], [public_totals(COUNTIES, ["county"])])
    assert not any(columns == () for _, columns in free.parts)
    made = publish(source(free), free, rho="0.5")
    assert made.estimate(0).tolist() == pytest.approx(list(STATES.values()))
    assert made.deviation(0).tolist() == [0, 0, 0]
    assert made.deviation(1).min() > 0
    assert free.errors(rho=1)[1] < plan(wanted, PEOPLE, GEO).errors(rho=1)[1]


def test_the_price_is_kept_and_used() -> None:
    found = plan(publication(TABLES), PEOPLE, GEO, [GEO], [public_totals(STATES, ["state"])])
    rho, moves = Fraction(1, 3), Moves(1, 1)
    cost = sum(found.price(part, moves, v) for part, v in found.noise(moves, rho).items())
    assert rho * Fraction(9, 10) < cost <= rho


def test_estimates_are_unbiased_where_the_totals_are_true() -> None:
    """2,000 releases of 6 counties x 2: means within 6 standard errors, so a false alarm is rarer than 1e-7."""
    table = [("county", "a")]
    free = plan(publication(table), PEOPLE, GEO)
    rows, runs = source(free), 2000
    truth = Exact.of(free, rows.cells((0, 1)))
    true = {label: int(n) for label, n in zip(GEO.labels(1), truth.table(free.tables[0].level, ()), strict=True)}
    found = plan(publication(table), PEOPLE, GEO, [GEO], [public_totals(true, ["county"])])
    exact = Exact.of(found, rows.cells((0, 1)))
    noise = found.noise(Moves(1, 1), Fraction(1, 2))
    drawn = [estimates(found, exact, noise, SystemBits(), finer=1, scale=1) for _ in range(runs)]
    seen = np.stack([one.table(2, (0,)) for one in drawn])
    variance = found.table_variance(found.tables[0], drawn[0].spread)[:, None]
    assert (np.abs(seen.mean(axis=0) - exact.table(2, (0,))) < 6 * np.sqrt(variance / runs)).all()
    assert np.broadcast_to(seen.var(axis=0) / variance, seen.shape[1:]) == pytest.approx(1, abs=0.3)
    assert seen.sum(axis=2) == pytest.approx(np.broadcast_to(exact.table(2, ()), seen.shape[:2]))


ZERO = key_set([(0, 0), (0, 1), (1, 0), (1, 1)], ["a", "b"])
"""Nobody is in the last value of b."""


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ([public_totals({"A": 1, "B": 2}, ["state"])], "1 are missing"),
        ([public_totals({**STATES, "D": 2}, ["state"])], "that exists"),
        ([public_totals({("A", "B0"): 2}, ["state", "county"])], "that exists"),
        ([public_totals(STATES, ["state"]), public_totals(SIZE + 1)], "must agree"),
        ([public_totals(COUNTIES, ["county"]), public_totals({**STATES, "A": 1}, ["state"])], "must agree"),
        ([by_sex((2, 3)), by_sex((4,), "a")], "nested"),
        ([public_totals({"x": 3}, ["height"])], "must be a column or a level"),
        ([by_sex((2, 3))], "must be 0 where"),
    ],
)  # fmt: skip
def test_impossible_ones_are_refused(totals: list[PublicTotals], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        plan(publication(TABLES), PEOPLE, GEO, [GEO, ZERO], totals)


def test_totals_taken_from_the_data_need_a_reason_and_say_what_they_mean() -> None:
    given = public_totals(STATES, ["state"], from_data="the law on seats")
    planned = plan(publication(TABLES), PEOPLE, GEO, [GEO], [given])
    made = publish(source(planned), planned, rho=1)
    text = made.explain()
    assert "without noise (the law on seats)" in text
    assert "outside the guarantee" in text
    assert "Invariants: none" not in text
    assert made.card()["public_totals"] == [{"totals": "state", "from_data": "the law on seats"}]


def test_everything_public_is_refused() -> None:
    with pytest.raises(BadParameter, match="not public"):
        plan(publication([("state",)]), PEOPLE, GEO, [GEO], [public_totals(COUNTIES, ["county"])])
