"""Every case file still says what happens: plan, sensitivity, SQL."""

import re

import pytest
import sqlglot

from tests.helpers.cases import answered, cases, laid_out, warehouse_cases, written, written_for_warehouses


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_a_case_says_what_happens(name: str) -> None:
    case = cases()[name]
    assert written(case).text() == case.text(), "run python -m tests.cases --write, and read what changed"


@pytest.mark.parametrize("name", warehouse_cases())
def test_a_case_says_what_a_warehouse_is_asked(name: str) -> None:
    case = warehouse_cases()[name]
    assert case.ask == cases()[name].ask
    assert written_for_warehouses(case).text() == case.text(), (
        "run python -m tests.cases --write, and read what changed"
    )


def test_there_are_cases_of_every_sort() -> None:
    text = "\n".join(case.text() for case in cases().values())
    assert len(answered()) >= 40
    words = [
        "ROWS",
        "L1",
        "L2",
        "by hash",
        "bins",
        "keys are selected",
        "union all",
        "per unit",
        "join left",
        "Unsupported",
    ]
    assert not [word for word in words if word not in text]


@pytest.mark.slow
@pytest.mark.parametrize("name", answered())
def test_the_sql_can_be_parsed_by_others(name: str) -> None:
    for section, text in cases()[name].sections.items():
        if section.startswith("sql "):
            for statement in text.split(";\n\n"):
                assert isinstance(sqlglot.parse_one(statement, read=section.removeprefix("sql ")), sqlglot.exp.Query)


def test_laying_out_changes_white_space_only() -> None:
    sql = "SELECT trim(BOTH ' ' FROM x) AS \"FROM\" FROM (SELECT 'a FROM ''b (' AS x FROM t WHERE y GROUP BY 1) AS t"
    assert re.sub(r"\s+", "", laid_out(sql)) == re.sub(r"\s+", "", sql)
    assert "'a FROM ''b ('" in laid_out(sql)
    assert "BOTH ' ' FROM x" in laid_out(sql)
