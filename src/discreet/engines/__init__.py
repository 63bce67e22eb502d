"""Engines turn plans into exact numbers. They know the data, and neither noise nor budget."""

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.experimental.engine import ExperimentalWarning, experimental
from discreet.engines.labelled_files import value_labels
from discreet.engines.postgres.engine import postgres
from discreet.engines.postgres.source import postgres_table
from discreet.engines.sources import duckdb_table
from discreet.engines.spark.engine import spark

__all__ = [
    "ExperimentalWarning",
    "duckdb",
    "duckdb_table",
    "experimental",
    "postgres",
    "postgres_table",
    "spark",
    "value_labels",
]
