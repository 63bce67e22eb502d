"""Fixtures for the real parts: databases, Spark, a browser. Nothing is started or imported before a test asks."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from discreet.query.plan import schema
from tests.helpers.extent import AUDIT
from tests.helpers.seeded_bytes import noise_from
from tools import sampled_tests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.helpers.browser import Browser
    from tests.helpers.curator.town import Town
    from tests.helpers.ledger_places import Place
    from tests.helpers.mariadb import MariaDB
    from tests.helpers.postgres import Postgres
    from tests.helpers.spark import Cluster

# Without bytecode every worker, and every process that a test starts, compiles all sources again: twice the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels for graphics cards run in their compiler's interpreter
# How long an example takes is the machine's affair. `make test` says the same on every run; `make audit` looks further.
settings.register_profile("discreet", deadline=None, derandomize=not AUDIT)
settings.load_profile("discreet")
HEAVY = {"spark", "spark_cluster"}
SERVERS = HEAVY | {"postgres", "_durable_server", "mariadb", "_browser", "town", "new_town", "shop", "site"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: looking for garbage among it takes time and finds none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Every second worker reads the tests from the end, so that two do not compile the same file at the same time."""
    report = yield
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if int(number) % 2 and isinstance(collector, pytest.Session | pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests with a server are slow, like those marked so. A test with Spark says so in its name or its file's."""
    items.sort(key=lambda item: item.nodeid.split("::", 1)[0])  # all workers have the same order
    if not AUDIT and not named_by_user(config):
        left = sampled_tests.left_out([item.nodeid for item in items], sampled_tests.listed())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if HEAVY & fixtures and "spark" not in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} uses Spark: put the word into its name")
        if SERVERS & fixtures:
            item.add_marker(pytest.mark.slow)


def named_by_user(config: pytest.Config) -> bool:
    """Whether the command line names a test: then all its cases run."""
    return any("::" in str(one) for one in config.args) or bool(config.getoption("keyword"))


def pytest_runtest_teardown() -> None:
    """Pictures are closed after each test: beyond 20 open ones there is a warning, in whatever test that may be."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share a server run on one worker: a second one would cost more than it brings.

    By name, since the marks of xdist 3.8 (``xdist_group``) do nothing with pytest 9.2. The largest groups go first.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return Together(config, log)


def together(nodeid: str) -> str:
    """The name of the group of a test: that of its server, or its file, whose tests share what they computed.

    Groups of one test each would be no better spread, and xdist looks through all groups of a worker after each test.
    """
    file = nodeid.split("::", 1)[0]
    if file.startswith("tests/curator/") and "spark" not in nodeid:
        return file
    return next((server for server in ("spark", "mariadb", "postgres") if server in nodeid), file)


# Tables of tests that say nothing of caps count ten rows of a unit: most tests are about something else. Users have
# their caps chosen; tests of that, and of the documentation, have CHOSEN_CAPS = True in their module. Examples in the
# source see what users see.
schema.UNDECLARED = None  # while modules of tests are read, which make tables


def pytest_collection_finish() -> None:
    """All modules are read."""
    schema.UNDECLARED = schema.AUTO


@pytest.fixture(scope="module", autouse=True)
def ten_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    """Caps of tables that a module of tests makes while it runs."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "CHOSEN_CAPS", False):
            patch.setattr(schema, "UNDECLARED", None)
        yield


@pytest.fixture
def fixed_noise(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same noise in every run, of ``make audit`` too: for tests of what follows from a choice, where the choice is
    wrong by design once in a thousand runs (``_SURE`` in query/profile), and of models, whose scores have no known law.
    """
    with noise_from(request.node.nodeid):
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server that does not wait for the disk: quick, and not for tests of crashes."""
    from tests.helpers.postgres import Postgres

    with Postgres(durable=False) as server:
        yield server


@pytest.fixture
def postgres_dsn(postgres: Postgres) -> str:
    """The address of the quick server; its databases are shared by the tests of one worker."""
    return postgres.dsn


@pytest.fixture
def fresh_database(postgres: Postgres) -> Iterator[str]:
    """The address of a new, empty database on the quick server."""
    dsn = postgres.fresh()
    yield dsn
    postgres.drop(dsn)


@pytest.fixture(scope="session")
def _durable_server() -> Iterator[Postgres]:
    from tests.helpers.postgres import Postgres

    with Postgres(durable=True) as server:
        yield server


@pytest.fixture
def durable_postgres(_durable_server: Postgres) -> Postgres:
    """A PostgreSQL server with full durability, running; a test may kill it and start it again."""
    _durable_server.start()
    return _durable_server


@pytest.fixture
def durable_postgres_dsn(durable_postgres: Postgres) -> Iterator[str]:
    """The address of a new, empty database on the durable server."""
    dsn = durable_postgres.fresh()
    yield dsn
    durable_postgres.start()  # the test may have killed it
    durable_postgres.drop(dsn)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A MariaDB server."""
    from tests.helpers.mariadb import MariaDB

    with MariaDB() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark session with two threads in this process."""
    from tests.helpers.spark import local_session

    with local_session() as session:
        yield session


@pytest.fixture
def spark_cluster() -> Iterator[Cluster]:
    """One master and two workers, each a process of its own; new for every test, since workers get killed."""
    from tests.helpers.spark import Cluster

    with Cluster(workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _browser() -> Iterator[Browser]:
    from tests.helpers.browser import Browser

    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(_browser: Browser) -> Browser:
    """Chromium with an empty tab, no cookies and an empty console."""
    _browser.reset()
    return _browser


# --- ledgers ---------------------------------------------------------------------------------------------------------


def _place(tmp_path: Path, location: str) -> Place:
    from tests.helpers.ledger_places import Place

    folder = tmp_path / "curator"
    folder.mkdir()
    return Place(location or str(folder / "ledger"), str(folder / "ledger.key"), str(folder / "ledger.head"))


@pytest.fixture
def lite(tmp_path: Path) -> Place:
    """A ledger in an SQLite file."""
    return _place(tmp_path, "")


@pytest.fixture
def postgres_place(tmp_path: Path, durable_postgres_dsn: str) -> Place:
    """A ledger on a PostgreSQL server that survives crashes."""
    return _place(tmp_path, durable_postgres_dsn)


@pytest.fixture(params=["lite", pytest.param("postgres_place", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest) -> Place:
    """Where a ledger lies: every test that takes this runs on both stores."""
    found: Place = request.getfixturevalue(request.param)
    return found


# --- a curator -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A town behind a curator, one for all tests of a module: they use names and keys of their own."""
    from tests.helpers.curator.town import open_town

    with open_town(tmp_path_factory.mktemp("town") / "town") as found:
        yield found


@pytest.fixture
def new_town(tmp_path: Path) -> Iterator[Town]:
    """A town of this test alone."""
    from tests.helpers.curator.town import open_town

    with open_town(tmp_path / "town") as found:
        yield found


@pytest.fixture(scope="module")
def served(town: Town) -> Iterator[tuple[Town, str]]:
    """The town and its address on a real socket."""
    from tests.helpers.curator.town import on_a_socket

    with on_a_socket(town) as url:
        yield town, url
