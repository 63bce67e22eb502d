"""Models from tables as JSON text: released numbers and public facts, and nothing else.

Promise: what is read back predicts the same. Reading executes nothing; what is no such text is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.exact import number
from discreet.learning.estimator import read_classes
from discreet.learning.models.histogram_tree import HistogramTree, Node
from discreet.learning.models.linear import LinearRegression
from discreet.learning.models.naive_bayes import CategoricalNB
from discreet.learning.preprocessing.columns import Categorical, Column, Numeric, read_columns
from discreet.privacy.promises.measures import GDP

VERSION = 1
TableModel: TypeAlias = LinearRegression | CategoricalNB | HistogramTree


def to_json(model: TableModel) -> str:
    """A model that ``session.learn`` made.

    >>> model = CategoricalNB(budget=GDP(1), columns=[Categorical(["a", "b"])], classes=["no", "yes"])
    >>> _ = model.fit_released(np.array([4.0, 5.0, 4.0, 0.0, 0.0, 1.0, 4.0, 0.0]), 1.0)
    >>> from_json(to_json(model)).predict([["a"], ["b"]]).tolist()
    ['no', 'yes']
    """
    given: object = model
    match given:
        case LinearRegression():
            body: dict[str, Any] = {"bounds": _pairs(given.bounds), "target_bounds": _pairs([given.target_bounds])[0]}
            body |= _released(given)
        case CategoricalNB():
            body = _public(given) | _released(given)
        case HistogramTree():
            body = _public(given) | {"depth": given.depth, "nodes": [_node(one) for one in given.nodes_]}
        case _:
            raise BadParameter("model", type(model).__name__, "must be one that session.learn made")
    return json.dumps({"discreet_model": VERSION, "kind": type(model).__name__} | body, separators=(",", ":"))


def from_json(text: str) -> TableModel:
    """The model that ``to_json`` wrote."""
    try:
        body = json.loads(text)
        if body["discreet_model"] != VERSION:
            raise ValueError("another version")
        return _READ[body["kind"]](body)
    except (KeyError, TypeError, ValueError, RecursionError, IndexError, OverflowError, BadParameter):
        raise BadData("this is no model that to_json wrote, or one of another version") from None


# --- writing ----------------------------------------------------------------------------------------------------------


def _released(model: LinearRegression | CategoricalNB) -> dict[str, Any]:
    made_of = getattr(model, "made_of_", None)
    if made_of is None:
        raise BadParameter("model", type(model).__name__, "must be one that session.learn made")
    numbers, sigma = made_of
    return {"released": numbers.tolist(), "sigma": sigma}


def _public(model: CategoricalNB | HistogramTree) -> dict[str, Any]:
    columns = model.columns_  # with as many bins as the budget chose
    return {"columns": [_column(one) for one in columns], "classes": model.classes_.tolist()}


def _column(column: Column) -> dict[str, Any]:
    if isinstance(column, Categorical):
        return {"values": column.values if isinstance(column.values, int) else list(column.values)}
    ends = {"low": str(number(column.low)), "high": str(number(column.high)), "bins": column.bins}
    edges = None if column.edges is None else [str(number(e)) for e in column.edges]
    return ends | {"edges": edges} | ({"missing": True} if column.missing else {})


def _pairs(bounds: Any) -> list[list[str]]:
    return [[str(number(end)) for end in pair] for pair in bounds]


def _node(node: Node) -> dict[str, Any]:
    return {
        "path": [[column, chosen.tolist()] for column, chosen in node.path],
        "counts": [table.tolist() for table in node.counts],
        "weight": node.weight,
        "column": node.column,
        "first": node.first.tolist(),
        "children": list(node.children),
    }


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_linear(body: Mapping[str, Any]) -> LinearRegression:
    bounds = [tuple(map(number, pair)) for pair in body["bounds"]]
    model = LinearRegression(budget=GDP(1), bounds=bounds, target_bounds=tuple(map(number, body["target_bounds"])))
    size = len(bounds) + 2
    return model.fit_released(_array(body["released"], (size, size)), _positive(body["sigma"]))


def _read_bayes(body: Mapping[str, Any]) -> CategoricalNB:
    columns, classes = _read_columns(body["columns"]), body["classes"]
    model = CategoricalNB(budget=GDP(1), columns=columns, classes=classes)
    size = len(read_classes(classes)) * (1 + sum(column.size for column in read_columns(columns, Fraction(1))))
    return model.fit_released(_array(body["released"], (size,)), _positive(body["sigma"]))


def _read_tree(body: Mapping[str, Any]) -> HistogramTree:
    columns, classes = _read_columns(body["columns"]), body["classes"]
    model = HistogramTree(budget=GDP(1), columns=columns, classes=classes, depth=body["depth"])
    shapes = [(column.size, len(read_classes(classes))) for column in read_columns(columns, Fraction(1))]
    return model.fit_nodes([_read_node(one, shapes, i, len(body["nodes"])) for i, one in enumerate(body["nodes"])])


def _read_columns(columns: Sequence[Mapping[str, Any]]) -> list[Column]:
    found: list[Column] = []
    for one in columns:
        if "values" in one:
            found.append(Categorical(one["values"]))
        else:
            edges = None if one["edges"] is None else [number(e) for e in one["edges"]]
            ends = number(one["low"]), number(one["high"])
            found.append(Numeric(*ends, bins=one["bins"], edges=edges, missing=one.get("missing") is True))
    return found


def _read_node(one: Mapping[str, Any], shapes: Sequence[tuple[int, int]], at: int, nodes: int) -> Node:
    """A node, which children follow; all arrays have the shapes of its columns."""
    first, second = map(int, one["children"])
    column = int(one["column"])
    if column >= 0 and not (at < first < nodes and at < second < nodes):
        raise ValueError("children come after their parents")
    if len(one["counts"]) != len(shapes):
        raise ValueError("each column has its counts")
    return Node(
        path=tuple((int(c), _chosen(chosen, shapes[int(c)][0])) for c, chosen in one["path"]),
        counts=[_array(table, shape) for table, shape in zip(one["counts"], shapes, strict=True)],
        weight=_positive(one["weight"]),
        column=column,
        first=_chosen(one["first"], shapes[column][0] if column >= 0 else 0),
        children=(first, second),
    )


def _array(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError("an array has another shape, or numbers that are not finite")
    return array


def _chosen(values: Any, size: int) -> NDArray[np.bool_]:
    if len(values) != size or not all(isinstance(value, bool) for value in values):
        raise ValueError("bins are chosen or not, each")
    return np.array(values, dtype=np.bool_)


def _positive(value: Any) -> float:
    if not 0 < (size := float(value)) < float("inf"):
        raise ValueError("must be positive and finite")
    return size


_READ: dict[str, Callable[[Mapping[str, Any]], TableModel]] = {
    "LinearRegression": _read_linear, "CategoricalNB": _read_bayes, "HistogramTree": _read_tree,
}  # fmt: skip
