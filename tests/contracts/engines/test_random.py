"""A random search for a table and a work on which an engine and the oracle differ; what it finds, it makes small."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.engines.lab import Lab, agree, every_quick_storage
from tests.contracts.engines.random_works import Asked, tables, works
from tests.helpers.tables import places

PLACES = places()
SEARCH = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


@pytest.mark.slow
@every_quick_storage
@SEARCH
@given(table=tables(), asked=st.lists(works(), min_size=1, max_size=4))
def test_random_works_agree(lab: Lab, table: pa.Table, asked: list[Asked]) -> None:
    agree(lab, [one.work for one in asked], {"t": table, "p": PLACES})
