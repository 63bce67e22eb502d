"""Counts of public cells: sensitivities by brute force, independent draws, shares and their error bars."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.base.marks import ruler
from discreet.mechanisms.statistics.binning import Bins, Keys, Table, UpTo, count_records
from discreet.mechanisms.statistics.budget import Moves, noise_for, part, read_budget
from discreet.mechanisms.statistics.counting import (
    attribute_counts,
    attribute_means,
    attribute_moves,
    disjoint_moves,
    histogram,
    point_queries,
)
from discreet.mechanisms.statistics.marginals import marginal_moves, marginals
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.helpers.databases import RELATIONS, databases, largest_move, too_few

NAN, INF = float("nan"), float("inf")
ADD, CHANGE = RELATIONS


class Hostile:
    """A record that raises whatever is done with it."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __getitem__(self, i: int) -> Any:
        raise RuntimeError("secret")

    def __len__(self) -> int:
        raise RuntimeError("secret")


KEYS_DOMAIN = ["a", "b", "c", None, NAN, ["a"], Hostile(), 1]
NUMBERS_DOMAIN = [-INF, -1.0, 0.0, -0.0, 0.5, 1, 2, 5.0, INF, NAN, None, "1", 10**400, Hostile()]
BITS_DOMAIN = [(0, 0, 0), (1, 1, 1), (1, 0, 1), (True, NAN, 2), (1,), None, Hostile(), "111"]


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


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("which", [[(0,)], [(0,), (1,)], [(0, 1), (1, 2), (2,)], [(2,)], [(0,), (2,)]])
def test_marginals_move_as_claimed(relation: Neighbours, which: list[tuple[int, ...]]) -> None:
    domain = [*np.ndindex(2, 3, 1), (2, 0, 0), (0, 0), None, (0.0, 0, 0), Hostile(), np.array(3)]
    m = marginals(columns=(2, 3, 1), which=which, rho=1, neighbours=relation)
    claimed = marginal_moves(Table((2, 3, 1)), which, relation)
    assert largest_move(m.read, domain, relation, most=2) == (claimed.l1, claimed.l2_squared)


def test_a_marginal_is_the_sum_of_the_table() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(-1, 3, size=(200, 3))
    m = marginals(columns=(2, 3, 2), which=[(0,), (2, 1), (0, 1, 2)], epsilon=1)
    tables = m.tables(m.read(rows))
    assert (tables[0,] == tables[0, 1, 2].sum(axis=(1, 2))).all()
    assert (tables[2, 1] == tables[0, 1, 2].sum(axis=0).T).all()
    assert (m.read(rows) == m.read([tuple(row) for row in rows.tolist()])).all()


def test_arrays_and_lists_are_counted_alike() -> None:
    rng = np.random.default_rng(6)
    for dtype in (np.int8, np.int64, np.uint8, np.uint64):
        data = rng.integers(0, 12, 100).astype(dtype)
        for keys in (range(3, 9), range(-2, 5), [5, 3], range(250, 260)):
            m = histogram(keys=keys, epsilon=1)
            assert m.read(data).tolist() == m.read(data.tolist()).tolist()
            assert m.read(data).tolist() == [data.tolist().count(k) for k in keys]
    far = np.array([2**63, 2**63 + 1, 5, 2**64 - 1], dtype=np.uint64)
    assert histogram(keys=range(2**63, 2**63 + 3), epsilon=1).read(far).tolist() == [1, 1, 0]
    assert histogram(keys=range(-3, 6), epsilon=1).read(far).tolist() == [0] * 8 + [1]
    table = Table((3, 4))
    for rows in (rng.integers(-1, 5, size=(50, 2)), rng.integers(0, 5, size=(50, 2)).astype(np.uint8)):
        assert table.of(rows).tolist() == table.of([tuple(r) for r in rows.tolist()]).tolist()
    bits = rng.integers(0, 2, size=(30, 4))
    m4 = attribute_counts(d=4, epsilon=1)
    assert m4.read(bits).tolist() == m4.read(bits.tolist()).tolist() == bits.sum(axis=0).tolist()


def test_bins_and_thresholds_agree_with_plain_comparisons() -> None:
    edges = [-1.0, 0.0, 0.5, 3.0]
    numbers = [x for x in NUMBERS_DOMAIN if isinstance(x, float)] + [-0.5, 3.0, 0.25, 2.9]
    for x in numbers:
        inside = [i for i in range(3) if edges[i] <= x < edges[i + 1] or (i == 2 and x == 3.0)]
        assert Bins(ruler(edges, "bins")).of([x]).tolist() == (inside or [-1])
        up_to = [i for i in range(4) if x <= edges[i]]
        assert UpTo(ruler(edges, "t")).of([x]).tolist() == (up_to[:1] or [-1])


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


def test_one_count_with_gaussian_noise_is_priced_by_its_length() -> None:
    assert noise_for(ZCDP(1), Moves(3, 5), 1).moves_squared == 9  # type: ignore[union-attr]
    assert noise_for(ZCDP(1), Moves(3, 5), 2).moves_squared == 5  # type: ignore[union-attr]
    assert part(ZCDP(1), Fraction(1, 4)) == ZCDP("1/4")
    assert histogram(keys=["a"], rho=1, neighbours=CHANGE).release(["a"]).value.shape == (1,)


def test_shares_are_exact_before_the_noise() -> None:
    data = [0, 0, 0, 1, 2, 2, 5, 5, 5, 6]
    m = point_queries(keys=range(8), epsilon=1, neighbours=CHANGE)
    assert m.read(data)[1] == 10
    shares, accuracy = m.finish(type(m.draw(m.read(data), SystemBits()))(m.read(data)[0], 10))
    assert np.allclose(shares, [0.3, 0.1, 0.2, 0, 0, 0.3, 0.1, 0])
    assert accuracy.error_at(0.95) == pytest.approx(m.counted.accuracy.error_at(0.95) / 10)  # type: ignore[union-attr]


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


@pytest.mark.parametrize(
    "wrong",
    [{"columns": (), "which": [(0,)]}, {"columns": (2, 0), "which": [(0,)]}, {"columns": (2,), "which": []},
     {"columns": (2,), "which": [(1,)]}, {"columns": (2,), "which": [(0,), (0,)]}, {"columns": (2, 2), "which": [()]},
     {"columns": 3, "which": [(0,)]}, {"columns": (1 << 14, 1 << 14), "which": [(0, 1)]}],
)  # fmt: skip
def test_bad_tables_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        marginals(**wrong, epsilon=1)


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


def test_columns_that_no_machine_integer_holds_are_refused() -> None:
    """Else one record with a huge entry would stop the release, in numpy's words."""
    with pytest.raises(BadParameter):
        marginals(columns=(2**70, 2), which=[(1,)], epsilon=1)
    assert marginals(columns=(2**62, 2), which=[(1,)], epsilon=1).read([(2**62 - 1, 1), (2**65, 1)]).tolist() == [0, 1]
