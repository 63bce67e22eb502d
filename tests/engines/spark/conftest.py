"""The small table as a DataFrame of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.spark_rows import ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def frame(spark: SparkSession) -> Any:
    return spark.createDataFrame(ROWS)
