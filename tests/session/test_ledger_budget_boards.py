"""ledger_budget.py: dashboards that outlive the process; no crash, copy or race answers a day twice."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter, LedgerUnavailable, StaleState
from discreet.ledger import open_ledger, verify_ledger
from discreet.ledger.store import Ledger
from discreet.session.board import Board
from tests.helpers.boards import SQL, day, session
from tests.helpers.ledger_places import Place

pytestmark = pytest.mark.slow


def opened(ledger: Path, *, budget: Any = None, **options: Any) -> tuple[dp.Session, Board]:
    s = session(ledger=ledger, budget=budget)
    given: dict[str, Any] = {"by": "day", "horizon": 10, "days": 2, "epsilon": 1} | options
    return s, s.continual(SQL, **given)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    session(ledger=tmp_path / "budget.db", budget=dp.Approx(3, "1e-6"))
    return tmp_path / "budget.db"


def files(ledger: Path) -> list[Path]:
    return sorted(ledger.with_name(f"{ledger.name}.boards").rglob("*.json"))


def entries(ledger: Path) -> int:
    with open_ledger(ledger) as kept:
        return kept.head.sequence


def set_back(ledger: Path, to: int) -> None:
    """The owner restores a backup of the ledger, and acknowledges that entries are lost."""
    Place(str(ledger), f"{ledger}.key", f"{ledger}.head").roll_back(to)
    with open_ledger(ledger) as kept:
        assert kept.trouble is not None
        kept.owner.acknowledge(reason="restored a backup")


def test_another_process_goes_on_and_pays_nothing_more(ledger: Path) -> None:
    s, first = opened(ledger)
    rows = first.advance(day(0)).today.rows
    left = s.remaining
    s, again = opened(ledger)
    assert (again.days, s.remaining) == ((day(0),), left)
    assert again.on(day(0)).today.rows == rows
    again.advance(day(1))
    s, third = opened(ledger)
    assert (third.days, s.remaining) == ((day(0), day(1)), left)
    assert verify_ledger(ledger, head=f"{ledger}.head").good
    with open_ledger(ledger) as kept:
        assert [line.entry.body["step"] for line in kept.entries(kind="stream")] == ["", "2026-11-01", "2026-11-02"]
        assert kept.unanswered() == []


def test_a_preview_writes_nothing(ledger: Path) -> None:
    s, found = opened(ledger)
    found.preview()
    assert s.remaining == s.budget
    assert files(ledger) == []


def test_days_of_people_are_remembered(ledger: Path) -> None:
    """All 400 people come every day and count on two: what is left of the third day is noise around 0."""
    for i in range(3):
        _, found = opened(ledger, days=2, epsilon=2)
        released = found.advance(day(i))
        bars = released.today.errors("0.999999999")["n"]
        expected = [800, 400, 0] if i < 2 else [0, 0, 0]
        for n, exact, bar in zip(released.today["n"], expected, bars, strict=True):
            assert bar is not None
            assert abs(n - exact) <= bar < 400


def test_the_state_is_one_file_that_only_its_owner_can_read(ledger: Path) -> None:
    _, found = opened(ledger)
    for i in range(3):
        found.advance(day(i))
        (file,) = files(ledger)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_an_older_state_is_refused(ledger: Path, tmp_path: Path) -> None:
    folder = ledger.with_name(f"{ledger.name}.boards")
    _, found = opened(ledger)
    found.advance(day(0))
    shutil.copytree(folder, tmp_path / "copy")
    found.advance(day(1))
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    with pytest.raises(StaleState, match="not here"):
        opened(ledger)


def test_an_edited_state_is_refused(ledger: Path) -> None:
    _, found = opened(ledger)
    found.advance(day(0))
    (file,) = files(ledger)
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b'"version":1', b'"version": 1'))
    with pytest.raises(StaleState, match="not the one that was kept"):
        opened(ledger)


def test_a_crash_before_the_record_loses_the_day_and_nothing_else(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s, found = opened(ledger)
    found.advance(day(0))
    left = s.remaining

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "record_step", crash)
        with pytest.raises(KeyboardInterrupt):
            found.advance(day(1))
    with pytest.raises(StaleState, match="open this dashboard again"):
        found.advance(day(1))
    assert len(files(ledger)) == 2
    s, again = opened(ledger)
    assert (again.days, s.remaining) == ((day(0),), left)
    again.advance(day(1))
    assert len(files(ledger)) == 1


def test_a_crash_after_the_record_gives_the_answer_that_was_drawn(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = opened(ledger)
    step = Ledger.record_step

    def crash(*given: Any, **named: Any) -> None:
        step(*given, **named)
        if given[1].position == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "record_step", crash)
        with pytest.raises(KeyboardInterrupt):
            found.advance(day(0))
    _, again = opened(ledger)
    assert again.days == (day(0),)
    assert again.on(day(0)).today.rows == opened(ledger)[1].on(day(0)).today.rows


def test_a_crash_between_payment_and_opening_is_not_paid_twice(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s, found = opened(ledger)

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "record_step", crash)
        with pytest.raises(KeyboardInterrupt):
            found.advance(day(0))
    left = s.remaining
    assert left != s.budget
    s, again = opened(ledger)
    again.advance(day(0))
    assert s.remaining == left


def test_of_two_that_go_on_one_wins(ledger: Path) -> None:
    _, one = opened(ledger)
    _, other = opened(ledger)
    one.advance(day(0))
    with pytest.raises(StaleState, match="another process"):
        other.advance(day(0))
    assert len(files(ledger)) == 1
    assert opened(ledger)[1].on(day(0)).today.rows == one.on(day(0)).today.rows


def test_a_ledger_that_was_set_back_ends_its_dashboards(ledger: Path) -> None:
    """What the owner acknowledges may have lost steps: going on could answer them twice."""
    _, found = opened(ledger)
    found.advance(day(0))
    folder = ledger.with_name(f"{ledger.name}.boards")
    backup = entries(ledger)
    shutil.copytree(folder, ledger.with_name("copy"))
    found.advance(day(1))
    set_back(ledger, backup)
    shutil.rmtree(folder)
    shutil.copytree(ledger.with_name("copy"), folder)
    _, again = opened(ledger)
    assert again.days == (day(0),)  # what was released can be looked at
    with pytest.raises(StaleState, match="set back"):
        again.advance(day(1))
    _, fresh = opened(ledger, name="a new one")
    fresh.advance(day(1))


def test_a_payment_before_the_ledger_was_set_back_opens_nothing(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = opened(ledger)

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "record_step", crash)
        with pytest.raises(KeyboardInterrupt):
            found.advance(day(0))
    backup = entries(ledger)
    opened(ledger)[1].advance(day(0))
    set_back(ledger, backup)
    with pytest.raises(StaleState, match="may have answered"):
        opened(ledger)[1].advance(day(0))


def test_a_name_belongs_to_one_question(ledger: Path) -> None:
    _, found = opened(ledger, name="clinics")
    found.advance(day(0))
    s = session(ledger=ledger, budget=None)
    for sql in ("SELECT COUNT(*) AS n FROM visits", SQL.replace("GROUP", "WHERE cost > 50 GROUP")):
        with pytest.raises(BadParameter, match="another dashboard"):
            s.continual(sql, by="day", horizon=10, days=2, epsilon=1, name="clinics")


def test_other_bounds_or_caps_do_not_go_on_with_a_dashboard(ledger: Path) -> None:
    _, found = opened(ledger, name="clinics")
    found.advance(day(0))
    s = session(ledger=ledger, budget=None, caps={"max_rows": 5})
    with pytest.raises(BadParameter, match="bounds, keys and caps"):
        s.continual(SQL, by="day", horizon=10, days=2, epsilon=1, name="clinics")


def test_a_folder_that_cannot_be_written_shows_no_answer(ledger: Path) -> None:
    ledger.with_name(f"{ledger.name}.boards").write_text("in the way")
    _, found = opened(ledger)
    with pytest.raises(LedgerUnavailable, match="cannot be kept"):
        found.advance(day(0))
