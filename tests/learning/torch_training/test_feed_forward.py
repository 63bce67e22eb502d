"""Passes by hand: what the graph gives, for each row wherever it stands, and only for models that are nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from discreet.errors import BadParameter
from discreet.learning.torch_training import feed_forward as module
from discreet.learning.torch_training.feed_forward import FeedForward
from discreet.learning.torch_training.gradients import ClippedSums
from discreet.learning.torch_training.layers import Outer, Written

ROWS = 9


def frozen(layer: nn.Linear, *names: str) -> nn.Linear:
    for name in names:
        getattr(layer, name).requires_grad_(False)
    return layer


MODELS: dict[str, Callable[[], nn.Module]] = {
    "one layer": lambda: nn.Linear(4, 3),
    "two layers": lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)),
    "without biases": lambda: nn.Sequential(nn.Linear(4, 5, bias=False), nn.ReLU(), nn.Linear(5, 3, bias=False)),
    "ReLUs at the end": lambda: nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3), nn.ReLU(), nn.ReLU()),
    "frozen first": lambda: nn.Sequential(frozen(nn.Linear(4, 5), "weight", "bias"), nn.ReLU(), nn.Linear(5, 3)),
    "frozen weight": lambda: nn.Sequential(frozen(nn.Linear(4, 5), "weight"), nn.ReLU(), nn.Linear(5, 3)),
    "frozen bias": lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), frozen(nn.Linear(5, 3), "bias")),
}
LOSSES: dict[str, Any] = {
    "cross-entropy": nn.CrossEntropyLoss(reduction="none"),
    "an ignored class": nn.CrossEntropyLoss(reduction="none", ignore_index=1),
    "smoothed": nn.CrossEntropyLoss(reduction="none", label_smoothing=0.1),
    "weighted": nn.CrossEntropyLoss(reduction="none", weight=torch.tensor([1.0, 2.0, 3.0])),
    "squares": lambda outputs, y: (outputs - y[:, None]).square(),
}


def both_ways(model: nn.Module, loss: Any, x: Tensor, y: Tensor) -> None:
    """Parts by hand beside those of the graph, layer by layer."""
    sums = ClippedSums(model, loss, 1.0)
    chain = FeedForward.of(model)
    assert chain is not None
    assert chain.applies(x)
    by_hand, by_graph = chain.parts(x, y, loss), sums._ghost(x, y)
    key = {id(p): i for i, p in enumerate(model.parameters())}

    def order(part: Any) -> int:
        return key[id(part.weight if isinstance(part, Outer) else part.parameters[0])]

    by_hand.sort(key=order)
    by_graph.sort(key=order)
    assert len(by_hand) == len(by_graph) > 0
    for one, other in zip(by_hand, by_graph, strict=True):
        if isinstance(one, Outer):
            assert isinstance(other, Outer)
            assert one.bias is other.bias
            assert torch.equal(one.a, other.a)
            torch.testing.assert_close(one.g, other.g)
        else:
            assert isinstance(one, Written)
            assert isinstance(other, Written)
            torch.testing.assert_close(one.gradients, other.gradients)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_it_gives_what_the_graph_gives(name: str, loss: str) -> None:
    torch.manual_seed(1)
    both_ways(MODELS[name](), LOSSES[loss], torch.randn(ROWS, 4), torch.randint(0, 3, (ROWS,)))


@pytest.mark.parametrize("classes", [1, 2, 3, 16, 17])
def test_any_number_of_classes_and_targets_that_are_ignored(classes: int) -> None:
    torch.manual_seed(3)
    y = torch.randint(0, classes, (ROWS,))
    y[::4] = -100
    both_ways(nn.Linear(4, classes), nn.CrossEntropyLoss(reduction="none"), 30 * torch.randn(ROWS, 4), y)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_a_row_has_the_same_gradient_wherever_it_stands(classes: int) -> None:
    """Among other rows, at every place of batches of several sizes: bit for bit. A softmax over the columns of the
    transposed batch fails here on processors that work on 16 numbers at once.
    """
    torch.manual_seed(2)
    chain = FeedForward.of(nn.Linear(1, 1))
    assert chain is not None
    loss = nn.CrossEntropyLoss(reduction="none")
    row = 3 * torch.randn(classes)
    alone = chain._loss_gradient(row[None].clone(), torch.ones(1, dtype=torch.int64), loss)
    for rows in (2, 15, 16, 18, 27, 31, 33):
        for place in range(rows):
            outputs = torch.randn(rows, classes)
            outputs[place] = row
            found = chain._loss_gradient(outputs, torch.ones(rows, dtype=torch.int64), loss)
            assert torch.equal(found[place], alone[0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [48, 63, 1063])
def test_many_rows_have_the_same_gradients_at_other_places(rows: int, classes: int) -> None:
    """Torch's sigmoid fails here: what is left over of 32 numbers is computed by another function."""
    torch.manual_seed(4)
    chain = FeedForward.of(nn.Linear(1, 1))
    assert chain is not None
    loss = nn.CrossEntropyLoss(reduction="none")
    outputs, y = 2 * torch.randn(rows, classes), torch.randint(0, classes, (rows,))
    found = chain._loss_gradient(outputs.clone(), y, loss)
    for by in (1, 3, 7, 16, 31, 40):
        moved = chain._loss_gradient(outputs.roll(by, 0), y.roll(by), loss)
        assert torch.equal(moved, found.roll(by, 0))


class Doubled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(4, 3), nn.Tanh()),
        nn.Sequential(Doubled(4, 3)),
        nn.Sequential(),
        nn.ReLU(),
        nn.Bilinear(2, 2, 2),
    ],
)
def test_other_models_are_left_to_the_graph(model: nn.Module) -> None:
    assert FeedForward.of(model) is None


def test_a_layer_that_is_used_twice_is_refused() -> None:
    """Its two gradients would be clipped as if they were at right angles: a row was 1.4 times too long."""
    layer = nn.Linear(4, 4)
    loss = nn.CrossEntropyLoss(reduction="none")
    x, y = torch.randn(ROWS, 4), torch.zeros(ROWS, dtype=torch.int64)
    for model in (nn.Sequential(layer, nn.ReLU(), layer), nn.Sequential(layer, layer)):
        assert FeedForward.of(model) is None
        with pytest.raises(BadParameter, match="once in a pass"):
            ClippedSums(model, loss, 1.0)(x, y, torch.ones(ROWS))
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    sums = ClippedSums(model, loss, 1.0)
    model[2].weight = model[0].weight  # tied after it was looked at
    with pytest.raises(BadParameter, match="each parameter once"):
        sums(x, y, torch.ones(ROWS))


def test_models_that_change_are_left_to_the_graph() -> None:
    """Hooks, exchanged layers and calls, other types, autocast: looked at for each batch."""
    x = torch.randn(ROWS, 4)

    def fresh() -> tuple[nn.Sequential, FeedForward]:
        model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
        chain = FeedForward.of(model)
        assert chain is not None
        assert chain.applies(x)
        return model, chain

    def nothing(*_: Any) -> None:
        return None

    changes: list[Callable[[nn.Sequential], Any]] = [
        lambda m: m.register_forward_hook(nothing),
        lambda m: m[1].register_forward_pre_hook(nothing),
        lambda m: m[0].register_full_backward_hook(nothing),
        lambda m: m.__setitem__(1, nn.Tanh()),
        lambda m: m.append(nn.Tanh()),
        lambda m: m.double(),
        lambda m: setattr(m[0], "forward", nothing),
        lambda m: nn.utils.parametrizations.weight_norm(m[0]),
    ]
    for change in changes:
        model, chain = fresh()
        change(model)
        assert not chain.applies(x)
    model, chain = fresh()
    for other in (x.double(), x[None], x[0], [x]):
        assert not chain.applies(other)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not chain.applies(x)
    handle = nn.modules.module.register_module_forward_hook(nothing)
    assert not chain.applies(x)
    handle.remove()
    assert chain.applies(x)


def test_a_loss_that_does_more_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    loss = nn.CrossEntropyLoss(reduction="none")
    loss.register_forward_hook(lambda *_: called.append(1))
    chain = FeedForward.of(nn.Linear(4, 3))
    assert chain is not None
    chain.parts(torch.randn(ROWS, 4), torch.zeros(ROWS, dtype=torch.int64), loss)
    assert called
    assert module._is_usual(nn.CrossEntropyLoss(reduction="none"), 3, torch.zeros(2, dtype=torch.int64))
