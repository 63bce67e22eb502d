"""The kernel for linear layers on tokens, in its compiler's interpreter, against products that are written out."""

import pytest
import torch

from discreet.learning.torch_training.token_products import add_products

pytest.importorskip("triton")
from discreet.learning.torch_training import product_kernels

GENERATOR = torch.Generator().manual_seed(5)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize(("rows", "tokens", "outputs", "inputs"), [(3, 5, 9, 4), (2, 40, 70, 65), (1, 1, 1, 1)])
def test_the_same_integers(rows: int, tokens: int, outputs: int, inputs: int, kind: torch.dtype) -> None:
    """Small whole numbers, so that every order of additions gives the same; odd widths, and a row that is left out."""
    g, a = (torch.randint(-3, 4, (rows, tokens, n), generator=GENERATOR).float() for n in (outputs, inputs))
    cells = torch.tensor([0.75, 0.0, 2.5][:rows])
    a[1:2] = float("inf")
    one, other = (torch.full((outputs, inputs), 3, dtype=kind) for _ in range(2))
    squares = product_kernels.add_products(g, a, cells, one)
    a[1:2] = 0
    bound = add_products(g, a, cells, other)
    assert torch.equal(one, other)
    assert torch.allclose(squares, bound, rtol=1e-5)
