"""Every relation: the same rows as the oracle, each as often, whatever the order."""

import pytest

from discreet.engines.memory.engine import column_names
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Relation
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey
from tests.contracts.engines.lab import ORACLE, UNIT, Lab, agree, every_storage
from tests.contracts.engines.relations import RELATIONS
from tests.helpers import tables

pytestmark = pytest.mark.slow

TABLES = {
    "crowd": {"t": tables.crowd(40), "p": tables.places()},
    "one owner": {"t": tables.one_owner(20), "p": tables.places()},
    "empty": {"t": tables.empty(tables.crowd(1)), "p": tables.empty(tables.places())},
}


def rows(relation: Relation) -> Work:
    """A work whose rows out are the rows of the relation, with how often each occurs."""
    names = column_names(relation, ORACLE.schemas(TABLES["crowd"]))
    keys = tuple(WorkKey(f"key{n}", Column(name), None) for n, name in enumerate(names))
    weights = Weights(form=Form.ROWS, cap=65536, scale=1)
    return Work(source=relation, unit=UNIT, keys=keys, cells=(RowSum(Literal(1)),), weights=weights)


@every_storage
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_a_relation_has_the_same_rows_everywhere(lab: Lab, relation: Relation, table: str) -> None:
    if table != "crowd" and lab.skips(f"{relation}, {table}"):
        pytest.skip("a sample of these on this engine; all in `make audit`")
    agree(lab, [rows(relation)], TABLES[table])


def test_most_relations_have_rows() -> None:
    found = ORACLE.run([rows(relation) for relation in RELATIONS.values()], TABLES["crowd"])
    assert sum(map(bool, found)) >= len(RELATIONS) - 4
