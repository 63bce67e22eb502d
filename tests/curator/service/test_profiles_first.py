"""The first question that needs a profile buys it out of its own price: once, for everybody, crashes included."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from discreet.curator.service.access import Caller, Role
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.questions import (
    AnyQuestion,
    PlanQuestion,
    ProfileQuestion,
    SqlQuestion,
    WorkloadQuestion,
)
from discreet.curator.service.service import Curator
from discreet.curator.service.synthetic_jobs import TOGETHER, SyntheticJobs, SyntheticQuestion
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter, BadQuestion, EngineFailed, KeyReused, LedgerBusy, NoProfile, OverBudget
from discreet.ledger.records import ChargeRecord
from discreet.privacy.promises.measures import Approx
from discreet.session.price import Price
from tests.helpers.curator.land import write_town
from tests.helpers.curator.town import Clock

ANN, BOB = (Caller(name, Role.ANALYST, "t", datetime(2099, 1, 1, tzinfo=UTC)) for name in ("ann", "bob"))
COUNT = SqlQuestion(sql="SELECT city, COUNT(*) AS n FROM trips GROUP BY city", price=Price(20))
MEAN = SqlQuestion(sql="SELECT AVG(length) AS m FROM trips", price=Price(20))


class EngineHere:
    """An engine without a process of its own, which takes longer to start than all that is asked here."""

    def __init__(self, *_: object, **__: object) -> None:
        self._engine, self._lock = duckdb(), Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def smallest_hashes(self, *_: object) -> list[str]:
        return []

    def reserved(self, _: str = "") -> Lock:
        return self._lock

    def allow(self, *_: object) -> None:
        """All columns were there from the beginning."""

    def left_out(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing is left open."""


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.curator.service.open_datasets.Isolated", EngineHere)


class Killed(BaseException):
    """The server ends here."""


@contextmanager
def opened(folder: Path, *, auto: str = "trips", **options: Any) -> Iterator[Curator]:
    """A town whose caps (or, with "length", bounds) are to be chosen."""
    path, new = folder / "curator.toml", not folder.exists()
    if new:
        write_town(folder, epsilon=options.pop("epsilon", "1000000"))
        text = path.read_text().replace("max_rows = 5", 'max_rows = "auto"')
        if auto == "all":
            text = text.replace("max_rows = 1\n", 'max_rows = "auto"\n')
        path.write_text(text.replace("columns.length = {bounds = [0, 100]}", 'columns.length = {bounds = "auto"}')
                        if auto == "length" else text)  # fmt: skip
    with closing(open_curator(read_config(path), create=new, **options)) as curator:
        if new:
            for one in (ANN, BOB):
                curator.ledger.owner.add_analyst(one.name)
                curator.ledger.owner.grant(one.name, "town")
        yield curator


def paid(curator: Curator) -> list[tuple[str, Fraction | int]]:
    """Each charge: what was asked, and its epsilon."""
    lines = [ChargeRecord.read(line.entry) for line in curator.ledger.entries(kind=ChargeRecord.KIND)]
    return [(one.query, one.price[0]) for one in lines]


def notes(curator: Curator, caller: Caller, asked: AnyQuestion, key: str | None = None) -> list[str]:
    """What the answer says beside its error bars."""
    answer = json.loads(curator.ask(caller, "town", asked, key).answer or b"")
    return [line for one in answer.get("answers", [answer]) for line in one["notes"]]


def test_the_first_question_buys_out_of_its_own_price_and_everybody_uses_it_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        found = notes(curator, ANN, COUNT)
        assert "chosen from the profile of trips" in found[0]
        assert found[-1] == (
            "epsilon 2 was spent before, to choose caps and bounds; what it bought is known to later questions"
        )
        assert paid(curator) == [("profile(trips: city)", 2), (COUNT.query, 18)]
        assert curator.ledger.standing("town", "ann").charged.epsilon == 20  # type: ignore[union-attr]
        assert "was spent before" not in str(notes(curator, BOB, COUNT))
    with opened(tmp_path / "t") as curator:
        found = notes(curator, BOB, MEAN)
        assert "chosen from the profile of trips" in found[0]
        assert "was spent before" not in str(found)
        assert [price for _, price in paid(curator)] == [2, 18, 20, 20]


def test_a_preview_says_what_will_be_bought(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        (before,) = curator.preview(ANN, "town", COUNT)
        assert before["price"]["epsilon"] == "20"
        assert before["notes"] == [
            "caps are not chosen yet: a release spends a tenth of its price on the sizes of the units, and chooses "
            "then; this preview is for a cap of 10 rows, without that tenth",
            "epsilon 2 of the price buys first: a profile of trips, free for all questions of everybody from then on",
        ]
        many = WorkloadQuestion(sqls=(COUNT.sql, MEAN.sql), price=Price(20))
        assert all("buys first: a profile of trips" in one["notes"][-1] for one in curator.preview(ANN, "town", many))
        assert not paid(curator)
        curator.ask(ANN, "town", COUNT)
        assert "buys first" not in str(curator.preview(ANN, "town", COUNT)[0]["notes"])


def test_a_preview_of_corrected_groups_is_that_of_the_session(tmp_path: Path) -> None:
    """Groups that will be made to agree with a total: their predicted error, not the noise alone."""
    with opened(tmp_path / "t") as curator:
        curator.ask(ANN, "town", ProfileQuestion(table="trips", columns=None, price=Price(50)))
        session = curator.open(curator.ledger.datasets["town"]).session
        here = session.sql(COUNT.sql).preview(epsilon="0.02")
        (there,) = curator.preview(ANN, "town", SqlQuestion(sql=COUNT.sql, price=Price("0.02")))
        assert there["columns"][0]["error"] == here.error("n")
        assert there["columns"][0]["rows"] == here.columns[0].rows


def test_a_refusal_buys_nothing(tmp_path: Path) -> None:
    """The tenth alone would fit a share of 19; the question that it is for would not."""
    refused: list[tuple[SqlQuestion, type[Exception]]] = [
        (COUNT, OverBudget),
        (replace(COUNT, price=Price(error=5)), BadParameter),
        (replace(COUNT, sql="SELECT COUNT(*) AS n FROM tripes"), BadQuestion),
        (replace(COUNT, price=Price(1)), KeyReused),
    ]
    with opened(tmp_path / "t") as curator:
        curator.ledger.owner.grant("ann", "town", Approx(19, "1e-18"))
        curator.ask(ANN, "town", SqlQuestion(sql="SELECT COUNT(*) AS n FROM people", price=Price("1e-3")), "used")
        for asked, refusal in refused:
            with pytest.raises(refusal):
                curator.ask(ANN, "town", asked, "used" if refusal is KeyReused else None)
        assert len(paid(curator)) == 1
        curator.ask(BOB, "town", COUNT)
        curator.ask(ANN, "town", replace(COUNT, price=Price(18)))
        assert [price for _, price in paid(curator)[1:]] == [2, 18, 18]


@pytest.mark.parametrize("whole", ["1/3"])
def test_a_price_that_just_fits_is_enough_for_both(tmp_path: Path, whole: str) -> None:
    """However prices are rounded when they are written down: nothing is left, and nothing is refused halfway."""
    with opened(tmp_path / "t", epsilon=whole) as curator:
        asked = replace(COUNT, price=Price(whole))
        assert "was spent before" in str(notes(curator, ANN, asked))
        assert curator.ledger.standing("town").remaining.epsilon == 0  # type: ignore[union-attr]


def killed(folder: Path, asked: AnyQuestion, point: str, times: int, *, auto: str = "trips") -> None:
    """Ask, under the key "k", a server that ends when it comes to a point for so many times."""
    seen: list[str] = []

    def at(name: str) -> None:
        seen.append(name)
        if seen.count(point) == times:
            raise Killed

    with opened(folder, auto=auto) as curator:
        curator.at = at
        with pytest.raises(Killed):
            curator.ask(ANN, "town", asked, "k")


def test_a_crash_between_profile_and_answer_costs_no_more_than_the_price(tmp_path: Path) -> None:
    killed(tmp_path / "t", COUNT, "planned", 2)
    with opened(tmp_path / "t") as curator:
        assert paid(curator) == [("profile(trips: city)", 2)]
        assert "epsilon 2 was spent before" in notes(curator, ANN, COUNT, "k")[-1]
        assert [price for _, price in paid(curator)] == [2, 18]
        assert curator.ask(ANN, "town", COUNT, "k").again
        curator.ask(ANN, "town", COUNT, "other")
        assert [price for _, price in paid(curator)] == [2, 18, 20]


def test_a_key_that_comes_back_with_another_question_has_paid_nothing_for_it(tmp_path: Path) -> None:
    killed(tmp_path / "t", COUNT, "planned", 2)
    with opened(tmp_path / "t") as curator:
        assert "was spent before" not in str(notes(curator, ANN, replace(COUNT, price=Price(3)), "k"))
        assert [price for _, price in paid(curator)] == [2, 3]


def test_a_profile_that_was_lost_in_a_crash_is_not_paid_again_under_the_same_key(tmp_path: Path) -> None:
    killed(tmp_path / "t", COUNT, "noise", 1)
    clock = Clock()
    with opened(tmp_path / "t", clock=clock) as curator:
        with pytest.raises(LedgerBusy, match="was paid, and is being answered or was lost"):
            curator.ask(ANN, "town", COUNT, "k")
        clock.now += timedelta(hours=1)
        with pytest.raises(EngineFailed):
            curator.ask(ANN, "town", COUNT, "k")
        assert [price for _, price in paid(curator)] == [2]
        curator.ask(ANN, "town", COUNT, "new")
        assert [price for _, price in paid(curator)] == [2, 2, 18]


def test_an_engine_that_fails_on_the_profile_is_told_and_the_question_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise EngineFailed

    with opened(tmp_path / "t") as curator:
        engine = curator.open(curator.ledger.datasets["town"]).engine
        with monkeypatch.context() as patch:
            patch.setattr(engine, "run", fail)
            for _ in range(2):
                with pytest.raises(EngineFailed):
                    curator.ask(ANN, "town", COUNT, "k")
        with pytest.raises(EngineFailed):  # as it was stored
            curator.ask(ANN, "town", COUNT, "k")
        assert [price for _, price in paid(curator)] == [2]


def test_first_questions_at_once_buy_one_profile(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda who: notes(curator, who, COUNT), [ANN, BOB, ANN, BOB]))
        assert sorted(price for _, price in paid(curator)) == [2, 18, 20, 20, 20]
        assert sum("was spent before" in str(one) for one in found) == 1


def test_another_server_finds_what_was_bought(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as first, opened(tmp_path / "t") as second:
        assert "buys first" in str(second.preview(BOB, "town", COUNT)[0]["notes"])
        first.ask(ANN, "town", COUNT)
        (after,) = second.preview(BOB, "town", COUNT)
        assert "buys first" not in str(after["notes"])
        assert after["left"]["epsilon"] == "999980", "what another server charged is gone here too"
        assert "was spent before" not in str(notes(second, BOB, COUNT))
        assert [price for _, price in paid(second)] == [2, 18, 20]


def test_bounds_are_bought_in_the_same_way_and_a_preview_does_not_know_their_error(tmp_path: Path) -> None:
    both = SqlQuestion(sql="SELECT COUNT(*) AS n, SUM(length) AS s FROM trips", price=Price(2000))
    with opened(tmp_path / "t", auto="length") as curator:
        (before,) = curator.preview(ANN, "town", both)
        assert [one["error"] is None for one in before["columns"]] == [False, True]
        assert "bounds of trips.length are not chosen yet" in str(before["notes"])
        assert "bounds of length chosen from the profile" in str(notes(curator, ANN, both))
        assert paid(curator) == [("profile(trips: length)", 200), (both.query, 1800)]
        assert curator.preview(BOB, "town", both)[0]["columns"][1]["error"] > 0


def test_bounds_that_cannot_be_chosen_are_refused_but_for_the_question_that_paid(tmp_path: Path) -> None:
    """An epsilon of 1e-6 shows nothing of 120 people: to show something is less likely than 1e-9."""
    cheap = SqlQuestion(sql="SELECT SUM(length) AS s FROM trips", price=Price("1e-6"))
    with opened(tmp_path / "t", auto="length") as curator:
        assert "bounds of length could not be chosen: no value stood out" in str(notes(curator, ANN, cheap, "k"))
        with pytest.raises(NoProfile, match="for more if one was bought and nothing stood out"):
            curator.ask(BOB, "town", cheap)
        assert len(paid(curator)) == 2
        assert curator.ask(ANN, "town", cheap, "k").again


def test_a_workload_about_two_tables_buys_both_out_of_one_tenth_and_goes_on_after_a_crash(tmp_path: Path) -> None:
    people = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
    both = WorkloadQuestion(sqls=(COUNT.sql, people), price=Price(20))
    killed(tmp_path / "t", both, "planned", 2, auto="all")
    with opened(tmp_path / "t") as curator:
        assert "epsilon 2 was spent before" in str(notes(curator, ANN, both, "k"))
        names, prices = zip(*paid(curator), strict=True)
        assert names == ("profile(people: city)", "profile(trips: city)", both.query)
        assert prices == (1, 1, 18)


def test_a_profile_of_a_table_that_was_declared_otherwise_is_not_used(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        curator.ask(ANN, "town", ProfileQuestion(table="trips", columns=None, price=Price(50)))
    path = tmp_path / "t" / "curator.toml"
    path.write_text(path.read_text().replace('keys = ["Aton", "Bury", "Cold"]', 'keys = ["Aton", "Bury"]'))
    with opened(tmp_path / "t") as curator:
        assert "was spent before" in str(notes(curator, ANN, COUNT))


def test_a_question_about_two_tables_buys_the_sizes_of_its_own_units_once(tmp_path: Path) -> None:
    """A profile is of one table; how many joined rows a person has is asked of the joined rows."""
    sql = "SELECT COUNT(*) AS n FROM people JOIN trips ON people.person_id = trips.person_id"
    joined = SqlQuestion(sql=sql, price=Price(20))
    killed(tmp_path / "t", joined, "planned", 2)
    with opened(tmp_path / "t") as curator:
        assert "epsilon 2 was spent before" in notes(curator, ANN, joined, "k")[-1]
        assert "buys first" not in str(curator.preview(BOB, "town", joined)[0]["notes"])
        assert "was spent before" not in str(notes(curator, BOB, joined))
        assert paid(curator) == [(f"sizes of units for: {sql}", 2), (sql, 18), (sql, 20)]
    with opened(tmp_path / "t") as curator:
        assert "was spent before" not in str(notes(curator, BOB, SqlQuestion(sql=f"{sql} ", price=Price(20))))


def test_a_workload_with_a_join_buys_all_that_is_lacking_out_of_one_tenth(tmp_path: Path) -> None:
    joined = "SELECT SUM(length) AS s FROM people JOIN trips ON people.person_id = trips.person_id"
    both = WorkloadQuestion(sqls=(COUNT.sql, joined), price=Price(2000))
    with opened(tmp_path / "t", auto="length") as curator:
        before = str(curator.preview(ANN, "town", both)[0]["notes"])
        assert "buys first: a profile of trips, free for all questions of everybody from then on; the sizes" in before
        assert "bounds of length chosen from the profile" in str(notes(curator, ANN, both))
        assert [price for _, price in paid(curator)] == [100, 100, 1800]


def test_questions_about_the_same_joined_rows_buy_their_sizes_once(tmp_path: Path) -> None:
    """The second was refused after the first was paid: what is known costs nothing, and that needs no ledger."""
    joined = "SELECT COUNT(*) AS n FROM people JOIN trips ON people.person_id = trips.person_id"
    both = WorkloadQuestion(sqls=(joined, joined.replace("COUNT(*) AS n", "SUM(length) AS s")), price=Price(20))
    with opened(tmp_path / "t") as curator:
        notes(curator, ANN, both)
        assert [price for _, price in paid(curator)] == [1, 18]


@pytest.mark.parametrize(
    "asked",
    [
        PlanQuestion(sqls=(f"{COUNT.sql} UNION ALL {COUNT.sql.replace('trips', 'people')}",), price=Price(20)),
        PlanQuestion(sqls=("SELECT COUNT(*) AS n FROM trips WHERE length > (SELECT AVG(pay) FROM people)",),
                     price=Price(20)),
        SqlQuestion(sql="SELECT COUNT(*) FROM trips WHERE length > (SELECT AVG(pay) FROM people)", price=Price(20)),
        replace(COUNT, price=Price(20, confidence=1)),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_buys_no_profile(tmp_path: Path, asked: SqlQuestion | PlanQuestion) -> None:
    with opened(tmp_path / "t") as curator:
        with pytest.raises((BadQuestion, BadParameter)):
            curator.ask(ANN, "town", asked)
        assert not paid(curator)


# --- plans ----------------------------------------------------------------------------------------------------------

PLAN = PlanQuestion(sqls=(COUNT.sql, "SELECT COUNT(*) AS n FROM trips"), price=Price(20))
PROFILE = ProfileQuestion(table="trips", columns=("city",), price=Price(50))


def test_a_plan_says_what_it_buys_first_and_a_crash_between_costs_no_more_than_the_price(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        shown = curator.preview_plan(ANN, "town", PLAN)
        assert "epsilon 2 of the price buys first: a profile of trips" in shown["plan"]["notes"][0]
        assert [one["cut"] for one in shown["plan"]["questions"]] == [None, None]
        assert "this preview is for a cap of 10 rows" in shown["questions"][0]["notes"][0]
        assert {one["price"]["epsilon"] for one in shown["questions"]} == {"20"}
        assert not paid(curator)
    killed(tmp_path / "t", PLAN, "planned", 2)
    with opened(tmp_path / "t") as curator:
        found = notes(curator, ANN, PLAN, "k")
        assert "chosen from the profile of trips" in found[0]
        assert "epsilon 2 was spent before" in found[-1]
        assert paid(curator) == [("profile(trips: city)", 2), (PLAN.query, 18)]
        shown = curator.preview_plan(BOB, "town", PLAN)
        assert not shown["plan"]["notes"]
        assert all(one["cut"] is not None for one in shown["plan"]["questions"])


def test_a_plan_that_was_paid_and_lost_is_not_paid_again_and_one_that_was_stored_is_handed_out(tmp_path: Path) -> None:
    with opened(tmp_path / "t") as curator:
        curator.ask(ANN, "town", PROFILE)
    killed(tmp_path / "t", PLAN, "noise", 1)
    clock = Clock()
    with opened(tmp_path / "t", clock=clock) as curator:
        assert [price for _, price in paid(curator)] == [50, 20]
        with pytest.raises(LedgerBusy, match="was paid, and is being answered or was lost"):
            curator.ask(ANN, "town", PLAN, "k")
        clock.now += timedelta(hours=1)
        with pytest.raises(EngineFailed):
            curator.ask(ANN, "town", PLAN, "k")
        stored = curator.ask(ANN, "town", PLAN, "new").answer
        assert [price for _, price in paid(curator)] == [50, 20, 20]
    with opened(tmp_path / "t") as curator:
        again = curator.ask(ANN, "town", PLAN, "new")
        assert (again.answer, again.again) == (stored, True)
        assert [price for _, price in paid(curator)] == [50, 20, 20]


def test_a_plan_that_cannot_be_made_yet_or_does_not_fit_buys_nothing(tmp_path: Path) -> None:
    targets = replace(PLAN, price=Price(error=(30, 20)))
    with opened(tmp_path / "t") as curator:
        curator.ledger.owner.grant("ann", "town", Approx(19, "1e-18"))
        with pytest.raises(OverBudget):
            curator.ask(ANN, "town", PLAN)
        with pytest.raises(NoProfile, match="buy one"):
            curator.preview_plan(ANN, "town", targets)
        with pytest.raises(BadParameter, match="buy a profile first"):
            curator.ask(ANN, "town", targets)
        assert not paid(curator)
        curator.ask(BOB, "town", PROFILE)
        (price,) = {one["price"]["epsilon"] for one in curator.preview_plan(ANN, "town", targets)["questions"]}
        curator.ask(ANN, "town", targets)
        assert paid(curator)[1] == (PLAN.query, Fraction(price))


def test_bounds_that_a_plan_waits_for_are_bought_too(tmp_path: Path) -> None:
    asked = PlanQuestion(sqls=("SELECT SUM(length) AS s FROM trips",), price=Price(2000))
    with opened(tmp_path / "t", auto="length") as curator:
        shown = curator.preview_plan(ANN, "town", asked)
        assert "bounds of trips.length are not chosen yet" in str(shown["questions"][0]["notes"])
        assert "bounds of length chosen from the profile" in str(notes(curator, ANN, asked))
        assert [price for _, price in paid(curator)] == [200, 1800]


# --- one more column --------------------------------------------------------------------------------------------------

SUM = SqlQuestion(sql="SELECT SUM(length) AS s FROM trips", price=Price(2000))


def test_one_more_column_buys_its_values_and_not_the_sizes_again(tmp_path: Path) -> None:
    with opened(tmp_path / "t", auto="length") as curator:
        curator.ask(ANN, "town", COUNT)
        curator.ask(ANN, "town", SUM)
        lines = [ChargeRecord.read(line.entry) for line in curator.ledger.entries(kind=ChargeRecord.KIND)]
        assert [one.parameters.get("sizes") for one in lines if "profile" in one.parameters] == [None, False]
    with opened(tmp_path / "t") as curator:
        assert "was spent before" not in str([notes(curator, BOB, one) for one in (SUM, COUNT)])
        profile = curator.open(curator.ledger.datasets["town"]).session.profile("trips")
        assert [(one.about.name, one.column) for one in profile.histograms] == [
            ("VALUES", "length"), ("ROWS", ""), ("GROUPS", "city"), ("KEYS", "city")
        ]  # fmt: skip


def test_what_a_key_has_paid_for_is_asked_for_in_the_same_words_whatever_was_bought_since(tmp_path: Path) -> None:
    """Lost in a crash; then another question buys the sizes, which this one would leave out now."""
    killed(tmp_path / "t", SUM, "noise", 1, auto="length")
    with opened(tmp_path / "t") as curator:
        curator.ask(BOB, "town", COUNT)
        with pytest.raises(LedgerBusy, match="was paid, and is being answered or was lost"):
            curator.ask(ANN, "town", SUM, "k")
        assert "bounds of length chosen" in str(notes(curator, ANN, SUM, "new"))


def test_sizes_of_joined_rows_of_a_table_that_was_declared_otherwise_are_bought_anew(tmp_path: Path) -> None:
    """All questions in the same words were errors from then on."""
    sql = "SELECT trips.city, COUNT(*) AS n FROM people JOIN trips ON people.person_id = trips.person_id GROUP BY 1"
    joined = SqlQuestion(sql=sql, price=Price(20))
    with opened(tmp_path / "t") as curator:
        curator.ask(ANN, "town", joined)
    path = tmp_path / "t" / "curator.toml"
    path.write_text(path.read_text().replace('keys = ["Aton", "Bury", "Cold"]', 'keys = ["Aton", "Bury"]'))
    with opened(tmp_path / "t") as curator:
        assert "buys first" in str(curator.preview(ANN, "town", joined)[0]["notes"])
        assert "was spent before" in str(notes(curator, ANN, joined))
        assert "was spent before" not in str(notes(curator, BOB, joined))


# --- synthetic rows ---------------------------------------------------------------------------------------------------


def test_synthetic_rows_use_a_profile_that_was_bought(tmp_path: Path) -> None:
    asked = SyntheticQuestion(table="trips", price=Price(20), rows=10, columns=("city",), quick=True)
    with opened(tmp_path / "town") as curator:
        jobs = SyntheticJobs(curator)
        with pytest.raises(NoProfile, match="no profile of trips"):
            jobs.start(ANN, "town", asked)
        assert not [*curator.ledger.entries(kind=ChargeRecord.KIND)]
        curator.ask(BOB, "town", ProfileQuestion(table="trips", columns=(), price=Price(20)), "profile")
        number = jobs.start(ANN, "town", asked).sequence
        for _ in range(TOGETHER):  # until the job has ended
            assert jobs._free.acquire(timeout=60)
        found = jobs.state(ANN, number)
        assert (found["state"], found["result"]["rows"]) == ("done", 10)
        assert "a cap of" in found["result"]["story"][0]
