"""Conventions of scikit-learn, bad input, payment: the same for every estimator."""

import warnings
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from discreet.errors import BadData, BadParameter, DiscreetError, ReceiptRefused
from discreet.learning import (
    PCA,
    Categorical,
    CategoricalNB,
    GaussianNB,
    HistogramTree,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Numeric,
    QuantileBinner,
    StandardScaler,
    TabularClassifier,
    TabularRegressor,
    oracle,
)
from discreet.learning.estimator import NotFitted, as_given, read_bounds, read_labels, read_rows, read_target
from discreet.learning.preprocessing.columns import codes_of
from discreet.learning.unit_weights import unit_weights
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import GDP, Approx, Pure

BUDGET = Approx(1, "1e-5")
COLUMNS = [Numeric(0, 1), Numeric(0, 1)]
ALL: list[Any] = [
    LinearRegression(bounds=(0, 1), target_bounds=(0, 1), budget=BUDGET),
    LogisticRegression(bounds=(0, 1), classes=[0, 1], budget=BUDGET),
    TabularClassifier(columns=COLUMNS, classes=[0, 1], budget=BUDGET),
    TabularRegressor(columns=COLUMNS, target_bounds=(0, 1), budget=BUDGET),
    GaussianNB(bounds=(0, 1), classes=[0, 1], budget=BUDGET),
    CategoricalNB(columns=COLUMNS, classes=[0, 1], budget=BUDGET),
    HistogramTree(columns=COLUMNS, classes=[0, 1], budget=BUDGET),
    KMeans(n_clusters=2, bounds=(0, 1), budget=BUDGET),
    PCA(n_components=1, bounds=(0, 1), budget=BUDGET),
    StandardScaler(bounds=(0, 1), budget=BUDGET),
    QuantileBinner(n_bins=4, bounds=(0, 1), budget=BUDGET),
]
every = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
RNG = np.random.default_rng(7)
X = RNG.uniform(size=(300, 2))
Y = (X[:, 0] > 0.5).astype(int)


@every
def test_parameters_and_clones(model: Any) -> None:
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "n_features_in_")
    assert type(model).__name__ in repr(model)
    assert copy.set_params(budget=GDP(1)).budget == GDP(1)
    with pytest.raises(BadParameter):
        copy.set_params(nonsense=1)


@every
def test_one_payment_is_one_fit(model: Any) -> None:
    ledger = Filter(GDP(1))
    mine = clone(model).set_params(budget=GDP("1/2"))
    receipt = ledger.spend(mine.event)
    assert mine.fit(X, Y, receipt=receipt) is mine
    with pytest.raises(ReceiptRefused):
        mine.fit(X, Y, receipt=receipt)
    with pytest.raises(ReceiptRefused):
        mine.set_params(budget=GDP("1/3")).fit(
            X, Y, receipt=ledger.spend(clone(model).set_params(budget=GDP("1/2")).event)
        )


@every
@pytest.mark.parametrize(
    "rows",
    [np.zeros((0, 2)), np.zeros(5), np.zeros((5, 3), dtype=complex)],
    ids=["none", "flat", "complex"],
)
def test_bad_rows_are_refused_before_the_receipt_is_used(model: Any, rows: Any) -> None:
    mine = clone(model).set_params(budget=GDP(1))
    receipt = Filter(GDP(1)).spend(mine.event)
    with pytest.raises(BadData) as told:
        mine.fit(rows, np.zeros(len(rows)), receipt=receipt)
    assert not receipt.used
    assert "nan" not in str(told.value)


@every
def test_public_facts_are_required(model: Any) -> None:
    for name in ("bounds", "columns", "classes", "target_bounds"):
        if name in model.get_params():
            with pytest.raises(BadParameter, match=name):
                clone(model).set_params(**{name: None}).fit(X, Y)
    for budget in (Pure(1), Approx(0, "1e-5"), None):
        with pytest.raises(BadParameter, match="budget"):
            clone(model).set_params(budget=budget).fit(X, Y)


@every
def test_nothing_is_known_before_fit(model: Any) -> None:
    fresh = clone(model)
    use = fresh.transform if hasattr(fresh, "transform") else fresh.predict
    with pytest.raises(NotFitted):
        use(X)


@every
def test_outliers_change_no_shape_and_no_error(model: Any) -> None:
    far = np.vstack([X, [[1e300, -1e300]]])
    clone(model).fit(far, np.append(Y, 1))


@every
def test_rows_of_one_person_count_once_together(model: Any) -> None:
    """Each person five times: what is learned has the same size as from one row each, and far more without units."""
    size = next(
        (
            name
            for name in ("n_rows_", "class_count_", "cluster_sizes_")
            if hasattr(type(model), name)
            or name in {n for c in type(model).__mro__ for n in getattr(c, "__annotations__", {})}
        ),
        None,
    )
    rows, target, people = np.repeat(X, 5, axis=0), np.repeat(Y, 5), np.repeat(np.arange(len(X)), 5)
    quiet = clone(model).set_params(budget=GDP(10**4))
    mine = clone(quiet).fit(rows, target, unit=people)
    assert mine.__sklearn_is_fitted__()
    if size is not None:
        assert float(np.sum(getattr(mine, size))) == pytest.approx(len(X), rel=0.3)
        assert float(np.sum(getattr(clone(quiet).fit(rows, target), size))) > 3 * len(X)


@every
def test_units_of_another_length_are_refused_before_the_receipt_is_used(model: Any) -> None:
    mine = clone(model).set_params(budget=GDP(1))
    receipt = Filter(GDP(1)).spend(mine.event)
    with pytest.raises(BadData, match="person of each row"):
        mine.fit(X, Y, unit=[1, 2], receipt=receipt)
    assert not receipt.used


@every
def test_a_guarantee_and_an_error_note(model: Any) -> None:
    assert "Guarantee: " in str(type(model).__doc__)
    notes = [name for name in vars(clone(model).fit(X, Y)) if name.endswith("_error_")]
    assert notes


ODD: list[Any] = [float("nan"), float("inf"), -float("inf"), None, "x", 10**400, [1], 1 + 2j]


@every
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_value_of_one_row_makes_a_fit_fail(model: Any, odd: Any) -> None:
    """An error here told that somebody has such a value; it is missing, or at the end of its range."""
    rows: Any = np.empty((len(X) + 1, 2), dtype=object)
    rows[:-1], rows[-1, 0], rows[-1, 1] = X, odd, 0.0
    target = np.append(Y, 1).astype(object)
    mine = clone(model).set_params(budget=GDP(1))
    mine.fit(rows, target, receipt=Filter(GDP(1)).spend(mine.event))
    if not isinstance(odd, list):
        target[-1] = odd
        clone(model).fit(rows.tolist(), target.tolist())


def test_a_row_with_a_label_outside_the_classes_is_left_out() -> None:
    classifiers = [m for m in ALL if m.kind == "classifier"]
    assert len(classifiers) == 5
    for model in classifiers:
        for label in (5, "x", None, float("nan")):
            labels = Y.astype(object)
            labels[0] = label
            clone(model).set_params(budget=GDP(1)).fit(X, labels)
    rows, places = read_labels(np.arange(3), [1, "x", 0], np.array([0, 1]))
    assert (rows.tolist(), places.tolist()) == ([0, 2], [1, 0])


@pytest.mark.parametrize("bad", [(1, 0), [(0, 1)], [(0, 1)] * 3, "ab", 5, [(0, float("nan"))] * 2])
def test_bad_bounds_are_refused(bad: Any) -> None:
    with pytest.raises(DiscreetError):
        read_bounds(bad, 2)


def test_pipelines_and_cross_validation_run() -> None:
    pipe = make_pipeline(
        StandardScaler(bounds=(0, 1), budget=BUDGET), LogisticRegression(bounds=(-3, 3), classes=[0, 1], budget=BUDGET)
    )
    assert pipe.fit(X, Y).predict(X).shape == (300,)
    assert (
        cross_val_score(GaussianNB(bounds=(0, 1), classes=[0, 1], budget=Approx(20, "1e-5")), X, Y, cv=3).mean() > 0.6
    )


# Checks that make no sense for private estimators.
NOT_OURS = {
    "check_dtype_object": "text is refused in our own words",
    "check_supervised_y_2d": "y must be flat",
    "check_supervised_y_no_nan": "an error about one target would tell of a person: it counts as missing",
    "check_fit_idempotent": "each fit draws fresh noise",
    "check_classifier_data_not_an_array": "each fit draws fresh noise",
    "check_regressor_data_not_an_array": "each fit draws fresh noise",
    "check_transformer_data_not_an_array": "each fit draws fresh noise",
    "check_transformer_general": "each fit draws fresh noise",
    "check_regressors_int": "each fit draws fresh noise",
    "check_clustering": "noise outweighs so few rows",
    "check_classifiers_train": "noise outweighs so few rows",
    "check_classifiers_classes": "classes are declared",
    "check_classifiers_one_label": "classes are declared",
    "check_classifiers_regression_target": "classes are declared",
    "check_decision_proba_consistency": "more classes are declared than the check has labels",
    "check_estimator_sparse_array": "sparse rows are refused",
    "check_estimator_sparse_matrix": "sparse rows are refused",
}


IN_OTHER_WORDS = {
    "check_n_features_in_after_fitting": "the message says how many columns are declared",
    "check_estimators_empty_data_messages": "the message says how many columns are declared",
}


class AnyWidth:
    """As many columns as the rows have, since the checks use rows of many widths; elsewhere they are declared."""

    def __init__(self, *, budget: Any, classes: Any) -> None:
        self.budget, self.classes = budget, classes

    @property
    def columns(self) -> list[Any]:
        return [Numeric(-100, 100, bins=4)] * self._width  # few: the checks fit a hundred models

    def fit(self, rows: Any, y: Any = None) -> Any:
        shape = rows.shape if hasattr(rows, "shape") else np.asarray(rows).shape
        self._width = max(1, shape[1]) if len(shape) == 2 else 1
        return super().fit(rows, y)  # type: ignore[misc]


class WideTabularClassifier(AnyWidth, TabularClassifier): ...  # type: ignore[misc]


class WideTabularRegressor(AnyWidth, TabularRegressor):  # type: ignore[misc]
    target_bounds = (-1000, 1000)


class WideCategoricalNB(AnyWidth, CategoricalNB): ...  # type: ignore[misc]


class WideHistogramTree(AnyWidth, HistogramTree):  # type: ignore[misc]
    depth = 1


WIDE: dict[str, Any] = {"bounds": (-100, 100), "target_bounds": (-1000, 1000), "classes": range(-2, 5)}
ANY_WIDTH: list[Any] = [
    made(budget=BUDGET, classes=WIDE["classes"])
    for made in (WideTabularClassifier, WideTabularRegressor, WideCategoricalNB, WideHistogramTree)
]


def failures(model: Any, listed: dict[str, str]) -> dict[str, str]:
    """The checks that fail and are not listed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=listed, on_fail=None)
    assert sum(r["status"] == "passed" for r in results) >= 30
    return {r["check_name"]: str(r["exception"])[:100] for r in results if r["status"] == "failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [*(m for m in ALL if not hasattr(m, "columns")), *ANY_WIDTH], ids=lambda m: type(m).__name__
)
def test_scikit_learns_own_checks(model: Any) -> None:
    """On scikit-learn 1.9 from 36 to 44 pass."""
    wide = {name: value for name, value in WIDE.items() if name in model.get_params()}
    listed = NOT_OURS | (IN_OTHER_WORDS if isinstance(model, AnyWidth) else {})
    assert not failures(clone(model).set_params(**wide), listed)


class Forgetful(LinearRegression):
    """The planted fault: it does not say that it is not fitted."""

    def _check_fitted(self) -> None: ...


def test_a_new_failure_of_those_checks_is_seen() -> None:
    assert failures(Forgetful(bounds=(-100, 100), target_bounds=(-1000, 1000), budget=BUDGET), NOT_OURS)


@pytest.mark.parametrize("bounds", [(-1e308, 1.7e308), (0, 5e-324), (1e308, 1.5e308), (0, 10**400)])
def test_bounds_between_which_values_cannot_be_scaled_are_refused(bounds: tuple[Any, Any]) -> None:
    """NaN came of them, and of that a sum of -2^63, which one row moved by far more than was paid for."""
    with pytest.raises(BadParameter, match="bounds"):
        read_bounds(bounds, 1)


def test_numbers_that_no_double_holds_are_missing() -> None:
    assert np.isnan(read_rows([[10**400]])).all()
    assert np.isnan(read_target([10**400], 1)).all()


def test_a_label_of_another_type_changes_no_other() -> None:
    classes = np.array([2**53, 2**53 + 1])
    for more in ([], ["x"]):
        labels = [2**53 + 1, float(2**53), *more]
        assert read_labels(np.zeros(len(labels)), labels, classes)[1].tolist() == [1, 0]


EXACT = [2**53, 2**53 + 1]
"""Two people: as doubles they are one."""
COLUMN_TYPES: list[Callable[[list[Any]], Any]] = [
    pa.array,
    lambda values: pa.chunked_array([values]),
    lambda values: pa.array(values).dictionary_encode(),
    lambda values: pc.run_end_encode(pa.array(values)),
    pl.Series,
    lambda values: pl.Series(values, dtype=pl.Int128),
    lambda values: pd.Series(values, dtype="Int64"),
    lambda values: pd.array(values, dtype="Int64"),
    lambda values: pd.Index(values, dtype="Int64"),
    lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    lambda values: pd.Series(values, dtype=object).astype("category"),
]


@pytest.mark.parametrize("make", COLUMN_TYPES)
def test_a_missing_number_of_a_column_leaves_the_others_as_they_are(make: Callable[[list[Any]], Any]) -> None:
    """numpy would make doubles of all, in which these two people are one; or it knows no integers so long."""
    column, more = make(EXACT), make([*EXACT, None])
    assert as_given(column).tolist() == as_given(more).tolist()[:2] == EXACT
    classes, rows = np.array(EXACT), np.zeros((3, 1))
    assert read_labels(rows[:2], column, classes)[1].tolist() == read_labels(rows, more, classes)[1].tolist() == [0, 1]
    assert unit_weights(column, 2).values.tolist() == unit_weights(more, 3).values.tolist()[:2] == [1024, 1024]


def nullable_pandas(columns: dict[str, Any]) -> pd.DataFrame:
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


FRAME: dict[str, list[Any]] = {
    "n": EXACT,
    "yes": [True, False],
    "at": [datetime(2025, 1, 2), None],
    "day": [date(2025, 1, 2), None],
}


@pytest.mark.parametrize("missing", ["nothing", *FRAME])
@pytest.mark.parametrize("names", [["n", "yes"], ["at", "yes"], ["n", "day"], ["n", "at"], ["day", "at"], ["yes"]])
@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, nullable_pandas])
def test_a_missing_value_of_a_frame_decides_nothing_about_others(
    make: Callable[[Any], Any], names: list[str], missing: str
) -> None:
    """numpy looks for one type for all columns: with a NULL among them it may find one, or none."""
    further = {name: None if name == missing else values[0] for name, values in FRAME.items()}
    frames = [
        make({name: FRAME[name] for name in names}),
        make({name: [*FRAME[name], further[name]] for name in names}),
    ]
    before, after = (read_rows(frame) for frame in frames)
    np.testing.assert_array_equal(before, after[:2])
    columns = [Categorical([EXACT[1], True, date(2025, 1, 2)])] * len(names)
    codes = [codes_of(frame, columns).tolist() for frame in frames]
    assert codes[0] == codes[1][:2]
    for frame in frames:
        with pytest.raises(BadData, match="y must be 1D"):
            read_target(frame, len(frame))
    assert oracle(frames[1], budget=GDP(1), queries=1).mean(lambda row: row[0], range=(0, 1)) is not None


@pytest.mark.parametrize(
    "model",
    [
        PCA(bounds=(0, 1), budget=GDP("1e-14")),
        KMeans(n_clusters=2, bounds=(0, 1), budget=GDP("1e-14")),
        GaussianNB(bounds=(0, 1), classes=[0, 1], budget=GDP("1e-14")),
        LinearRegression(bounds=(0, 1), target_bounds=(0, 1), budget=GDP("1e-14")),
        LogisticRegression(bounds=(0, 1), classes=[0, 1], budget=GDP("1e-14")),
        TabularRegressor(columns=[Numeric(0, 1)] * 3, target_bounds=(0, 1), budget=GDP("1e-14")),
        StandardScaler(bounds=(0, 1), budget=GDP("1e-14")),
    ],
    ids=lambda model: type(model).__name__,
)
def test_noise_that_no_draw_can_hold_is_refused_before_it_is_paid(model: Any) -> None:
    receipt = Filter(GDP(1)).spend(model.event)
    with pytest.raises(BadParameter, match="64 bits"):
        model.fit(np.zeros((4, 3)), [0, 1, 0, 1], receipt=receipt)
    receipt.redeem(model.event)  # it was not used


@pytest.mark.parametrize("others", [[], [3.0]])
def test_values_that_are_lists_are_no_numbers_whatever_the_others_are(others: list[Any]) -> None:
    """numpy makes an axis of lists of one length, unless one value is none: one person decided whether a fit failed."""
    values = [[1.0], [2.0], *others]
    target = read_target(values, len(values))
    assert np.isnan(target).tolist() == [True, True, *(False for _ in others)]
    rows = read_rows([[value, 1.0] for value in values])
    assert rows.shape == (len(values), 2)
    assert np.isnan(rows[:, 0]).tolist() == [True, True, *(False for _ in others)]
    labels = read_labels(rows, [("a",), ("b",), *("a" for _ in others)], np.array(["a", "b"]))[1]
    assert labels.tolist() == [0 for _ in others]


def test_rows_of_unequal_length_and_no_rows_are_refused() -> None:
    for rows in ([[1.0, 2.0], [1.0]], [1.0, 2.0], "ab", 3.0, {1: 2}, [[1.0], None]):
        with pytest.raises(BadData):
            read_rows(rows)
