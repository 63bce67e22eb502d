"""Rows that are public already: as frames, as a file, and as a table for SQL. Free, as often as one likes."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import duckdb

from discreet.errors import BadQuestion, MissingExtra
from discreet.query.answer.export import write_rows

_PIECE = 100_000


class PublicRows(ABC):
    """What can be done with synthetic rows, wherever they were made."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""

    def to_polars(self) -> Any:
        """The rows as a Polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("Polars frames", extra="frames") from None
        return polars.from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas frames", extra="frames") from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def write(self, path: str | os.PathLike[str]) -> None:
        """The rows as a Parquet or CSV file, by the ending of its name; nothing is written over."""
        table = self.to_arrow()
        write_rows(path, lambda: (table.slice(i, _PIECE) for i in range(0, max(1, table.num_rows), _PIECE)))

    def sql(self, question: str) -> Any:
        """Any SQL over the rows, which are the table ``synthetic``; an Arrow table comes back. Free.

        DuckDB runs it on these rows alone: no file and no network can be reached.
        """
        connection = duckdb.connect(config={"enable_external_access": False, "lock_configuration": True})
        try:
            connection.register("synthetic", self.to_arrow())
            relation = connection.sql(question)
            if relation is None:
                raise BadQuestion("this returns no rows; ask with SELECT")
            return relation.to_arrow_table()
        except duckdb.Error as error:  # the rows are public, and so is what DuckDB says of them
            raise BadQuestion(f"DuckDB cannot answer this: {error}") from None
        finally:
            connection.close()
