"""Per-example gradients of every supported layer against a loop over rows; clipping in integers."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import prune

from discreet.errors import BadParameter
from discreet.learning.torch_training import gradients as module
from discreet.learning.torch_training.gradients import ClippedSums
from discreet.learning.torch_training.integers import RADIUS
from discreet.learning.torch_training.layers import Outer, Part, Ready

ROWS = 6


class Tokens(nn.Module):
    """An embedding, a linear layer on tokens, a norm, a mean over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4, padding_idx=0)
        self.mix = nn.Linear(4, 6)
        self.norm = nn.LayerNorm(6)
        self.root = nn.RMSNorm(6)
        self.out = nn.Linear(6, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.root(torch.tanh(self.norm(self.mix(self.table(x))))).mean(1))


class Own(nn.Module):
    """A parameter of its own: no rule, so gradients are written out."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.out = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x * self.scale)


def flat() -> Tensor:
    return torch.randn(ROWS, 4)


def images() -> Tensor:
    return torch.randn(ROWS, 2, 8, 8)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "feed-forward": (lambda: nn.Sequential(nn.Linear(4, 70), nn.ReLU(), nn.Linear(70, 5), nn.ReLU(), nn.Linear(5, 3)),
        flat,
    ),
    "linear": (lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3, bias=False)), flat),
    "convolution": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1, dilation=1), nn.GroupNorm(2, 4), nn.Tanh(),
            nn.InstanceNorm2d(4, affine=True), nn.Flatten(), nn.Linear(64, 3),
        ), images,
    ),
    "convolution in one dimension": (
        lambda: nn.Sequential(nn.Conv1d(2, 3, 3, padding=2), nn.Tanh(), nn.Flatten(), nn.Linear(30, 3)),
        lambda: torch.randn(ROWS, 2, 8),
    ),
    "grouped convolution, by vmap": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(144, 3)), images,
    ),
    "tokens": (Tokens, lambda: torch.randint(0, 5, (ROWS, 7))),
    "own parameter, by vmap": (Own, flat),
    "frozen first layer": (
        lambda: nn.Sequential(nn.Linear(4, 5).requires_grad_(False), nn.Tanh(), nn.Linear(5, 3)), flat,
    ),
}  # fmt: skip
LOSS = nn.CrossEntropyLoss(reduction="none")
every = pytest.mark.parametrize("name", MODELS)


def by_loop(model: nn.Module, x: Tensor, y: Tensor) -> list[list[Tensor]]:
    """Each row's gradient, by itself."""
    trained = [p for p in model.parameters() if p.requires_grad]
    return [list(torch.autograd.grad(LOSS(model(x[i : i + 1]), y[i : i + 1]).sum(), trained)) for i in range(len(x))]


def made(name: str) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(3)
    make, rows = MODELS[name]
    return make(), rows(), torch.randint(0, 3, (ROWS,))


@pytest.mark.slow
@every
def test_lengths_are_those_of_a_loop(name: str) -> None:
    model, x, y = made(name)
    sums = ClippedSums(model, LOSS, 1.0)
    assert sums.by_vmap == ("vmap" in name)
    truth = torch.stack([torch.cat([g.flatten() for g in row]).norm() for row in by_loop(model, x, y)])
    assert torch.allclose(sums.norms(x, y).float(), truth, rtol=1e-4)


@pytest.mark.slow
@every
@pytest.mark.parametrize("clip", [0.05, 1.0, 100.0])
def test_each_row_alone_is_clipped_in_integers(name: str, clip: float) -> None:
    """The sum over a batch is the sum of rows alone; no row is longer than the radius; directions are right."""
    model, x, y = made(name)
    sums = ClippedSums(model, LOSS, clip)
    whole = sums(x, y, torch.ones(ROWS))
    rows = [sums(x, y, torch.eye(ROWS)[i]) for i in range(ROWS)]
    for k in range(len(whole)):
        assert torch.equal(whole[k], torch.stack([row[k] for row in rows]).sum(0))
    for row, gradients in zip(rows, by_loop(model, x, y), strict=True):
        assert sum(int(v) ** 2 for part in row for v in part.flatten()) <= RADIUS**2
        real, found = torch.cat([g.flatten() for g in gradients]), torch.cat([p.flatten() for p in row]).double()
        wanted = real * min(1.0, clip / float(real.norm())) / clip * RADIUS
        assert float((found - wanted).norm()) < 0.06 * float(wanted.norm()) + 3 * len(real) ** 0.5 * 128


@every
def test_padding_counts_for_nothing(name: str) -> None:
    model, x, y = made(name)
    sums = ClippedSums(model, LOSS, 1.0)
    assert all(not part.any() for part in sums(x, y, torch.zeros(ROWS)))


@every
def test_what_is_computed_ahead_changes_nothing(name: str) -> None:
    model, x, y = made(name)
    if x.dim() != 2 or not x.is_floating_point():
        x = torch.randn(ROWS, 4)
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    sums = ClippedSums(model, LOSS, 0.3)
    order = torch.tensor([3, 1, 4])
    ready = Ready.of(x).rows(order)
    plain = sums(x[order], y[order], torch.ones(3))
    assert all(torch.equal(a, b) for a, b in zip(sums(x[order], y[order], torch.ones(3), ready), plain, strict=True))


def test_rows_without_a_finite_gradient_count_for_nothing() -> None:
    model, x, y = made("linear")
    sums = ClippedSums(model, LOSS, 1.0)
    kept = sums(x, y, torch.tensor([0.0, 1, 1, 1, 1, 1]))
    x[0] = float("inf")
    assert all(torch.equal(a, b) for a, b in zip(sums(x, y, torch.ones(ROWS)), kept, strict=True))


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@pytest.mark.parametrize("name", ["linear", "tokens", "convolution"])
def test_in_lower_precision_rows_are_clipped_as_well(name: str) -> None:
    model, x, y = made(name)
    sums = ClippedSums(model, LOSS, 0.05)
    plain = sums(x, y, torch.ones(ROWS))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = [sums(x, y, torch.eye(ROWS)[i]) for i in range(ROWS)]
    for row in rows:
        assert sum(int(v) ** 2 for part in row for v in part.flatten()) <= RADIUS**2
    whole = [torch.stack([row[k] for row in rows]).sum(0) for k in range(len(plain))]
    near, far = (torch.cat([p.flatten().double() for p in parts]) for parts in (plain, whole))
    assert float((near - far).norm() / near.norm()) < 0.2


def test_a_forgotten_clip_is_caught() -> None:
    """The planted fault: rows are scaled as if all had length 1."""
    model, x, y = made("linear")
    sums = ClippedSums(model, LOSS, 1.0)
    cells = torch.full((ROWS,), float(RADIUS))
    squares = torch.zeros(ROWS, dtype=torch.float64)
    for part in sums.parts(x * 100, y):
        part.add(cells, sums.totals(ROWS).of, squares)
    assert float(squares.max()) > RADIUS**2


@pytest.mark.parametrize("name", ["tokens", "bag"])
def test_rows_that_turn_out_too_long_count_for_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers on tokens, and embeddings whose tokens add up, are looked at after rounding."""
    torch.manual_seed(3)
    bag = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(28, 3))
    model, x, y = (bag, torch.randint(0, 5, (ROWS, 7)), torch.randint(0, 3, (ROWS,))) if name == "bag" else made(name)
    sums = ClippedSums(model, LOSS, 0.01)
    assert not all(part.shrinks for part in sums.parts(x, y))
    kept = sums(x, y, torch.tensor([1.0, 1, 0, 1, 1, 1]))
    usual = module._total_squares

    def wrong(parts: list[Part]) -> Tensor:  # the planted fault: one row's length is seen as a third of what it is
        return usual(parts) * torch.tensor([1.0, 1, 1 / 9, 1, 1, 1])

    monkeypatch.setattr(module, "_total_squares", wrong)
    totals = sums.totals(ROWS)
    too_long = sums.add(x, y, torch.ones(ROWS), totals)
    assert too_long is not None
    assert too_long.tolist() == [False, False, True, False, False, False]
    assert all(torch.equal(a, b) for a, b in zip(sums(x, y, torch.ones(ROWS)), kept, strict=True))


def test_models_that_cannot_be_clipped_are_refused() -> None:
    shared = nn.Linear(4, 4)
    for model in (
        nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), nn.Sequential(nn.Linear(4, 3), nn.ReLU(inplace=True)),
        nn.InstanceNorm1d(3, affine=True, track_running_stats=True), nn.ReLU(), "model",
        nn.Sequential(shared, nn.Tanh(), Twice(shared)),
    ):  # fmt: skip
        with pytest.raises(BadParameter, match="model"):
            ClippedSums(model, LOSS, 1.0)  # type: ignore[arg-type]


class Twice(nn.Module):
    """Ties another layer's weight."""

    def __init__(self, other: nn.Linear) -> None:
        super().__init__()
        self.weight = other.weight


class Again(nn.Module):
    """Uses one layer twice, or changes an output or an input in place."""

    def __init__(self, does: str) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)
        self.does = does

    def forward(self, x: Tensor) -> Tensor:
        match self.does:
            case "output":
                return self.layer(x).tanh_()
            case "start":
                return self.layer(x.tanh_())
            case "input":
                given = torch.tanh(x)
                return self.layer(given) + given.mul_(2)
        return self.layer(torch.tanh(self.layer(x)))


def test_what_only_a_pass_shows_is_refused_then() -> None:
    x, y = torch.randn(ROWS, 16), torch.randint(0, 16, (ROWS,))
    for does in ("input", "twice"):
        with pytest.raises(BadParameter, match="model"):
            ClippedSums(Again(does), LOSS, 1.0)(x, y, torch.ones(ROWS))
    with pytest.raises(BadParameter, match="reduction"):
        ClippedSums(nn.Linear(16, 16), nn.CrossEntropyLoss(), 1.0)(x, y, torch.ones(ROWS))


@pytest.mark.parametrize("does", ["output", "start"])
def test_an_output_that_is_changed_in_place_has_the_gradient_it_had_before(does: str) -> None:
    """Also the data themselves, for which something was computed ahead."""
    x, y = torch.randn(ROWS, 16), torch.randint(0, 16, (ROWS,))
    model = Again(does)
    sums = ClippedSums(model, LOSS, 100.0)
    found = sums(x.clone(), y, torch.ones(ROWS), Ready.of(x))
    LOSS(model(x.clone()), y).sum().backward()
    for parameter, total in zip(sums.parameters, found, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(total / RADIUS * 100, parameter.grad, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("width", [3, 200])
def test_squares_that_vanish_do_not_make_a_row_longer(width: int) -> None:
    """Inputs of 1e-23, whose squares are 0 in single precision, with an output gradient of 1e19: ten times the clip."""
    model = nn.Linear(width, 2, bias=False)
    x, y = torch.full((1, width), 1e-23), torch.full((1, 2), 1e19)
    sums = ClippedSums(model, lambda outputs, targets: (outputs - targets).square(), 1e-5)
    [found] = sums(x, y, torch.ones(1))
    assert float(found.double().norm()) <= RADIUS


@pytest.fixture
def _flushed() -> Iterator[None]:
    """Numbers below 2^-126 are 0, as some libraries set it for the whole process."""
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush")
    yield
    torch.set_flush_denormal(False)


@pytest.mark.usefixtures("_flushed")
@pytest.mark.parametrize("width", [200, 8192])
@pytest.mark.parametrize("target", [1e16, 1e17, 1e18])
def test_rows_are_clipped_where_small_squares_are_flushed(width: int, target: float) -> None:
    """Inputs of 2^-63, whose squares are flushed, and a target that makes up for them: up to 11 times the clip."""
    model = nn.Linear(width, 2, bias=False)
    sums = ClippedSums(model, lambda outputs, targets: (outputs - targets).square(), 1.0)
    [found] = sums(torch.full((1, width), 2.0**-63.02), torch.full((1, 2), target), torch.ones(1))
    assert float(found.double().norm()) <= RADIUS


class Widened(nn.Module):
    """Looks at the same memory as the data in another shape, or changes it behind torch's back."""

    def __init__(self, does: str, wide: int) -> None:
        super().__init__()
        self.does, self.wide = does, wide
        self.layer = nn.Linear(wide, 3, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.does == "expands":
            return self.layer(x.expand(-1, self.wide))
        x.data.mul_(100)
        return self.layer(x)


@pytest.mark.parametrize("wide", [80, 400])
@pytest.mark.parametrize("does", ["expands", "changes"])
def test_what_was_computed_ahead_is_not_used_for_other_inputs(does: str, wide: int) -> None:
    """One column seen as 80 was up to 9 times longer than its clip."""
    torch.manual_seed(5)
    x, y = torch.randn(ROWS, 1 if does == "expands" else wide), torch.randint(0, 3, (ROWS,))
    sums = ClippedSums(Widened(does, wide), LOSS, 0.001)
    for i in range(ROWS):
        [found] = sums(x.clone(), y, torch.eye(ROWS)[i], Ready.of(x))
        assert float(found.double().norm()) <= RADIUS


@pytest.mark.parametrize(
    "computed", [nn.utils.spectral_norm, lambda layer: prune.l1_unstructured(layer, "weight", 0.3)]
)
def test_weights_that_are_computed_from_others_are_written_out(computed: Callable[[nn.Linear], nn.Linear]) -> None:
    torch.manual_seed(6)
    sums = ClippedSums(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), computed(nn.Linear(5, 3))), LOSS, 0.01)
    assert sums.by_vmap
    row = sums(flat(), torch.randint(0, 3, (ROWS,)), torch.eye(ROWS)[0])
    assert 0.9 * RADIUS < float(torch.cat([p.flatten() for p in row]).double().norm()) <= RADIUS


class Mixing(nn.Module):
    """Models that mix rows without a layer that is known for it."""

    seen: Tensor

    def __init__(self, does: str) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("seen", torch.ones(4))
        self.does = does

    def forward(self, x: Tensor) -> Tensor:
        match self.does:
            case "mean":
                return self.layer(x - 0.5 * x.mean(0))
            case "rows behind tokens":
                return self.layer(x.unsqueeze(0)).squeeze(0)
            case "as many tokens as rows":
                return self.layer(x[:, None].expand(-1, 3, -1).transpose(0, 1)).mean(0)
            case "backwards":
                return Scaled.apply(self.layer(x))
            case "buffer":
                self.seen = 0.999 * self.seen + 0.001 * x.detach().mean(0)
        return self.layer(x)


class Scaled(torch.autograd.Function):
    """Divides gradients by their length in the whole batch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Tensor:
        return given[0] / given[0].norm()


@pytest.mark.parametrize("does", ["mean", "rows behind tokens", "as many tokens as rows", "backwards", "buffer"])
def test_models_that_mix_rows_are_refused(does: str) -> None:
    model = Mixing(does)
    with pytest.raises(BadParameter, match="rows of a batch"):
        ClippedSums(model, LOSS, 1.0).check_loss(flat(), torch.zeros(ROWS, dtype=torch.int64))
    assert model.get_buffer("seen").tolist() == pytest.approx([0.999 if does == "buffer" else 1.0] * 4)  # public rows


def test_a_loss_of_all_pairs_of_rows_is_refused() -> None:
    """Outputs of shape (rows, 1) less targets of shape (rows): every row's gradient knew all targets."""
    sums = ClippedSums(nn.Linear(4, 1), lambda outputs, y: (outputs - y).square(), 1.0)
    with pytest.raises(BadParameter, match="rows of a batch apart"):
        sums.check_loss(flat(), torch.randn(ROWS))
    sums.check_loss(flat(), torch.randn(ROWS, 1))


class Shaken(nn.Module):
    """Randomness that torch does not know, and a buffer that holds infinities."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("mask", torch.tensor([0.0, -torch.inf, torch.nan]))

    def forward(self, x: Tensor) -> Tensor:
        return random.random() * self.layer(x)


def test_models_that_keep_rows_apart_are_not_refused() -> None:
    for name in MODELS:
        model, x, y = made(name)
        ClippedSums(model, LOSS, 1.0).check_loss(x, y)
    y = torch.zeros(ROWS, dtype=torch.int64)
    for model in (
        nn.Sequential(nn.Linear(4, 50), nn.Dropout(), nn.Linear(50, 3)), Shaken(),
        nn.Sequential(nn.utils.spectral_norm(nn.Linear(4, 5)), nn.SiLU(), nn.Linear(5, 3)),
    ):  # fmt: skip
        state = torch.random.get_rng_state()
        ClippedSums(model, LOSS, 1.0).check_loss(flat(), y)
        assert len(state) == len(torch.random.get_rng_state())
    ClippedSums(nn.Sequential(nn.Embedding(1, 4), nn.Linear(4, 1)), LOSS, 1.0).check_loss(y, y)  # 1 means nothing


DEEP: dict[str, Callable[[], nn.Module]] = {
    "feed-forward": lambda: nn.Sequential(nn.Linear(14, 7), nn.ReLU(), nn.Linear(7, 2)),
    "through the graph": lambda: nn.Sequential(nn.Linear(14, 7), nn.SiLU(), nn.Linear(7, 2)),
}


@pytest.mark.parametrize("name", DEEP)
def test_rows_start_alike_in_memory_for_layers_of_few_outputs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    usual = functional.linear

    def spied(x: Tensor, *given: Any) -> Tensor:
        seen.append(x.stride(0))
        return usual(x, *given)

    monkeypatch.setattr(functional, "linear", spied)
    x, y = torch.randn(ROWS, 14), torch.zeros(ROWS, dtype=torch.int64)
    sums = ClippedSums(DEEP[name](), LOSS, 1.0)
    for rows in (x, sums.laid_out(x)[:, :14]):
        seen.clear()
        sums(rows, y, torch.ones(ROWS))
        assert seen == [16, 16]


@pytest.mark.parametrize("name", DEEP)
def test_a_row_is_the_same_to_the_last_bit_wherever_it_stands(name: str) -> None:
    """In `make audit`: it is a fact about processors. Without lines of memory nearly all rows of 384 fail."""
    torch.manual_seed(9)
    sums = ClippedSums(DEEP[name](), LOSS, 1.0)
    x, y = torch.randn(384, 14), torch.randint(0, 2, (384,))
    parts = sums.parts(x, y)
    for by in (1, 5, 31):
        for one, moved in zip(parts, sums.parts(x.roll(by, 0), y.roll(by)), strict=True):
            assert isinstance(one, Outer)
            assert isinstance(moved, Outer)
            assert torch.equal(moved.a, one.a.roll(by, 0))
            assert torch.equal(moved.g, one.g.roll(by, 0))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e30, 1e200])
@pytest.mark.parametrize("name", ["feed-forward", "linear", "convolution", "own parameter, by vmap"])
def test_models_in_double_precision_are_clipped_as_well(name: str, size: float) -> None:
    model, x, y = made(name)
    sums = ClippedSums(model.double(), LOSS, 0.05)
    for i in range(ROWS):
        row = sums(x.double() * size, y, torch.eye(ROWS)[i])
        assert sum(int(v) ** 2 for part in row for v in part.flatten()) <= RADIUS**2
        assert any(bool(part.any()) for part in row) or size != 1
