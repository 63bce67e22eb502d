"""The kernel that truncates gradients, in its compiler's interpreter, against tensor operations."""

import pytest
import torch
from torch.nn import functional

pytest.importorskip("triton", minversion="3.5")
from discreet.learning.torch_training.product_kernels import add_truncated, inner_products, norm_gradients, widened

GENERATOR = torch.Generator().manual_seed(5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize("width", [4, 70])
def test_the_same_integers(width: int, kind: torch.dtype) -> None:
    """Also where rows are wider than the sum, on top of what is there, and with a row that is left out."""
    products = torch.randn(3, 100, width, generator=GENERATOR)
    products[1] = float("inf")
    cells = torch.tensor([1e3, 0.0, 2.5e6])
    for outputs, inputs in ((100, width), (90, width), (100, width - 1)):
        into = torch.full((outputs, inputs), 3, dtype=kind)
        squares = torch.zeros(3, dtype=torch.float64)
        add_truncated(products[:, :outputs, :inputs], cells, into, squares)
        rows = [products[i, :outputs, :inputs] * cells[i] for i in (0, 2)]
        assert torch.equal(into, (rows[0].int() + rows[1].int() + 3).to(kind))
        truth = [float(row.double().square().sum()) for row in rows]
        assert squares[[0, 2]].tolist() == pytest.approx(truth, rel=2**-8)
        assert all(up >= true for up, true in zip(squares[[0, 2]].tolist(), truth, strict=True))
        assert float(squares[1]) == 0


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_tokens_are_made_wider_with_zeros(kind: torch.dtype) -> None:
    tokens = torch.randn(2, 3, 4099, generator=GENERATOR).to(kind)
    wide = widened(tokens, 4104)
    assert torch.equal(wide[:, :, :4099], tokens)
    assert not wide[:, :, 4099:].any()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3, 37, 12), (2, 16, 70), (2, 5), (2, 3, 6, 8)])
@pytest.mark.parametrize("centred", [True, False])
def test_gradients_of_normalisation_layers(centred: bool, shape: tuple[int, ...], kind: torch.dtype) -> None:
    a, g = (torch.randn(shape, generator=GENERATOR).to(kind) for _ in range(2))
    width = shape[-1:]
    plain = (
        functional.layer_norm(a.float(), width, eps=1e-3)
        if centred
        else functional.rms_norm(a.float(), width, eps=1e-3)
    )
    truth = [(x.reshape(len(x), -1, shape[-1])).sum(1) for x in (plain * g.float(), g.float())]
    assert torch.allclose(norm_gradients(a, g, 1e-3, centred=centred), torch.cat(truth, 1), atol=1e-4)


@pytest.mark.parametrize("size", [7, 40_000])
def test_inner_products(size: int) -> None:
    x, y = (torch.randn(3, size, generator=GENERATOR) for _ in range(2))
    assert torch.allclose(inner_products(x, y), (x * y).sum(1), atol=1e-3)
