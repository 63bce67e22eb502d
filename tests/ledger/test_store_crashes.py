"""Many processes, kill -9, full and read-only disks: no answer without a charge, no cap exceeded, nothing to repair."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from discreet.errors import LedgerBusy, LedgerMismatch, LedgerUnavailable
from discreet.privacy.promises.measures import Pure
from tests.helpers.extent import extent
from tests.helpers.ledger_places import Place, answered, ask, prepared
from tests.helpers.ledger_workers import context, kill_in_rounds, race, start
from tests.helpers.processes import stopped, until

if TYPE_CHECKING:
    from tests.helpers.postgres import Postgres

ROUNDS = extent(24, 300)
RACES = extent(3, 20)


# --- races --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_race_for_ten_answers_has_ten_winners(place: Place) -> None:
    """Cap for 10; 2 processes of 16 clients, 2 questions each."""
    with prepared(place, Pure(0)) as ledger:
        for number in range(RACES):
            budget = Pure(number + 1)
            ledger.owner.set_budget("town", budget, reason="another round")
            barrier, results = context().Barrier(2), context().Queue()
            processes = [start(race, place, barrier, results, f"{number} {i}") for i in range(2)]
            winners = [key for _ in processes for key in results.get(timeout=120)]
            for process in processes:
                process.join()
            assert len(winners) == 10
            assert ledger.standing("town").charged == budget
            assert len(ledger.entries(kind="charge")) == 10 * (number + 1)
    assert place.verify(cards=True).good


@pytest.mark.slow
def test_servers_that_are_created_at_once_share_one_ledger(place: Place) -> None:
    barrier, results = context().Barrier(4), context().Queue()
    processes = [start(create, place, barrier, results) for _ in range(4)]
    names = {results.get(timeout=120) for _ in processes}
    for process in processes:
        process.join()
    assert len(names) == 1
    assert place.verify().entries == 1


def create(place: Place, barrier: Any, results: Any) -> None:
    barrier.wait()
    with place.open(create=True) as ledger:
        results.put(ledger.head.ledger)


# --- kill -9 ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kill_nine_at_any_instant(place: Place, tmp_path: Path) -> None:
    rounds = ROUNDS if place.is_file else ROUNDS // 2
    assert kill_in_rounds(place, tmp_path, rounds, seed=1) > rounds


@pytest.mark.slow
def test_the_server_of_the_database_is_killed(
    postgres_place: Place, durable_postgres: Postgres, tmp_path: Path
) -> None:
    def disturb() -> None:
        durable_postgres.kill()
        durable_postgres.start()

    assert kill_in_rounds(postgres_place, tmp_path, max(2, ROUNDS // 10), seed=2, disturb=disturb) > 2


def stop_at(place: Place, point: str, results: Any) -> None:
    """Stop in the middle of a write, as a paused virtual machine does, until somebody lets it go on."""

    def at(reached: str) -> None:
        if reached == point:
            results.put("stopping")
            os.kill(os.getpid(), signal.SIGSTOP)

    with place.open(at=at) as ledger:
        results.put(answered(ledger, "paused").sequence)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["planned", "appended", "committed", "head"])
def test_a_process_that_is_paused_and_goes_on(place: Place, point: str) -> None:
    """It holds no lease that could run out: others wait or go on without it, and it changes nothing of theirs."""
    with prepared(place) as ledger:
        results = context().SimpleQueue()
        process = start(stop_at, place, point, results)
        assert results.get() == "stopping"
        assert process.pid is not None
        until(lambda: stopped(psutil.Process(process.pid)), what="stopped")
        if point == "appended":
            with pytest.raises(LedgerBusy), place.open(patience=0.5) as other:
                ask(other, "k0")
        else:
            for i in range(4):
                answered(ledger, f"k{i}")
        os.kill(process.pid, signal.SIGCONT)
        sequence = results.get()
        process.join()
        assert ledger.charge(sequence).answer == b"answer to paused"
        assert ledger.standing("town").charged == Pure("0.1" if point == "appended" else "0.5")
        assert ledger.trouble is None
    assert place.verify().good


# --- points of a write --------------------------------------------------------------------------------------------


class Crash(BaseException):
    """Ends whatever is going on."""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["planned", "appended", "committed", "head", "stored"])
def test_what_stays_when_it_ends_at_a_point(place: Place, point: str) -> None:
    armed = False

    def at(reached: str) -> None:
        if armed and reached == point:
            raise Crash

    with prepared(place, at=at) as ledger:
        answered(ledger, "before")
        armed = True
        with pytest.raises(Crash):
            answered(ledger, "k")
        armed = False
        charged = point not in ("planned", "appended")
        assert ledger.standing("town").charged == Pure("0.2" if charged else "0.1")
        assert ask(ledger, "k").fresh == (not charged)  # the same process goes on
        assert ledger.trouble is None
    with place.open() as ledger:
        assert ledger.trouble is None
        assert ask(ledger, "k").answer == (b"answer to k" if point == "stored" else None)
        assert ledger.standing("town").charged == Pure("0.2")
    assert place.verify().good


def test_a_head_that_cannot_be_written_stops_the_answer(lite: Place, tmp_path: Path) -> None:
    """The charge is durable by then and stays; no answer is made; the ledger goes on when the disk is back."""
    elsewhere = tmp_path / "other disk"
    elsewhere.mkdir()
    place = Place(lite.location, lite.key, str(elsewhere / "head"))
    armed = False

    def at(reached: str) -> None:
        if armed and reached == "committed":
            elsewhere.rename(tmp_path / "gone")

    with prepared(place, at=at) as ledger:
        answered(ledger, "before")
        armed = True
        with pytest.raises(LedgerUnavailable):
            ask(ledger, "k")
        armed = False
        with pytest.raises(LedgerMismatch, match="missing"):
            ask(ledger, "k2")
        (tmp_path / "gone").rename(elsewhere)
        assert ask(ledger, "k").pending
        answered(ledger, "k2")
        assert ledger.standing("town").charged == Pure("0.3")
    assert place.verify().good


# --- disks --------------------------------------------------------------------------------------------------------


def fill_the_disk(place: Place, results: Any) -> None:
    """Ask until no file may grow any more, then see what is left when it may again."""
    with place.open() as ledger:
        answered(ledger, "first")
        most = Path(f"{place.location}-wal").stat().st_size + 30_000
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        delivered, kinds = 1, []
        for i in range(40):
            try:
                answered(ledger, f"k{i}")
                delivered += 1
            except LedgerUnavailable as refusal:
                kinds.append(str(refusal))
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        answered(ledger, "last")
        results.put((delivered + 1, len(kinds), ledger.standing("town").charged, len(ledger.unanswered())))


@pytest.mark.slow
def test_a_full_disk(lite: Place) -> None:
    prepared(lite, Pure(10)).close()
    results = context().Queue()
    process = start(fill_the_disk, lite, results)
    delivered, refused, spent, unanswered = results.get(timeout=60)
    process.join()
    assert refused > 5
    assert spent == Pure("0.1").group(delivered + unanswered)
    assert lite.verify(cards=True).good


def rehearse_elsewhere() -> None:
    """Load every module that asking needs while this process may still read the environment it runs in."""
    with tempfile.TemporaryDirectory() as folder:
        other = Place(f"{folder}/ledger", f"{folder}/key", f"{folder}/head")
        with prepared(other) as ledger:
            ask(ledger, "before")
        Path(other.location).chmod(0o400)
        with suppress(LedgerUnavailable), other.open() as ledger:  # as root it may be written all the same
            ask(ledger, "read-only")


def ask_as_nobody(place: Place, user: int | None, results: Any) -> None:
    rehearse_elsewhere()
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    try:
        with place.open() as ledger:
            ask(ledger, "read-only")
        results.put("spent")
    except LedgerUnavailable as refusal:
        results.put(str(refusal))


@pytest.mark.slow
def test_a_read_only_disk() -> None:
    folder = Path(tempfile.mkdtemp(prefix="discreet-"))  # where another user can look, too
    nobody = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    try:
        place = Place(str(folder / "ledger"), str(folder / "key"), str(folder / "head"))
        with prepared(place) as ledger:
            answered(ledger, "k")
        for path in (*folder.iterdir(), folder):
            if nobody is not None:
                os.chown(path, nobody, nobody)
            path.chmod(0o500 if path == folder else 0o400)
        results = context().Queue()
        process = start(ask_as_nobody, place, nobody, results)
        said = results.get(timeout=60)
        process.join()
        assert "read-only" in said
        assert str(folder) not in said
        for path in (folder, *folder.iterdir()):
            path.chmod(0o700 if path == folder else 0o600)
        assert place.verify().charges == 1
    finally:
        shutil.rmtree(folder)
