"""Bodies of requests: what fits is read exactly, anything else is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from discreet.curator.http import requests
from discreet.session.price import Price


def inputs() -> list[type[BaseModel]]:
    return [one for one in vars(requests).values() if isinstance(one, type) and issubclass(one, requests.In)]


@pytest.mark.parametrize("model", inputs(), ids=lambda one: one.__name__)
def test_nothing_that_is_not_named_is_taken(model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError) as found:
        model.model_validate({"not_a_field": 1})
    assert ("not_a_field",) in {error["loc"] for error in found.value.errors() if error["type"] == "extra_forbidden"}


def test_a_json_number_means_the_decimal_that_is_written() -> None:
    asked = requests.AskIn.model_validate_json('{"sql": "SELECT 1", "epsilon": 0.1, "error": null, "confidence": 0.9}')
    assert asked.question().price == Price("0.1", confidence="0.9")
    assert asked.question().parameters == {"epsilon": "1/10", "confidence": "9/10"}


def test_an_error_may_be_one_number_or_one_for_each_column() -> None:
    one = requests.AskIn(sql="SELECT 1", error=25).question()
    each = requests.AskIn(sql="SELECT 1", error={"n": 2.5, "m": "1/3"}).question()
    assert one.parameters["error"] == "25"
    assert each.parameters["error"] == {"n": "5/2", "m": "1/3"}


def test_several_texts_keep_their_order() -> None:
    asked = requests.WorkloadAskIn.model_validate({"sqls": ["SELECT 2", "SELECT 1"], "rho": "1/2"}).question(rows=7)
    assert (asked.sqls, asked.price, asked.rows) == (("SELECT 2", "SELECT 1"), Price(rho="1/2", confidence="0.95"), 7)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert requests.TokenIn.model_validate_json('{"days": 30.0}').days == 30
    for wrong in ("30.5", "0", "3661", '"30"', "true", "1e400"):
        with pytest.raises(ValidationError):
            requests.TokenIn.model_validate_json(f'{{"days": {wrong}}}')


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (requests.AskIn, {"sql": ""}),
        (requests.AskIn, {"sql": "x" * 40_001}),
        (requests.AskIn, {"sql": 3}),
        (requests.AskIn, {"sql": "x", "epsilon": True}),
        (requests.AskIn, {"sql": "x", "epsilon": "9" * 401}),
        (requests.AskIn, {"sql": "x", "key": "k" * 101}),
        (requests.AskIn, {"sql": "x", "error": {}}),
        (requests.WorkloadAskIn, {"sqls": []}),
        (requests.ReasonIn, {"reason": ""}),
        (requests.RegisterIn, {"name": "a", "tables": {}}),
        (requests.RegisterIn, {"name": "a", "tables": {"t": {"source": "t.csv"}}, "rule": "advanced"}),
        (requests.ColumnIn, {"bounds": [1]}),
        (requests.ColumnIn, {"keys": []}),
        (requests.ColumnIn, {"keys": [1.5]}),
        (requests.ColumnIn, {"nullable": 1}),
        (requests.TableIn, {"source": "t.csv", "max_rows": 0}),
    ],
)
def test_what_does_not_fit_is_refused(model: type[BaseModel], body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(body)
