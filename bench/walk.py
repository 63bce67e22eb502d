"""What one answer walks through: the files of discreet that run, in the order in which each is first reached.

Prints how many files a release of the README touches, how many of them only when it is asked for the first time, and
how often the order changes folder; for an HTTP question the same, without the engine's own process. Imports are warm:
the same is asked once before, and only then is it followed.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from starlette.testclient import TestClient

import discreet as dp
from discreet.curator.http.app import create_app
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from tests.helpers.curator.land import write_town

SOURCE = Path(dp.__file__).resolve().parent
ROWS = {
    "patient_id": [n // 3 for n in range(9000)],
    "clinic": ["North", "South"] * 4500,
    "cost": [float(n * 17 % 800) for n in range(9000)],
}
QUESTION = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic"
COUNT = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


def walked(do: Callable[[], object]) -> list[str]:
    """The files that run in this process and its threads, in the order in which they are first reached."""
    seen: dict[str, None] = {}
    prefix = str(SOURCE) + "/"

    def follow(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(prefix) and not frame.f_code.co_name.startswith("<module"):
            seen.setdefault(name[len(prefix) :])

    threading.setprofile(follow)  # of threads that begin from now on
    sys.setprofile(follow)
    try:
        do()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(seen)


def changes(files: list[str]) -> int:
    """How often the folder changes from one file to the next."""
    folders = [str(Path(name).parent) for name in files]
    return sum(a != b for a, b in itertools.pairwise(folders))


def release() -> Callable[[], object]:
    """The release of the README, and what prints it."""
    visits = dp.table(
        ROWS, unit="patient_id", max_rows=3, columns={"cost": dp.bounds(0, 1000), "clinic": dp.keys(["North", "South"])}
    )
    session = dp.Session(visits=visits, budget=dp.Approx(epsilon=2, delta="1e-9"))
    return lambda: str(session.sql(QUESTION).release(epsilon="0.3"))


@contextmanager
def question(folder: Path) -> Iterator[Callable[[], object]]:
    """One question over HTTP to a curator in this process, each with a connection and threads of its own."""
    write_town(folder)
    with closing(open_curator(read_config(folder / "curator.toml"), create=True)) as curator:
        curator.ledger.owner.add_analyst("ann")
        curator.ledger.owner.grant("ann", "town")
        token = curator.access.issue("ann", Role.ANALYST)
        app, body = create_app(curator), {"sql": COUNT, "epsilon": "1"}

        def ask() -> object:
            sent = {"authorization": f"Bearer {token}"}
            reply = TestClient(app, "http://localhost").post("/api/datasets/town/questions", json=body, headers=sent)
            assert reply.status_code == 200, reply.text
            return reply

        yield ask


def report(what: str, ask: Callable[[], object], most: tuple[int, int]) -> None:
    """Print how far one answer walks, beside what was set as a goal."""
    files = walked(ask)
    print(f"{what}: {len(files)} files (at most {most[0]}), {changes(files)} folder changes (at most {most[1]})")
    if "-v" in sys.argv:
        print("\n".join(f"    {name}" for name in files))


def main() -> None:
    release()()
    report("one release in a session", release(), (60, 35))
    with tempfile.TemporaryDirectory() as folder, question(Path(folder) / "town") as ask:
        ask()
        report("one question over HTTP", ask, (85, 50))


if __name__ == "__main__":
    main()
