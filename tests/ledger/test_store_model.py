"""The ledger against a model in exact fractions: any order of acts, questions, retries, crashes and restarts."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from discreet.errors import BadParameter, KeyReused, NotRegistered, OverBudget
from discreet.ledger import Charge, Ledger
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import Place

prices = st.fractions(min_value=Fraction(1, 60), max_value=1, max_denominator=60)
people = st.sampled_from(["town", "village"])
names = st.sampled_from(["ann", "bob"])
keys = st.sampled_from(["k1", "k2", "k3", "k4"])
queries = st.sampled_from(["p", "q"])
points = st.sampled_from(["planned", "appended", "committed", "head"])


class Crash(BaseException):
    """A crash at a point of a write."""


class Model(RuleBasedStateMachine):
    """Two servers on one ledger; the model knows caps, sums, keys and answers."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-model-"))
        self.place = Place(*(str(self.folder / name) for name in ("ledger", "key", "head")))
        self.crash_at: str | None = None
        first = self.place.open(create=True, at=self.at)
        for name in ("town", "village"):
            first.owner.protect(name, Pure(2))
            first.owner.register(f"{name} table", name, marks=[f"{name} table"])
        for name in ("ann", "bob"):
            first.owner.add_analyst(name)
        self.servers: list[Ledger] = [first, self.place.open(at=self.at)]
        self.budget = {"town": Fraction(2), "village": Fraction(2)}
        self.caps: dict[tuple[str, str], Fraction | None] = {}
        self.used: dict[tuple[str, str | None], Fraction] = {}
        self.asked: dict[tuple[str, str], tuple[str, str, bytes | None]] = {}
        self.open_charges: list[tuple[Charge, tuple[str, str]]] = []
        self.charges = 0

    def at(self, point: str) -> None:
        if point == self.crash_at:
            self.crash_at = None
            raise Crash

    def fits(self, population: str, analyst: str, price: Fraction) -> bool:
        cap = self.caps[population, analyst]
        own = cap is None or self.used.get((population, analyst), Fraction(0)) + price <= cap
        return own and self.used.get((population, None), Fraction(0)) + price <= self.budget[population]

    def pay(self, population: str, analyst: str, price: Fraction) -> None:
        for account in (analyst, None):
            self.used[population, account] = self.used.get((population, account), Fraction(0)) + price
        self.charges += 1

    @rule(population=people, analyst=names, cap=st.none() | prices, server=st.integers(0, 1))
    def grant(self, population: str, analyst: str, cap: Fraction | None, server: int) -> None:
        def call() -> None:
            self.servers[server].owner.grant(analyst, population, None if cap is None else Pure(cap))

        if cap is not None and cap > self.budget[population]:
            with pytest.raises(BadParameter):
                call()
        else:
            call()
            self.caps[population, analyst] = cap

    @rule(population=people, budget=prices, server=st.integers(0, 1))
    def set_budget(self, population: str, budget: Fraction, server: int) -> None:
        self.servers[server].owner.set_budget(population, Pure(2 * budget), reason="the owner's will")
        self.budget[population] = 2 * budget

    @rule(population=people, price=prices, server=st.integers(0, 1))
    def write_off(self, population: str, price: Fraction, server: int) -> None:
        self.servers[server].owner.write_off(population, Pure(price), reason="published elsewhere")
        self.used[population, None] = self.used.get((population, None), Fraction(0)) + price

    @rule(population=people, analyst=names, key=keys, query=queries, price=prices, server=st.integers(0, 1))
    def spend(self, *, population: str, analyst: str, key: str, query: str, price: Fraction, server: int) -> None:
        def call() -> Charge:
            return self.servers[server].spend(f"{population} table", analyst, Pure(price), key=key, query=query)

        known = self.asked.get((analyst, key))
        if known is not None and known[:2] != (population, query):
            with pytest.raises(KeyReused):
                call()
        elif known is not None:
            again = call()
            assert not again.fresh
            assert again.answer == known[2]
        elif (population, analyst) not in self.caps:
            with pytest.raises(NotRegistered):
                call()
        elif not self.fits(population, analyst, price):
            with pytest.raises(OverBudget):
                call()
        else:
            charge = call()
            assert charge.fresh
            self.pay(population, analyst, price)
            self.asked[analyst, key] = (population, query, None)
            self.open_charges.append((charge, (analyst, key)))

    @rule(population=people, analyst=names, key=keys, price=prices, server=st.integers(0, 1), point=points)
    def spend_and_crash(
        self, *, population: str, analyst: str, key: str, price: Fraction, server: int, point: str
    ) -> None:
        new = (analyst, key) not in self.asked and (population, analyst) in self.caps
        if not (new and self.fits(population, analyst, price)):
            return
        self.crash_at = point
        with pytest.raises(Crash):
            self.servers[server].spend(f"{population} table", analyst, Pure(price), key=key, query="q")
        if point in ("committed", "head"):
            self.pay(population, analyst, price)
            self.asked[analyst, key] = (population, "q", None)

    @precondition(lambda self: self.open_charges)
    @rule(server=st.integers(0, 1), data=st.data())
    def store(self, server: int, data: st.DataObject) -> None:
        charge, who = self.open_charges.pop(data.draw(st.integers(0, len(self.open_charges) - 1)))
        answer = f"{who}".encode()
        assert self.servers[server].store_answer(charge, answer).answer == answer
        self.asked[who] = (*self.asked[who][:2], answer)

    @rule(server=st.integers(0, 1))
    def restart(self, server: int) -> None:
        self.servers[server].close()
        self.servers[server] = self.place.open(at=self.at)

    @invariant()
    def sums_agree(self) -> None:
        for server in getattr(self, "servers", []):
            assert server.trouble is None
            for population in self.budget:
                spent: Any = server.standing(population).charged
                assert spent.epsilon == self.used.get((population, None), 0)
            for population, analyst in self.caps:
                own: Any = server.standing(population, analyst)
                assert own.charged.epsilon == self.used.get((population, analyst), 0)
                cap = self.caps[population, analyst]
                left = self.budget[population] - self.used.get((population, None), Fraction(0))
                if cap is not None:
                    left = min(left, cap - self.used.get((population, analyst), Fraction(0)))
                assert own.remaining.epsilon == max(left, 0)

    def teardown(self) -> None:
        if hasattr(self, "servers"):
            for server in self.servers:
                server.close()
            report = self.place.verify(cards=True)
            assert report.good, str(report)
            assert report.charges == self.charges
            shutil.rmtree(self.folder)


Model.TestCase.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
test_the_ledger_does_what_the_model_does = pytest.mark.slow(Model.TestCase)
