"""Real Spark for tests: a session inside the test process, and a small cluster of processes beside it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyspark
import pytest

from tests.helpers.processes import free_port, kill_tree, launch, until
from tools.servers import JAVA, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]


def java_options(folder: Path) -> str:
    """For short lives (half the processor time of Java's own settings), with files in this folder."""
    return f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder}"


def settings(folder: Path) -> dict[str, str]:
    """The settings of every session: small, silent, on loopback, with files in this folder."""
    return {
        "spark.connect.grpc.binding.address": HERE,
        "spark.connect.grpc.binding.port": str(free_port()),
        "spark.driver.bindAddress": HERE,
        "spark.driver.extraJavaOptions": java_options(folder),
        "spark.driver.host": HERE,
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def environment(folder: Path) -> dict[str, str]:
    """What Spark's programs read: where Java and Python are, loopback only, and files in this folder."""
    return {
        "JAVA_HOME": str(find(JAVA)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HERE,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_JAVA_OPTS": java_options(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LAUNCHER_OPTS": java_options(folder),
    }


@contextmanager
def local_session() -> Iterator[SparkSession]:
    """A session with two threads in this process."""
    from pyspark.sql import SparkSession

    with (
        tempfile.TemporaryDirectory(prefix="discreet-spark-", ignore_cleanup_errors=True) as temporary,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(temporary)
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in settings(folder).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            end(session)


def connect_address(session: SparkSession) -> str:
    """The address by which other processes reach this session's Spark, through Spark Connect; started once."""
    context = session.sparkContext
    assert context._jvm is not None
    context._jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(context._jsc.sc())
    return f"sc://{HERE}:{context.getConf().get('spark.connect.grpc.binding.port')}"


def end(session: SparkSession) -> None:
    """Stop a session and its Java process, so that no open pipe is left behind."""
    gateway = session.sparkContext._gateway
    session.stop()
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    pyspark.SparkContext._gateway = None
    pyspark.SparkContext._jvm = None


@dataclass(frozen=True, slots=True)
class Member:
    """A process of a cluster: the master, a worker with the executors that it starts, or a driver."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, pattern: str) -> str:
        """Wait until the log holds a pattern; what its group matched."""
        until(lambda: re.search(pattern, self.log.read_text()) is not None, process=self.process, log=self.log)
        found = re.search(pattern, self.log.read_text())
        assert found
        return found[1]

    def kill(self) -> None:
        """Kill -9 it and all that it started, as when a machine is lost."""
        if self.process.poll() is None:
            kill_tree(self.process)

    def finish(self, seconds: float = 120) -> str:
        """Wait for a good end; everything that it said."""
        code = self.process.wait(seconds)
        said = self.log.read_text()
        assert code == 0, said
        return said


class Cluster:
    """A standalone cluster on loopback: one master and some workers of one core each, every one a process of its own.

    One Python process can have one Spark session, so jobs run in another one: ``driver`` starts it.
    """

    def __init__(self, workers: int = 2) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-cluster-"))
        self._members: list[Member] = []
        try:
            self.url = self._launch("master.Master").says(r"Starting Spark master at (spark://\S+)")
            self.workers = [self._worker(number) for number in range(workers)]
            for worker in self.workers:
                worker.says("(Successfully registered) with master")
        except BaseException:
            self.stop()
            raise

    def _worker(self, number: int) -> Member:
        work = str(self.folder / f"work-{number}")
        return self._launch("worker.Worker", "--cores", "1", "--memory", "512m", "--work-dir", work, self.url)

    def _launch(self, program: str, *options: str) -> Member:
        home = Path(pyspark.__file__).parent
        log = self.folder / f"{len(self._members)}.log"
        ports = ["--host", HERE, "--port", "0", "--webui-port", "0"]  # 0: any free one, so that clusters do not meet
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *ports, *options]
        environ = environment(self.folder) | {"SPARK_HOME": str(home)}
        member = Member(launch(command, log=log, folder=self.folder, env=environ), log)
        self._members.append(member)
        return member

    def settings(self) -> dict[str, str]:
        """The settings of a session on this cluster."""
        return settings(self.folder) | {
            "spark.master": self.url,
            "spark.executor.extraJavaOptions": java_options(self.folder),
            "spark.executor.memory": "512m",
        }

    def driver(self, program: str, *arguments: str) -> Member:
        """Run Python text in a new process, where ``SparkSession.builder.getOrCreate()`` is one on the cluster."""
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in self.settings().items()))
        log = self.folder / f"{len(self._members)}.log"
        environ = environment(self.folder) | {"SPARK_CONF_DIR": str(conf), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", program, *arguments]
        member = Member(launch(command, log=log, folder=self.folder, env=environ), log)
        self._members.append(member)
        return member

    def stop(self) -> None:
        """End every process and remove the files."""
        for member in reversed(self._members):
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
