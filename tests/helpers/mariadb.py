"""A real MariaDB server for tests: own data, own socket, no network; and Arrow tables as its tables, value by value."""

from __future__ import annotations

import math
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pymysql

from tests.helpers.processes import kill_tree, launch, until
from tools.servers import MARIADB, find

_NAMES = count()
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SIMPLE = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint64(): "bigint unsigned",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.string(): "text COLLATE utf8mb4_bin",
    pa.large_string(): "varchar(500) COLLATE utf8mb4_unicode_ci",
}


class MariaDB:
    """A server in a folder of its own."""

    def __init__(self) -> None:
        self.program = find(MARIADB)
        self.user = "nobody" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-maria-", dir="/tmp"))
        self.log = self.folder / "log"
        for path in (self.folder, self.folder / "data", self.folder / "scratch"):
            path.mkdir(exist_ok=True)
            if self.user:
                shutil.chown(path, self.user)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start; returns when it answers."""
        # A folder for temporary tables of its own: a server that starts removes all such tables, another server's too,
        # and that one then crashes.
        options = [
            "--no-defaults", f"--datadir={self.folder}/data", f"--tmpdir={self.folder}/scratch",
            f"--socket={self.folder}/s", "--skip-networking",
            "--skip-grant-tables", f"--pid-file={self.folder}/pid", "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=64M", "--performance-schema=OFF", "--skip-log-bin",
            "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
            *([f"--user={self.user}"] if self.user else []),
        ]  # fmt: skip
        self._process = launch([self.program, *options], log=self.log, folder=self.folder)
        until(self._answers, process=self._process, log=self.log)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:  # the driver leaves its socket open when nobody is there
            try:
                probe.connect(f"{self.folder}/s")
            except OSError:
                return False
        connection = self.connect()
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS lab")
        connection.close()
        return True

    def connect(self) -> Any:
        """A connection; strict, in the worst collation for us."""
        return pymysql.connect(unix_socket=f"{self.folder}/s", user="root", charset="utf8mb4")

    def load(self, table: pa.Table) -> str:
        """A new table with these rows; its name."""
        name = f"t{next(_NAMES)}"
        columns = ", ".join(f"`{field.name}` {sql_type(field.type)}" for field in table.schema)
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")
            cursor.execute("SET SESSION time_zone = '+00:00'")
            cursor.execute(f"CREATE TABLE lab.`{name}` ({columns}) CHARACTER SET utf8mb4")
            rows = list(zip(*(_values(column) for column in table.columns), strict=True))
            places = ", ".join(["%s"] * table.num_columns)
            if rows:
                cursor.executemany(f"INSERT INTO lab.`{name}` VALUES ({places})", rows)
            connection.commit()
        return f"lab.{name}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process and self._process.poll() is None:
            kill_tree(self._process)
        shutil.rmtree(self.folder)


def sql_type(kind: pa.DataType) -> str:
    """The type of a column."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "datetime(6)"
    if pa.types.is_dictionary(kind):
        return "text COLLATE utf8mb4_general_ci"
    return _SIMPLE[kind]


def _values(column: pa.ChunkedArray) -> Iterator[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):  # microseconds, rounded down; a zone is UTC here
        whole = (x if x is None else x * 10**6 // _PER_SECOND[kind.unit] for x in column.cast(pa.int64()).to_pylist())
        return (None if x is None else pa.scalar(x, pa.timestamp("us")).as_py() for x in whole)
    if pa.types.is_floating(kind):
        return (None if x is None else repr(x) for x in column.to_pylist())
    return iter(column.to_pylist())


def tame(table: pa.Table) -> pa.Table:
    """The same without what MariaDB's floats cannot hold: NaN and the infinities are NULL."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            values = [None if x is None or not math.isfinite(x) else x for x in table.column(i).to_pylist()]
            table = table.set_column(i, field, pa.array(values, field.type))
    return table
