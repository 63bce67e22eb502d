"""Keys that nobody listed, where the engine keeps the groups and draws their noise: paid first, drawn once."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import DuckDB, duckdb
from discreet.errors import EngineFailed, ReceiptRefused
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.receipt import Receipt
from discreet.query.engine import Naming
from discreet.query.key_selection import Threshold
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact
from discreet.randomness import Recorder, SystemBits
from tests.query.test_run_batches import QUESTION, ROWS, SURE


@dataclass
class Keeping:
    """DuckDB that keeps groups until their noise is due. ``fault`` is what goes wrong; ``paid`` sees the receipt."""

    fault: str = ""
    inner: DuckDB = field(default_factory=duckdb)
    name: str = "keeping"
    receipts: list[Receipt] = field(default_factory=list)
    used: list[tuple[str, bool]] = field(default_factory=list)
    closed: int = 0

    def columns(self, source: object) -> dict[str, Stored]:
        return self.inner.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        return self.inner.run(works, schemas)

    def batches(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Iterator[Exact]:
        yield from self.inner.run([work], schemas)

    def staged(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Kept | None:
        self._look("staged")
        if self.fault == "dies before":
            self.fault = ""
            raise EngineFailed
        return None if self.fault == "cannot" else Kept(self, self.inner.run([work], schemas)[0])

    def _look(self, when: str) -> None:
        self.used += [(when, receipt.used) for receipt in self.receipts]


@dataclass
class Kept:
    engine: Keeping
    exact: Exact

    def named(self, rule: Naming) -> Iterator[Exact]:
        self.engine._look("named")
        carried = pickle.loads(pickle.dumps(rule))  # noqa: S301
        at, noisy = carried(self.exact.numbers[rule.cell], SystemBits())
        keys = tuple(self.exact.keys[i] for i in at)
        numbers = [noisy if i == rule.cell else n[at] for i, n in enumerate(self.exact.numbers)]
        match self.engine.fault:
            case "dies":
                raise EngineFailed
            case "twice":
                yield Exact(keys[:3], tuple(n[:3] for n in numbers))
            case "below":
                numbers[rule.cell] = np.minimum(noisy, rule.least - 1)  # type: ignore[attr-defined]
            case "floats":
                numbers = [n.astype(np.float64) for n in numbers]
        yield Exact(keys, tuple(numbers))

    def of(self, groups: Sequence[tuple[Any, ...]]) -> Iterator[Exact]:
        wanted = set(groups)
        at = [i for i, key in enumerate(self.exact.keys) if key[: len(groups[0])] in wanted]
        if self.engine.fault == "too many":
            at = list(range(len(self.exact.keys)))
        yield Exact(tuple(self.exact.keys[i] for i in at), tuple(numbers[at] for numbers in self.exact.numbers))

    def close(self) -> None:
        self.engine.closed += 1


class Watched(Filter):
    """A budget store whose receipts the engine of the test can see; ``spoilt`` ones were used before."""

    __slots__ = ("engine", "spoilt")
    engine: Keeping
    spoilt: bool

    def spend(self, what: Any) -> Receipt:
        receipt = super().spend(what)
        if self.spoilt:
            receipt.redeem(what)
        self.engine.receipts.append(receipt)
        return receipt


def session(engine: Keeping, *, spoilt: bool = False) -> dp.Session:
    columns = {"key": dp.unknown_keys(), "amount": dp.bounds(0, 8)}
    table = dp.table(ROWS, unit="user", columns=columns, max_rows=2)
    budget = dp.Approx(SURE, "1e-12")
    budget_store = Watched(budget)
    budget_store.engine, budget_store.spoilt = engine, spoilt
    return dp.Session(t=table, budget=budget, engine=engine, budget_store=budget_store)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["", "cannot", "too many"])
def test_where_noise_is_drawn_changes_nothing(fault: str) -> None:
    engine = Keeping(fault)
    found = session(engine).sql(QUESTION).release(epsilon=SURE)
    right = session(Keeping("cannot")).sql(QUESTION).release(epsilon=SURE)
    assert len(right) == 23
    for column in right.columns:
        assert found[column] == (right[column] if column == "key" else pytest.approx(right[column], abs=0.6)), column


@pytest.mark.slow
def test_the_receipt_is_redeemed_after_the_sums_and_before_the_noise() -> None:
    engine = Keeping()
    session(engine).sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE)
    *staged, named = engine.used
    assert set(staged) == {("staged", False)}
    assert named == ("named", True)


@pytest.mark.slow
def test_without_a_good_receipt_no_noise_is_drawn() -> None:
    engine = Keeping()
    with pytest.raises(ReceiptRefused):
        session(engine, spoilt=True).sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE)
    assert {when for when, _ in engine.used} == {"staged"}
    assert engine.closed == len(engine.used)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["dies", "twice", "below", "floats"])
def test_what_fails_once_noise_is_drawn_is_not_asked_again(fault: str) -> None:
    engine = Keeping(fault)
    s = session(engine)
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE // 2)
    assert caught.value.again is None
    assert engine.closed == sum(when == "staged" for when, _ in engine.used)
    assert s.remaining == dp.Approx(SURE // 2, s.remaining.delta)  # type: ignore[union-attr]


@pytest.mark.slow
def test_what_fails_before_can_be_asked_again_under_the_same_payment() -> None:
    s = session(Keeping("dies before"))
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE // 2)
    assert caught.value.again is not None
    assert len(caught.value.again()) == 23
    assert s.remaining == dp.Approx(SURE // 2, s.remaining.delta)  # type: ignore[union-attr]


# --- the rule ---------------------------------------------------------------------------------------------------------

LAWS = [Laplace(scale=Fraction(7), moves=1), Gaussian(sigma_squared=Fraction(50), moves_squared=1)]


@pytest.mark.parametrize("noise", LAWS, ids=["laplace", "gaussian"])
@pytest.mark.parametrize("shift", [0, 1 << 62, 1 << 63, 1 << 90])
def test_a_carried_rule_names_the_same_groups_from_the_same_bits(noise: Any, shift: int) -> None:
    units = np.array([shift + n for n in range(-300, 300)], dtype=np.int64 if not shift else object)
    recorder = Recorder(SystemBits())
    rule = Threshold(noise, shift + 5)
    at, noisy = rule(units, recorder)
    again_at, again = pickle.loads(pickle.dumps(rule))(units, recorder.replay())  # noqa: S301
    assert at.tolist() == again_at.tolist()
    assert noisy.tolist() == again.tolist()
    assert all(n >= shift + 5 for n in noisy.tolist()), "and none that does not reach the threshold"
    far = [i for i, n in enumerate(units.tolist()) if n - shift > 5 + 200]
    assert set(far) <= set(at.tolist())
    assert all(abs(int(n) - int(units[i])) < 500 for i, n in zip(at, noisy, strict=True)), "exact far beyond 64 bits"
