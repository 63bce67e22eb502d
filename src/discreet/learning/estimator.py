"""What all estimators share: scikit-learn's conventions, checked input, one payment for one fit.

Guarantee: ``event`` follows from the parameters alone. ``fit`` checks parameters and the shape of the data first, then
redeems the receipt if there is one, and only then draws noise. Public bounds are required; none is read from the data.
scikit-learn itself is not needed: the conventions are (parameters are stored as given, ``fit`` returns the estimator,
what was learned ends in an underscore). Its tags are handed over when scikit-learn asks for them.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import BadData, BadParameter, DiscreetError
from discreet.exact import Number, number
from discreet.learning.budget import Budget, event_of
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt

WIDEST = 1 << 13
"""The most columns: squared lengths of integer rows of 20 bits then fit into a double."""
_NARROWEST = 1e-70


class NotFitted(DiscreetError, ValueError, AttributeError):
    """The estimator has learned nothing yet; call ``fit`` first."""


class Estimator:
    """``get_params``, ``set_params``, ``event`` and the checks that every ``fit`` makes."""

    kind: ClassVar[str] = "estimator"
    """For scikit-learn: classifier, regressor, clusterer or transformer."""
    needs_target: ClassVar[bool] = False

    budget: Budget
    n_features_in_: int

    # --- parameters -------------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as they were given."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; nothing is checked before ``fit``."""
        for name, value in params.items():
            if name not in self._names():
                raise BadParameter(name, value, f"must be one of {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=self.kind if self.kind in {"classifier", "regressor", "clusterer"} else None,
            target_tags=TargetTags(required=self.needs_target),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags(poor_score=True) if self.kind == "classifier" else None,
            regressor_tags=RegressorTags(poor_score=True) if self.kind == "regressor" else None,
            input_tags=InputTags(allow_nan=True),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    # --- price ------------------------------------------------------------------------------------------------------

    @property
    def event(self) -> events.Gaussian:
        """What one fit writes into the ledger: known before any data is. Pay it with ``Filter.spend``."""
        return event_of(self.budget)

    def _pay(self, receipt: Receipt | None) -> None:
        if receipt is not None:
            check_receipt(receipt).redeem(self.event)

    # --- input ------------------------------------------------------------------------------------------------------

    def _rows_to_fit(self, data: Any) -> Floats:
        rows = read_rows(data)
        if len(rows) < 1:
            raise BadData(f"Found array with {len(rows)} sample(s), but {type(self).__name__} needs a minimum of 1")
        return rows

    def _rows_to_use(self, data: Any) -> Floats:
        self._check_fitted()
        rows = read_rows(data)
        if rows.shape[1] != self.n_features_in_:
            raise BadData(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return rows

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet; call fit first")


def _not_fitted() -> type[NotFitted]:
    """Our error, which is also scikit-learn's where that is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return NotFitted if theirs is None else type("NotFitted", (NotFitted, theirs), {})


def read_rows(data: Any) -> Floats:
    """Rows as doubles; NaN where a value is missing or no number. ``BadData`` is about their shape alone."""
    if hasattr(data, "toarray"):
        raise BadData("sparse rows are not taken here: pass a dense array, data.toarray()")
    if getattr(getattr(data, "dtype", None), "kind", "") == "c":
        raise BadData("Complex data not supported: X must hold real numbers")
    rows = numbers(data, axes=2)
    if rows.ndim != 2:
        raise BadData(f"X must be a 2D array, and it has {rows.ndim}. Reshape your data: one row for each sample")
    if not 1 <= rows.shape[1] <= WIDEST:
        shape = f"{rows.shape[1]} feature(s) (shape={rows.shape})"
        raise BadData(f"Found array with {shape} while a minimum of 1 is required, and a maximum of {WIDEST}")
    return rows


def numbers(values: Any, axes: int = 1) -> Floats:
    """An array of doubles of the same shape; what is no number is NaN, so that no value makes a fit fail.

    >>> numbers([[1, "2.5"], [None, "x"]], axes=2).tolist()
    [[1.0, 2.5], [nan, nan]]
    """
    columns = frame_columns(values)
    if columns is not None and axes > 1:
        return np.stack([numbers(column) for column in columns], axis=1) if columns else np.zeros((len(values), 0))
    given = as_given(values, axes)
    if given.dtype.kind in "biuf":
        return given.astype(np.float64)
    return np.array([_number(value) for value in given.ravel().tolist()], dtype=np.float64).reshape(given.shape)


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # whatever a value raises: no row decides whether a fit fails
        return math.nan


def read_target(values: Any, rows: int) -> Floats:
    """Numbers, one for each row; NaN where there is none."""
    if values is None:
        raise BadData("requires y to be passed, but the target y is None")
    target = numbers(values)
    if target.ndim != 1:
        raise BadData("y must be 1D")
    if len(target) != rows:
        raise BadData("X and y must have as many rows as each other")
    return target


def read_classes(classes: Sequence[Any] | None) -> NDArray[Any]:
    """The public list of labels, at least two, in ascending order."""
    must = "must be the public list of labels, such as classes=[0, 1]"
    if classes is None:
        raise BadParameter("classes", None, must)
    try:
        listed = np.unique(np.asarray(list(classes)))
    except TypeError:
        raise BadParameter("classes", classes, must) from None
    if len(listed) < 2 or len(listed) != len(list(classes)):
        raise BadParameter("classes", classes, "must hold at least two labels, each once")
    return listed


Row = TypeVar("Row", bound=np.generic)


def read_labels(rows: NDArray[Row], labels: Any, classes: NDArray[Any]) -> tuple[NDArray[Row], Integers]:
    """The rows whose label is one of the classes, and each label's place among them; other rows are left out.

    >>> rows, places = read_labels(np.array([[1], [2], [3]]), ["b", "x", "a"], np.array(["a", "b"]))
    >>> rows.tolist(), places.tolist()
    ([[1], [3]], [1, 0])
    """
    if labels is None:
        raise BadData("requires y to be passed, but the target y is None")
    given = as_given(labels)
    if given.ndim != 1 or len(given) != len(rows):
        raise BadData("y must be a flat array with one label for each row of X")
    listed = {label: place for place, label in enumerate(classes.tolist())}
    places = np.array([_place(listed, label) for label in given.tolist()], dtype=np.int64)
    return rows[places >= 0], places[places >= 0]


def _place(listed: Mapping[Any, int], label: Any) -> int:
    try:
        return listed.get(label, -1)
    except Exception:  # a list, say: no label that could have been declared
        return -1


def as_given(values: Any, axes: int = 1) -> NDArray[Any]:
    """An array in which no value depends on the others: a list keeps each value as it is; of two axes, a list of rows.

    numpy would turn all numbers of a list into text for one text among them, so that one row would change all; and for
    values that are lists themselves it would add an axis, unless one of them is not.

    >>> as_given([1, 2.5, "x"]).tolist(), as_given(np.array([1, 2])).dtype.kind
    ([1, 2.5, 'x'], 'i')
    >>> as_given([[1], [2]]).shape, as_given([[1], [2]], axes=2).shape
    ((2,), (2, 1))
    """
    columns = frame_columns(values)
    if columns is not None:
        made = np.empty((len(values), len(columns)), dtype=object)
        for place, column in enumerate(columns):
            made[:, place] = _flat(_column(column).tolist())
        return made
    if hasattr(values, "dtype") or hasattr(values, "__array__"):
        return _column(values)
    if not _is_list(values):
        raise BadData("rows must be of one length, and labels a flat list")
    if axes == 1:
        return _flat(values)
    if not all(map(_is_list, values)):
        return _flat(values)  # no rows: it has one axis
    if len({len(row) for row in values}) > 1:
        raise BadData("rows must be of one length, and labels a flat list")
    width = len(values[0]) if len(values) else 0
    return _flat([value for row in values for value in row]).reshape(len(values), width)


def _is_list(values: Any) -> bool:
    if hasattr(values, "__array__"):
        return np.ndim(values) > 0
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


def _flat(values: Sequence[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


def frame_columns(values: Any) -> list[Any] | None:
    """The columns of a table of pandas, polars or Arrow; None of anything else.

    Each is read by itself: numpy looks for one type that holds all of them, which missing values change, or do not let
    it find.
    """
    if hasattr(values, "iloc"):
        return [values.iloc[:, j] for j in range(values.shape[1])] if values.ndim > 1 else None
    if hasattr(values, "get_columns"):
        return list(values.get_columns())
    return list(values.columns) if hasattr(values, "column_names") else None


def _column(column: Any) -> NDArray[Any]:
    """A column whose library may have types of its own: of whole numbers with one missing, numpy would make doubles."""
    kind = str(getattr(column, "type", None) or getattr(column, "dtype", "")).lower()
    ways = [getattr(column, name, None) for name in ("to_pylist", "to_list", "tolist")]
    listed = next((way for way in ways if way is not None), None)
    if listed is None or isinstance(getattr(column, "dtype", None), np.dtype):
        return np.asarray(column)
    whole = kind.startswith(("int", "uint"))
    if kind.startswith(_OF_SOME_KIND) or (whole and ("128" in kind or _has_missing(column))):
        return _flat(listed())
    return np.asarray(column)


_OF_SOME_KIND = ("category", "categorical", "dictionary", "run_end")
"""What holds values of whole numbers or of anything else, each once."""


def _has_missing(column: Any) -> bool:
    many = getattr(column, "null_count", None)
    if many is None:
        return bool(column.isna().any())
    return bool(many() if callable(many) else many)


Bounds = Any
"""A pair (low, high) for all columns, or one pair for each."""


def read_bounds(bounds: Bounds, columns: int, name: str = "bounds") -> tuple[Floats, Floats]:
    """Middle and half width of each column's public range.

    >>> read_bounds((0, 10), 2)
    (array([5., 5.]), array([5., 5.]))
    """
    must = f"must be a pair (low, high) that is public, or a list of {columns} such pairs; never take it from the data"
    if bounds is None:
        raise BadParameter(name, None, must)
    try:
        listed = list(bounds)
        pairs = [listed] * columns if len(listed) == 2 and not _is_pair(listed[0]) else [list(p) for p in listed]
        exact = [(_end(low), _end(high)) for low, high in pairs]
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(name, bounds, must) from None
    if len(exact) != columns or not all(low < high for low, high in exact):
        raise BadParameter(name, bounds, must)
    low, high = np.array(exact, dtype=np.float64).T
    with np.errstate(over="ignore"):
        middle, half = (low + high) / 2, (high - low) / 2
    if not (np.isfinite(middle) & np.isfinite(half) & (half > 0)).all():  # scaled() would make NaN of some values
        raise BadParameter(name, bounds, "must be so far apart, and so small, that doubles hold middle and half width")
    return middle, half


def check_widths(half: Floats, name: str) -> None:
    """Refuse ranges so wide or so narrow that squares of errors would leave the doubles after the payment."""
    if not ((half > _NARROWEST) & (half < 1 / _NARROWEST)).all():
        raise BadParameter(name, half.tolist(), "must be neither so far apart nor so near that squares are no doubles")


def _is_pair(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)


def _end(value: Number) -> float:
    return float(number(value, "bounds"))


def scaled(rows: Floats, middle: Floats, half: Floats) -> Floats:
    """Each column's public range mapped to [-1, 1]; values beyond it are moved to its ends, and NaN to its middle."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.clip((rows - middle) / half, -1.0, 1.0), nan=0.0)
