"""The real parts work: each is started, used, and killed where the others' tests will kill it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.helpers.browser import Browser
from tests.helpers.extent import only_in_audit
from tests.helpers.postgres import Postgres
from tests.helpers.processes import until
from tests.helpers.spark import Cluster
from tools import servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def test_postgres_answers(postgres_dsn: str) -> None:
    assert ask(postgres_dsn, "SELECT 1") == 1
    assert ask(postgres_dsn, "SHOW listen_addresses") == ""
    assert ask(postgres_dsn, "SHOW fsync") == "off"


@pytest.mark.slow
@pytest.mark.parametrize("turn", [1, 2])
def test_a_fresh_database_is_empty(fresh_database: str, turn: int) -> None:
    assert ask(fresh_database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    with psycopg.connect(fresh_database) as connection:
        connection.execute("CREATE TABLE left_behind (n int)")


@pytest.mark.slow
def test_what_was_committed_survives_a_kill(durable_postgres: Postgres, durable_postgres_dsn: str) -> None:
    assert [ask(durable_postgres_dsn, f"SHOW {name}") for name in ("fsync", "synchronous_commit")] == ["on", "on"]
    with psycopg.connect(durable_postgres_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE spent (n int)")
        connection.execute("INSERT INTO spent VALUES (1)")
        connection.execute("BEGIN; INSERT INTO spent VALUES (2)")
        durable_postgres.kill()
        assert not durable_postgres.running
        with pytest.raises(psycopg.OperationalError):
            connection.execute("COMMIT")
    durable_postgres.start()
    assert ask(durable_postgres_dsn, "SELECT sum(n) FROM spent") == 1


def test_spark_counts(spark: SparkSession) -> None:
    assert spark.range(1000).where("id % 2 = 0").count() == 500
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


# Each task says that it has started and waits for a file. The workers have one core each: two tasks are on two workers.
COUNT = """
import sys, time
from pathlib import Path
from pyspark import TaskContext
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])

def task(rows):
    (folder / f"started-{TaskContext.get().taskAttemptId()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)
    yield sum(rows)

spark = SparkSession.builder.getOrCreate()
print("total", spark.sparkContext.parallelize(range(1000), 2).mapPartitions(task).sum())
spark.stop()
"""


@only_in_audit
def test_a_spark_job_outlives_a_worker(spark_cluster: Cluster, tmp_path: Path) -> None:
    driver = spark_cluster.driver(COUNT, str(tmp_path))
    until(lambda: len(list(tmp_path.glob("started-*"))) == 2, process=driver.process, log=driver.log)
    first, second = spark_cluster.workers
    first.kill()
    assert second.process.poll() is None
    (tmp_path / "go").touch()
    assert f"total {sum(range(1000))}" in driver.finish()
    assert len(list(tmp_path.glob("started-*"))) > 2, "no task was lost, so nothing was shown"


PAGE = """<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head><body>
<button onclick="document.querySelector('p').textContent = 'clicked'; localStorage.seen = 1">press</button>
<p>waiting</p><script>document.querySelector('p').dataset.seen = localStorage.seen || 'never'</script></body></html>"""


@contextmanager
def site(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_the_browser_clicks(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    with site(tmp_path) as url:
        browser.open(url)
        assert browser.title == "A page"
        assert browser.text("p") == "waiting"
        browser.click("button")
        browser.wait_for_text("p", "clicked")
        assert browser.screenshot(tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
        assert browser.errors() == []
        browser.reset()
        browser.open(url)
        assert browser.find("p").get_attribute("data-seen") == "never"


@pytest.mark.slow
def test_the_console_is_heard(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE + "<script>throw new Error('ouch')</script><img src=none.png>")
    heard: list[str] = []

    def all_heard() -> bool:
        """The console's lines may come one after the other, after the page."""
        heard.extend(browser.errors())
        return all(any(word in line for line in heard) for word in ("ouch", "none.png"))

    with site(tmp_path) as url:
        browser.open(url)
        until(all_heard, what="heard")
    assert len(heard) == 2
    assert browser.errors() == []


def test_a_missing_part_is_named() -> None:
    absent = servers.Part("Left-handed Java", lambda: None, ("java-left",))
    with pytest.raises(servers.Missing, match=r"Left-handed Java is not on this machine.*java-left"):
        servers.find(absent)


@pytest.mark.parametrize(("apt", "root", "why"), [(False, True, "no apt-get"), (True, False, "only root")])
def test_what_cannot_be_installed_is_said_in_one_line(*, apt: bool, root: bool, why: str) -> None:
    said = servers.obstacle(servers.PARTS, apt=apt, root=root)
    assert said
    assert "\n" not in said
    assert why in said
    assert all(part.name in said for part in servers.PARTS)
    assert servers.obstacle([], apt=apt, root=root) is None
    assert servers.obstacle(servers.PARTS, apt=True, root=True) is None
