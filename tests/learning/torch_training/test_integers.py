"""Integer factors and exact products against Python's integers."""

import numpy as np
import pytest
import torch

from discreet.learning.torch_training import integers
from discreet.learning.torch_training.integers import (
    A_MOST,
    G_MOST,
    RADIUS,
    Factored,
    Inputs,
    Limbs,
    Products,
    add_rows,
    int8_is_exact,
    int_product,
    times,
)

GENERATOR = torch.Generator().manual_seed(1)


def outer(whole: Factored, row: int) -> np.ndarray:
    """One row's integer gradient, written out in 64 bits."""
    high, low = whole.g.apart(whole.g.both.long(), 1)
    return np.outer((whole.g.base * high + low)[row].numpy(), whole.a.long()[row].numpy())


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_factors_fit_and_totals_are_exact(size: float, kind: torch.dtype) -> None:
    a = torch.randn(6, 7, generator=GENERATOR) * size
    g = torch.randn(6, 3, generator=GENERATOR)
    lengths = a.norm(dim=1) * g.norm(dim=1)
    whole = Factored.of(Inputs.of(a), g, (RADIUS * 0.99 / lengths).float())
    assert int(whole.a.abs().max()) in range(A_MOST - 1, A_MOST + 1)
    rows = [outer(whole, i) for i in range(6)]
    into = torch.ones(3, 7, dtype=kind)
    whole.add_to(into, None)
    assert np.array_equal(into.numpy() - 1, sum(rows))
    squares = [int((row.astype(object) ** 2).sum()) for row in rows]
    assert max(squares) <= RADIUS**2
    assert all(float(up) >= exact * (1 - 1e-12) for up, exact in zip(whole.squares_up(), squares, strict=True))


def test_truncation_never_lengthens_a_single_token() -> None:
    """Entry by entry: |integers| <= |real product| in cells, for rows at the very edge of the clip."""
    a, g = torch.randn(200, 9, generator=GENERATOR), torch.randn(200, 4, generator=GENERATOR)
    cells = (RADIUS * (1 - 2.0**-8) / (a.norm(dim=1) * g.norm(dim=1))).float()
    whole = Factored.of(Inputs.of(a), g, cells, bias=True)
    for i in range(200):
        real = np.outer(g[i].double(), a[i].double()) * float(cells[i])
        assert np.all(np.abs(outer(whole, i)) <= np.abs(real) * (1 + 2.0**-19))
    bias = torch.zeros(4, dtype=torch.int64)
    whole.add_to(torch.zeros(4, 9, dtype=torch.int64), bias)
    assert torch.equal(bias, (g * cells[:, None]).trunc().long().sum(0))


@pytest.mark.parametrize("as_bytes", [True, False])
def test_limbs_of_either_layout_are_the_number(as_bytes: bool) -> None:
    """All whole numbers of 13 bits and a sign, and fractions on both sides of them."""
    whole = torch.arange(-G_MOST, G_MOST + 1).float()[:, None].expand(-1, 2)
    for shift in (0.0, 0.25):
        limbs = Limbs.of(torch.sign(whole) * (whole.abs() + shift).clamp(max=G_MOST), as_bytes=as_bytes)
        assert limbs.both.dtype == torch.int8
        high, low = limbs.apart(limbs.both.long(), 1)
        assert torch.equal(limbs.base * high + low, whole.long())
        ones = torch.ones(len(whole), 3, dtype=torch.int8)
        high, low = limbs.apart(int_product(limbs.both, ones), 0)
        assert torch.equal((limbs.base * high + low).long(), whole.long().T @ ones.long())


def test_what_has_no_cells_counts_nothing_whatever_it_is() -> None:
    """Padding and rows without a length: 0, also beside numbers that are not finite, and where sums overflow."""
    for x in (float("nan"), float("inf"), 3e38):
        given = torch.tensor([[2.0, 3e38], [x, -x]])
        assert times(given, torch.tensor([[1.0], [0.0]])).tolist() == [given[0].tolist(), [0.0, 0.0]]


@pytest.mark.parametrize("rows", [1, 3, 64, 1000])
def test_products_of_bytes_are_exact_at_the_extremes(rows: int) -> None:
    left = torch.randint(-128, 128, (rows, 5), generator=GENERATOR, dtype=torch.int8)
    for right in (torch.full((rows, 4), 127, dtype=torch.int8), torch.full((rows, 4), -127, dtype=torch.int8)):
        assert torch.equal(int_product(left, right), left.long().T @ right.long())


def test_products_of_every_small_shape_are_exact() -> None:
    """Shapes of one row or column, for which torch's own product is wrong on some processors, included."""
    for outputs in (1, 2, 3, 8, 17):
        for rows in (1, 2, 5, 16, 33):
            for inputs in (1, 2, 3, 9, 16):
                left = torch.randint(-128, 128, (rows, outputs), generator=GENERATOR, dtype=torch.int8)
                right = torch.randint(-127, 128, (rows, inputs), generator=GENERATOR, dtype=torch.int8)
                assert torch.equal(int_product(left, right), left.long().T @ right.long())


def test_parts_are_added_and_doubles_do_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    left = torch.randint(-128, 128, (50, 3), generator=GENERATOR, dtype=torch.int8)
    truth = left.long().T @ left.long()
    monkeypatch.setattr(integers, "_LONGEST", 7)
    assert torch.equal(int_product(left, left), truth)
    monkeypatch.setattr(integers, "int8_is_exact", lambda device: False)
    assert torch.equal(int_product(left, left), truth)


def test_products_that_are_written_out_are_truncated_and_no_number_is_0() -> None:
    a, g = torch.tensor([[1.5, -2.0], [float("inf"), 1.0], [1.0, 1.0]]), torch.tensor([[3.0], [float("nan")], [1.0]])
    whole = Products.of(a, g, torch.tensor([10.5, 0.0, 0.0]), bias=True)
    assert whole.weight.tolist() == [[[47, -63], [0, 0], [0, 0]]]
    assert whole.squares_up().tolist() == [47**2 + 63**2 + 31**2, 0, 0]
    weight, bias = torch.zeros(1, 2, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    whole.add_to(weight, bias)
    assert weight.tolist() == [[47, -63]]
    assert bias.tolist() == [31]


def test_rows_are_added_exactly_however_many_there_are() -> None:
    """At the largest entry, with as many rows as 32 bits hold, one more, and several times as many."""
    most = ((1 << 31) - 1) // RADIUS
    for rows in (most, most + 1, 5 * most):
        for dim in (0, 1):
            into = torch.zeros(2, dtype=torch.int64)
            given = torch.tensor([RADIUS, -RADIUS], dtype=torch.int32).expand(rows, 2)
            add_rows(given if dim == 0 else given.T, into, dim)
            assert into.tolist() == [rows * RADIUS, -rows * RADIUS]


def test_the_limits_fit_their_types() -> None:
    assert (1 << 17) * 128 * 127 < 1 << 31
    assert G_MOST < 1 << 13
    assert RADIUS == A_MOST * G_MOST
    assert isinstance(int8_is_exact("cpu"), bool)
