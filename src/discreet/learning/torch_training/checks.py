"""What a model must be so that one row's gradient is a function of that row alone; refused by name otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from discreet.errors import BadParameter
from discreet.learning.torch_training.layers import rule_for

_NEAR = 2.0**-6, 2.0**-20  # by how much of its length a gradient, and a buffer, may move for reasons of rounding


def check_model(model: nn.Module) -> None:
    """Refuse what mixes rows, keeps statistics of them, or would make gradients wrong.

    >>> check_model(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: model is ... must not use it: it mixes the rows of a batch; use GroupNorm ...
    """
    given: object = model
    if not isinstance(given, nn.Module):
        raise BadParameter("model", given, "must be a torch.nn.Module")
    for name, layer in model.named_modules():
        where = f"layer '{name}' ({type(layer).__name__})"
        if isinstance(layer, _BatchNorm):
            raise BadParameter(
                "model", where, "must not use it: it mixes the rows of a batch; use GroupNorm or LayerNorm instead"
            )
        if isinstance(layer, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            raise BadParameter(
                "model", where, "must not be spread over processes: noise would be added by each of them"
            )
        if getattr(layer, "track_running_stats", False):
            raise BadParameter("model", where, "must not keep running statistics; set track_running_stats=False")
        if getattr(layer, "inplace", False):
            raise BadParameter("model", where, "must not work in place; set inplace=False")
    if not any(p.requires_grad for p in model.parameters()):
        raise BadParameter("model", type(model).__name__, "must have a parameter that is trained")
    holders = Counter(id(p) for layer in model.modules() for p in layer.parameters(recurse=False) if p.requires_grad)
    if any(times > 1 for times in holders.values()):
        raise BadParameter(
            "model", type(model).__name__, "must not share a parameter between layers; give each layer its own"
        )
    for name, parameter in model.named_parameters():
        if not parameter.is_floating_point():
            raise BadParameter("model", name, "must be a real parameter")


def unsupported(model: nn.Module) -> list[str]:
    """The layers with trained parameters of their own for which there is no rule."""
    return [
        name
        for name, layer in model.named_modules()
        if any(p.requires_grad for p in layer.parameters(recurse=False)) and rule_for(layer) is None
    ]


def check_losses(losses: Any, rows: int) -> Any:
    """One loss for each row; further dimensions (tokens) are averaged."""
    if losses.dim() == 0 or losses.shape[0] != rows:
        raise BadParameter(
            "loss", tuple(losses.shape), f'must give one loss for each of {rows} rows: use reduction="none"'
        )
    return losses if losses.dim() == 1 else losses.flatten(1).mean(1)


def known_targets(loss: Any, outputs: Any, targets: Tensor) -> Tensor:
    """The targets; a class that the model has no output for is one that the loss leaves out.

    torch's own losses would stop in mid-run, and tell that somebody has such a class.

    >>> import torch
    >>> known_targets(nn.CrossEntropyLoss(), torch.zeros(2, 3), torch.tensor([0, 2, 3])).tolist()
    [0, 2, -100]
    """
    if not isinstance(loss, (nn.CrossEntropyLoss, nn.NLLLoss)) or targets.is_floating_point() or outputs.dim() < 2:
        return targets
    known = (targets >= 0) & (targets < outputs.shape[1])
    return targets.masked_fill(~known, loss.ignore_index)


def check_rows_apart(
    model: nn.Module, gradient: Callable[[Tensor, Tensor], list[Tensor]], x: Tensor, y: Tensor
) -> None:
    """Refuse a model or loss in which one row's gradient, or a buffer, depends on the rows beside it.

    ``gradient`` gives the first row's for a batch. It is asked for made-up batches, of the shapes and types of x and y,
    that have the first row in common and nothing else; and twice for one of them: where that differs, nothing is said.

    >>> model, y = nn.Linear(2, 1), torch.zeros(3)
    >>> check_rows_apart(model, lambda x, y: [(model(x) - y)[0]], torch.zeros(3, 2), y)  # 3 x 3 differences
    Traceback (most recent call last):
        ...
    discreet.errors.BadParameter: model is 'Linear', but it must keep the rows of a batch apart, and so must its loss...
    """
    start = {name: buffer.clone() for name, buffer in model.named_buffers()}
    devices = [x.device] if x.device.type == "cuda" else []
    seen: list[tuple[list[Tensor], list[Tensor]]] = []
    try:
        for other in (False, False, True):
            with torch.random.fork_rng(devices=devices), torch.enable_grad():  # the same dropout each time
                found = gradient(_made_up(x, other=other), _made_up(y, other=other))
            with torch.no_grad():
                seen.append(([t.detach() for t in found], [b.clone() for b in model.buffers()]))
                for name, buffer in model.named_buffers():
                    buffer.copy_(start[name])
    except BadParameter:
        raise
    except (RuntimeError, ValueError, IndexError):  # what is made up means nothing to this model
        return
    for one, again, beside, near in zip(*seen, _NEAR, strict=True):
        if _differ(one, beside, near) and not _differ(one, again, near):
            raise BadParameter(
                "model", type(model).__name__, "must keep the rows of a batch apart, and so must its loss: a row's "
                "gradient, or a buffer, depends on other rows (statistics over the batch? outputs of shape (rows, 1) "
                "less targets of shape (rows)? rows that are not the first dimension?)"
            )  # fmt: skip


def _made_up(given: Tensor, *, other: bool) -> Tensor:
    """Three public rows: numbers between 0 and 1, or 0 and 1; the first is always the same."""
    count = given[:1].numel()
    places = torch.arange(3 * count, dtype=torch.float64).view(3, count)
    rows = (1 + torch.sin(1 + places)) / 2 if given.is_floating_point() else (places == 1).double()
    if other:
        rows[1:] = rows[1:].square() if given.is_floating_point() else 1
    return rows.view(3, *given.shape[1:]).to(given.device, given.dtype)


def _differ(ours: list[Tensor], theirs: list[Tensor], near: float) -> bool:
    finite = [[t.float().nan_to_num(0.0, 0.0, 0.0) for t in side] for side in (ours, theirs)]
    return any(float((a - b).norm()) > near * float(a.norm()) for a, b in zip(*finite, strict=True))
