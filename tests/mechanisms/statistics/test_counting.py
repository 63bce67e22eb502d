"""Counts of public cells: sensitivities by brute force, independent draws, shares and their error bars."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.statistics.binning import Keys, count_records
from discreet.mechanisms.statistics.budget import noise_for, read_budget
from discreet.mechanisms.statistics.counting import (
    attribute_counts,
    attribute_means,
    attribute_moves,
    disjoint_moves,
    histogram,
    point_queries,
)
from discreet.mechanisms.statistics.marginals import marginals
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.helpers.databases import (
    BITS_DOMAIN,
    KEYS_DOMAIN,
    NUMBERS_DOMAIN,
    RELATIONS,
    databases,
    largest_move,
    too_few,
)

NAN, INF = float("nan"), float("inf")
ADD, CHANGE = RELATIONS


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("cells", "domain"),
    [
        ({"keys": ["a", "b", "c"]}, KEYS_DOMAIN),
        ({"keys": ["a"]}, KEYS_DOMAIN),
        ({"keys": [1, "b"]}, [*KEYS_DOMAIN, True, 1.0]),
        ({"keys": range(2)}, [0, 1, 2, -1, True, 0.0, "0"]),
        ({"bins": [0, 1, 2]}, NUMBERS_DOMAIN),
        ({"bins": [0, 5]}, NUMBERS_DOMAIN),
    ],
)
def test_disjoint_counts_move_as_claimed_and_no_less(relation: Neighbours, cells: Any, domain: list[Any]) -> None:
    m = histogram(**cells, epsilon=1, neighbours=relation)
    claimed = disjoint_moves(len(m.cells), relation)
    assert largest_move(m.read, domain, relation) == (claimed.l1, claimed.l2_squared)
    assert m.noise == noise_for(Pure(1), claimed, len(m.cells))


def test_the_check_refutes_change_one_priced_as_add_remove() -> None:
    m = histogram(keys=["a", "b"], epsilon=1, neighbours=CHANGE)
    wrong = disjoint_moves(2, ADD)
    assert largest_move(m.read, KEYS_DOMAIN, CHANGE) > (wrong.l1, wrong.l2_squared)


@pytest.mark.parametrize("relation", RELATIONS)
def test_attribute_counts_move_as_claimed(relation: Neighbours) -> None:
    m = attribute_counts(d=3, epsilon=1, neighbours=relation)
    claimed = attribute_moves(3)
    assert largest_move(m.read, BITS_DOMAIN, relation) == (claimed.l1, claimed.l2_squared) == (3, 3)


def test_empty_cells_get_their_own_noise() -> None:
    """Attacks C3 and C4: the keys are public, and no draw is used twice."""
    values = histogram(keys=range(2000), epsilon="1/100").release([]).value
    assert len(values) == 2000
    assert len(set(values.tolist())) > 150
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.2


def test_costs_are_what_the_accountants_say() -> None:
    for relation in RELATIONS:
        for m in (
            histogram(keys=["a", "b"], epsilon="1/3", neighbours=relation),
            point_queries(keys=["a", "b"], epsilon="1/3", neighbours=relation),
            attribute_means(d=5, epsilon="1/3", neighbours=relation),
            marginals(columns=(2, 2), which=[(0,), (1,)], epsilon="1/3", neighbours=relation),
        ):
            assert price_basic(m.event).epsilon == Fraction(1, 3)
            assert m.cost == "epsilon 1/3"
        for g in (
            histogram(keys=["a", "b"], rho="1/3", neighbours=relation),
            point_queries(keys=["a", "b"], rho="1/3", neighbours=relation),
            attribute_means(d=5, rho="1/3", neighbours=relation),
            marginals(columns=(2, 2), which=[(0,), (1,)], rho="1/3", neighbours=relation),
        ):
            assert price_zcdp(g.event).rho == Fraction(1, 3)


def test_shares_are_exact_before_the_noise() -> None:
    data = [0, 0, 0, 1, 2, 2, 5, 5, 5, 6]
    m = point_queries(keys=range(8), epsilon=1, neighbours=CHANGE)
    assert m.read(data)[1] == 10
    shares, accuracy = m.finish(type(m.draw(m.read(data), SystemBits()))(m.read(data)[0], 10))
    assert np.allclose(shares, [0.3, 0.1, 0.2, 0, 0, 0.3, 0.1, 0])
    assert accuracy.error_at(0.95) == pytest.approx(m.counted.accuracy.error_at(0.95) / 10)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_error_bars_of_shares_cover(relation: Neighbours) -> None:
    """Coverage at 80 %, false alarm 1e-9; twice the noise must be seen."""
    data = ["a"] * 30 + ["b"] * 10 + ["?"] * 20
    truth = np.array([0.5, 1 / 6])
    m = point_queries(keys=["a", "b"], epsilon=1, neighbours=relation)
    noisier = point_queries(keys=["a", "b"], epsilon="1/6", neighbours=relation)
    hits = twins = 0
    for _ in range(400):
        answer = m.release(data)
        hits += bool((abs(answer.value - truth) <= answer.error_at("0.8")).all())
        other = noisier.release(data)
        twins += bool((abs(other.value - truth) <= answer.error_at("0.8")).all())
    assert not too_few(hits, 400, 0.8)
    assert too_few(twins, 400, 0.8)


def test_no_records_at_all() -> None:
    for m in (point_queries(keys=["a"], epsilon=1), attribute_means(d=2, epsilon=1, neighbours=CHANGE)):
        answer = m.release([])
        assert ((answer.value >= 0) & (answer.value <= 1)).all()
        assert answer.error_at(0.95) > 0
    assert point_queries(keys=["a"], epsilon=1).release([]).error_at("0.99") == 1.0


def test_a_receipt_works_once_and_for_its_event_alone() -> None:
    for m in (histogram(keys=["a"], epsilon=1), attribute_means(d=2, epsilon=1)):
        receipt = Receipt(m.event, number=1)
        assert m.release([], receipt).receipt is receipt
        with pytest.raises(ReceiptRefused):
            m.release([], receipt)
        with pytest.raises(ReceiptRefused):
            m.release([], Receipt(histogram(keys=["a"], epsilon=2).event, number=2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"keys": ["a"]},
        {"keys": ["a"], "epsilon": 0},
        {"keys": ["a"], "epsilon": 1, "rho": 1},
        {"keys": ["a"], "epsilon": NAN},
        {"keys": ["a"], "epsilon": INF},
        {"keys": [], "epsilon": 1},
        {"keys": ["a", "a"], "epsilon": 1},
        {"keys": [0.5], "epsilon": 1},
        {"keys": "ab", "epsilon": 1},
        {"keys": 3, "epsilon": 1},
        {"epsilon": 1},
        {"keys": ["a"], "bins": [0, 1], "epsilon": 1},
        {"bins": [1], "epsilon": 1},
        {"bins": [0, NAN], "epsilon": 1},
        {"bins": [0, INF], "epsilon": 1},
        {"keys": ["a"], "epsilon": 1, "neighbours": "add"},
    ],
)
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        histogram(**wrong)


def test_bad_data_is_refused_without_its_values() -> None:
    for data in (7, "secret", b"secret", None):
        with pytest.raises(BadData) as caught:
            histogram(keys=["a"], epsilon=1).release(data)
        assert "secret" not in str(caught.value)
        with pytest.raises(BadData):
            count_records(data)
    with pytest.raises(BadParameter):
        read_budget(None, None)


def test_no_record_makes_a_call_fail() -> None:
    for data in databases([*KEYS_DOMAIN, *NUMBERS_DOMAIN[:5], *BITS_DOMAIN], 1):
        histogram(keys=["a"], epsilon=1).release(data)
        histogram(bins=[0, 1], epsilon=1).release(data)
        attribute_means(d=2, epsilon=1).release(data)
        marginals(columns=(2, 2), which=[(0,)], epsilon=1).release(data)
    assert Keys((1,)).of(np.array([1, "x", None], dtype=object)).tolist() == [0, -1, -1]


def test_a_mask_never_comes_out() -> None:
    """With everyone masked numpy's sum is masked, and noise does not hide that: one unmasked person would show."""
    rows = np.array([[1, 0], [1, 1]])
    m = attribute_counts(d=2, epsilon=1)
    for mask, exact in (([[True, False], [True, False]], [0, 1]), ([[True, False], [False, False]], [1, 1])):
        masked: Any = np.ma.MaskedArray(rows, mask=mask)
        assert m.read(masked).tolist() == exact
        assert type(m.release(masked).value) is np.ndarray


def test_an_iterator_is_counted_once_for_all() -> None:
    m = point_queries(keys=["a", "b"], epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    counts, records = m.read(iter(["a", "b", "b", "c"]))
    assert (counts.tolist(), records) == ([1, 2], 4)
