"""Models of tables as text: what is read back predicts the same; anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.learning import (
    Categorical,
    CategoricalNB,
    HistogramTree,
    KMeans,
    LinearRegression,
    Numeric,
    from_json,
    to_json,
)
from discreet.privacy.promises.measures import GDP

COLUMNS: list[Any] = [Numeric(0, 10, edges=["1/3", 5], missing=True), Categorical(["a", "b"])]
ROWS = [[i % 10, "ab"[i % 2]] for i in range(600)]
LABELS = ["yes" if i % 10 > 4 else "no" for i in range(600)]


def models() -> list[Any]:
    line: Any = LinearRegression(budget=GDP(1), bounds=[(0, 1)], target_bounds=("1/3", 2))
    line.fit_released(np.array([[100.0, 3, 5], [3, 40, 20], [5, 20, 30]]), 1.5)
    bayes: Any = CategoricalNB(budget=GDP(1), columns=COLUMNS, classes=["no", "yes"])
    bayes.fit_released(np.arange(2.0 + 2 * (4 + 3)), 2.0)
    return [line, bayes, HistogramTree(columns=COLUMNS, classes=["no", "yes"], budget=GDP(9)).fit(ROWS, LABELS)]


@pytest.mark.parametrize("place", range(3))
def test_what_is_read_back_predicts_the_same(place: int) -> None:
    model = models()[place]
    again = from_json(to_json(model))
    assert type(again) is type(model)
    rows: Any = [[0.2], [0.9]] if place == 0 else ROWS[:40]
    assert np.array_equal(model.predict(rows), again.predict(rows))
    if isinstance(model, LinearRegression) and isinstance(again, LinearRegression):
        assert np.array_equal(model.predict_interval(rows), again.predict_interval(rows))
    assert to_json(again) == to_json(model)


def test_bins_that_the_budget_chose_are_kept() -> None:
    """With little budget there are 16 bins, with more 32; what is read back has those of the model."""
    for budget, bins in ((GDP("1/50"), 16), (GDP(1), 32)):
        model = HistogramTree(columns=[Numeric(0, 10)], classes=["no", "yes"], budget=budget, depth=0)
        model.fit([row[:1] for row in ROWS], LABELS)
        assert len(model.nodes_[0].counts[0]) == bins
        again = from_json(to_json(model))
        assert np.array_equal(model.predict([[1], [9]]), again.predict([[1], [9]]))


def test_only_models_of_tables_are_written() -> None:
    fitted = CategoricalNB(columns=COLUMNS, classes=["no", "yes"], budget=GDP(1)).fit(ROWS, LABELS)
    for model in (KMeans(budget=GDP(1)), fitted):
        with pytest.raises(BadParameter, match=r"session\.learn"):
            to_json(model)  # type: ignore[arg-type]


def test_anything_else_is_refused() -> None:
    good = json.loads(to_json(models()[2]))
    wrong: list[Any] = [
        "", "[]", "{}", "3", "{", "[" * 100_000, json.dumps(good | {"discreet_model": 2}),
        json.dumps(good | {"kind": "os.system"}), json.dumps(good | {"nodes": 3}), json.dumps(good | {"columns": []}),
        json.dumps({k: v for k, v in good.items() if k != "classes"}),
    ]  # fmt: skip
    for text in wrong:
        with pytest.raises(BadData, match="no model"):
            from_json(text)


def changed(place: int, path: list[Any], value: Any) -> str:
    """The text of a model in which one thing is another."""
    body = json.loads(to_json(models()[place]))
    at = body
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return json.dumps(body)


FALSE: list[tuple[int, list[Any], Any]] = [
    (0, ["bounds", 0, 0], "1e999999999"),  # did not end
    (0, ["target_bounds", 1], "1e999999999"),
    (1, ["columns", 0, "high"], "1e999999999"),
    (1, ["columns", 0, "edges", 0], "1e999999999"),
    (0, ["released", 0, 0], float("nan")),
    (0, ["sigma"], float("inf")),
    (0, ["sigma"], 0),
    (0, ["released"], [[1.0, 2.0], [3.0, 4.0]]),
    (1, ["released", 3], float("nan")),
    (1, ["released"], [1.0, 2.0, 3.0]),  # was read, and failed in predict
    (1, ["released"], list(range(15))),
    (2, ["nodes", 0, "counts", 0], [[1.0, 2.0]]),
    (2, ["nodes", 0, "counts"], []),
    (2, ["nodes", 0, "first"], [True]),
    (2, ["nodes", 0, "first", 0], 1),
    (2, ["nodes", 0, "column"], 5),
    (2, ["nodes", 0, "children"], [0, 1]),
    (2, ["nodes", 0, "children"], [1, 1000]),
    (2, ["nodes", -1, "weight"], float("nan")),
    (2, ["nodes"], []),
]


@pytest.mark.parametrize(("place", "path", "value"), FALSE)
def test_a_model_that_could_not_predict_is_refused(place: int, path: list[Any], value: Any) -> None:
    assert from_json(changed(place, ["discreet_model"], 1)) is not None  # without the change it is read
    with pytest.raises(BadData, match="no model"):
        from_json(changed(place, path, value))
