"""Counts of the same rows measured together: what they count, when they are taken, how far off, and what is paid."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import EngineFailed, OverBudget
from discreet.privacy.promises import events
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.derived import kept_numbers
from discreet.session.count_tables import IN_COMMON, CountTables, TablesStep
from discreet.session.price import Price
from discreet.session.program import QueryStep
from tests.session.test_counts_program import Counted

DRAW = np.random.default_rng(3)
MANY = 3000
PEOPLE: dict[str, list[Any]] = {
    "id": list(range(MANY)),
    "sex": DRAW.choice(np.array(["f", "m", "(NULL)", None]), MANY, p=[0.5, 0.4, 0.05, 0.05]).tolist(),
    "owns": DRAW.choice(np.array([True, False, None]), MANY).tolist(),
    "age": DRAW.integers(0, 7, MANY).tolist(),
    "town": DRAW.choice(["a", "b", "c", "elsewhere"], MANY).tolist(),
}
COLUMNS = {
    "sex": dp.keys(["f", "m"]),
    "owns": dp.keys([True, False, None]),
    "age": dp.keys([4, 2, 0, 1, 3]),
    "town": dp.keys(["a", "b", None], other="rest"),
}
SETS = [("sex",), ("owns",), ("town", "age"), ("sex", "owns"), ("owns", "town"), ("sex", "town"), ("age",)]


def session(budget: Any = None, max_rows: int = 1, engine: Any = None, **options: Any) -> dp.Session:
    people = pa.table({**PEOPLE, "id": [i // max_rows for i in PEOPLE["id"]]})
    table = dp.table(people, unit="id", max_rows=max_rows, columns=COLUMNS)
    return dp.Session(t=table, budget=budget or dp.ZCDP(10**9), engine=engine or memory(), **options)


def texts(sets: Any = SETS, where: str = "") -> list[str]:
    return [f"SELECT {', '.join(keys)}, COUNT(*) AS n FROM t {where} GROUP BY {', '.join(keys)}" for keys in sets]


def truth(keys: tuple[str, ...], where: Any = lambda _: True) -> dict[tuple[Any, ...], int]:
    """What the query counts, in plain Python."""
    listed: dict[str, list[Any]] = {
        "sex": ["f", "m"],
        "owns": [False, True, None],
        "age": [0, 1, 2, 3, 4],
        "town": ["a", "b", "rest", None],
    }
    out: dict[tuple[Any, ...], int] = {}
    for combination in np.ndindex(*(len(listed[k]) for k in keys)):
        out[tuple(listed[k][i] for k, i in zip(keys, combination, strict=True))] = 0
    for i in range(MANY):
        row = {k: PEOPLE[k][i] for k in PEOPLE}
        row["town"] = row["town"] if row["town"] in ("a", "b", None) else "rest"
        key = tuple(row[k] for k in keys)
        if key in out and where(row):
            out[key] += 1
    return out


def counts(answer: TableAnswer) -> dict[tuple[Any, ...], int]:
    return {tuple(v for name, v in row.items() if name != "n"): row["n"] for row in answer.rows}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_each_table_counts_what_its_query_counts(engine: str, max_rows: int) -> None:
    """Listed values in any order, NULL, values that are not listed, one that looks like our NULL, a condition."""
    own = session(max_rows=max_rows, engine=memory() if engine == "memory" else dp.engines.duckdb(threads=1))
    plan = own.plan(texts(where="WHERE age <> 3"), rho=10**6)
    assert isinstance(plan.program.answer, TablesStep)
    for keys, answer in zip(SETS, plan.release(), strict=True):
        wanted = truth(keys, lambda row: row["age"] != 3)
        assert counts(answer) == {key: n for key, n in wanted.items() if "age" not in keys or key[-1] != 3}
    first, second, third = own.workload(
        ["SELECT COUNT(*) AS n FROM t", *texts([("town", "owns"), ("owns", "sex")])]
    ).release(rho=10**6)
    assert (first["n"], counts(second)) == ([MANY], truth(("town", "owns")))
    assert counts(third) == truth(("owns", "sex"))
    verbs = own.plan([own["t"].group_by(key).agg(n=dp.agg.count()) for key in ("sex", "age")], rho=10**6)
    assert [counts(answer) for answer in verbs.release()] == [truth(("sex",)), truth(("age",))]


def test_it_is_taken_where_less_noise_is_predicted_and_nowhere_else() -> None:
    pairs = texts([*((k,) for k in COLUMNS), *combinations(COLUMNS, 2)])
    own = session(dp.ZCDP(10))
    together = own.plan(pairs, rho="1/2")
    assert isinstance(together.program.answer, TablesStep)
    assert together.summary.saving < 0.85
    assert all(question.error <= 1.5 * question.alone for question in together.summary.questions)
    apart: list[list[str]] = [
        texts([("sex",)]),
        [*pairs, "SELECT sex, AVG(age) AS a FROM t GROUP BY sex"],
        [*pairs, "SELECT age, COUNT(*) AS n FROM t WHERE sex = 'f' GROUP BY age"],
        ["SELECT sex, COUNT(*) AS n FROM t GROUP BY ROLLUP (sex, age)", *texts([("sex",)])],
        ["SELECT sex, COUNT(sex) AS n FROM t GROUP BY sex", *texts([("age",)])],
    ]
    for queries in apart:
        assert type(own.workload(queries)._program(Price(rho=Fraction(1, 2))).answer) is QueryStep
    pure = session(dp.Pure(10)).plan(pairs, epsilon=1)
    assert type(pure.program.answer) is QueryStep


def test_what_it_costs() -> None:
    pairs = texts([*((k,) for k in COLUMNS), *combinations(COLUMNS, 2)])
    own = session(dp.ZCDP(10, "1e-6"))
    answers = own.workload(pairs).release(rho="1/2")
    assert own.remaining == dp.ZCDP("19/2", "1e-6")
    assert answers[0].event == events.ZCDP("1/2")
    assert IN_COMMON in answers[0].notes
    preview = own.workload(pairs).preview(rho="1/2")[5]
    assert (preview.cost, preview.shares) == (str(dp.ZCDP("1/2")), ())
    assert preview.error("n") < 1.01 * float(answers[5].to_arrow()["n_error"][0].as_py()) + 1
    several = session(dp.Approx(10, "1e-6"), rule=dp.Rule.BASIC)
    wide = texts(combinations(COLUMNS, 3)) + pairs
    plan = several.plan(wide, epsilon=1)
    assert isinstance(plan.program.answer, TablesStep)
    plan.release()
    assert several.remaining.epsilon == 9  # type: ignore[union-attr]
    poor = session(dp.ZCDP("1/4"))
    with pytest.raises(OverBudget):
        poor.workload(pairs).release(rho="1/2")
    assert poor.remaining == dp.ZCDP("1/4")


def test_the_predicted_variance_is_that_of_the_measurements() -> None:
    """Against a dense operator: what each measured table adds to a cell, for all noise that it has."""
    step: Any = session(dp.ZCDP(10)).plan(texts(), rho="1/2").program.answer
    tables: CountTables = step.tables
    sizes, scale = tables.domain.sizes, step.source.scale
    noise = step.interactions.noise(step.source.moves(()), step.rho)
    for part, clique in zip(tables.parts, tables.cliques, strict=True):
        shape = tables.domain.shape(clique)
        total = 0.0
        for inner, sigma_squared in noise.items():
            if not set(inner) <= set(clique):
                continue
            operator = np.ones((1, 1))
            for c in clique:  # centred along what was measured, spread evenly over the rest
                n = sizes[c]
                own = np.eye(n) - 1 / n if c in inner else np.full((n, 1), 1 / n)
                operator = np.kron(operator, own)
            total += float(sigma_squared) * float((operator[0] ** 2).sum())
        assert operator.shape[0] == np.prod(shape)
        (drawn,) = step.tables.noised(part, total / scale**2, scale).values()
        (told,) = step.quote.plan.sets[tables.parts.index(part)].values()
        assert float(told.variance) == pytest.approx(total / scale**2, rel=1e-9)
        assert drawn.noise.sigma_squared == pytest.approx(told.noise.sigma_squared)


def test_complete_keys_add_up_and_their_bars_are_those_of_their_noise() -> None:
    """The squares of 150 errors of one number beside the variance that is stated: off with a chance of 5e-7 each way;
    noise of twice the size would be caught.
    """
    keys = {"owns": dp.keys([True, False, None]), "town": dp.keys(["a", "b", None], other="rest")}
    few = {name: values[:40] for name, values in PEOPLE.items()}
    table = dp.table(pa.table(few), unit="id", max_rows=1, columns=keys)
    own = dp.Session(t=table, budget=dp.ZCDP(10**6), engine=memory())
    plan = own.plan(texts([("owns",), ("town",), ("owns", "town")]), rho="1/8")
    step: Any = plan.program.answer
    assert step.tables.hidden == (False, False)
    kept = zip(few["owns"], few["town"], strict=True)
    squares = 0.0
    exact = sum(owns is False and town == "a" for owns, town in kept)
    for _ in range(150):
        one, other, both = (next(iter(a.released[0].estimates.values())) for a in plan.release())
        np.testing.assert_allclose(both.values.reshape(3, 4).sum(axis=1), one.values)
        np.testing.assert_allclose(both.values.reshape(3, 4).sum(axis=0), other.values)
        assert both.noised is not None
        squares += (both.values[0] - exact) ** 2 / float(both.noised.variance)
    low, high = (float(chi2.ppf(level, 150)) for level in (5e-7, 1 - 5e-7))
    assert low < squares < high < 4 * squares


def test_no_sums_of_groups_are_derived_from_noise_that_groups_have_in_common() -> None:
    """Beside it, a query by itself: the noises of its groups are independent, and sums of them have a known law."""
    own = session(dp.ZCDP(10))
    tables = own.workload(texts()).release(rho=1)
    apart = own.sql(texts([("owns", "town")])[0]).release(rho=1)
    assert [kept_numbers(table) for table in tables] == [[{}]] * len(SETS)
    kept = kept_numbers(apart)
    assert kept is not None
    assert len(kept[0]) == 1


class Failing(Counted):
    """An engine that fails the first time it counts."""

    def grouping_sets(self, work: Any, schemas: Any) -> Any:
        found = Counted.grouping_sets(self, work, schemas)
        if self.looks == 1:
            raise EngineFailed
        return found


def test_an_engine_that_fails_after_the_payment_is_asked_again_for_the_same() -> None:
    engine = Failing()
    own = session(dp.ZCDP(10), engine=engine)
    with pytest.raises(EngineFailed) as failed:
        own.plan(texts(), rho="1/2").release()
    assert own.remaining == dp.ZCDP("19/2")
    assert failed.value.again is not None
    assert len(failed.value.again()) == len(SETS)
    assert own.remaining == dp.ZCDP("19/2")
    assert engine.looks == 2
