"""What a model must be so that one row's gradient is a function of that row alone; refused by name otherwise."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from discreet.errors import BadData, BadParameter
from discreet.learning.torch_training.layers import rule_for


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


def check_targets(loss: Any, outputs: Any, targets: Tensor) -> None:
    """Refuse classes that the model has no output for, where the loss is torch's own, which would stop in mid-run.

    >>> import torch
    >>> check_targets(nn.CrossEntropyLoss(), torch.zeros(2, 3), torch.tensor([0, 2, 3]))
    Traceback (most recent call last):
        ...
    discreet.errors.BadData: the targets hold classes that the model has no output for: they must be 0 to 2
    """
    if not isinstance(loss, (nn.CrossEntropyLoss, nn.NLLLoss)) or targets.is_floating_point() or outputs.dim() < 2:
        return
    last = outputs.shape[1] - 1
    known = ((targets >= 0) & (targets <= last)) | (targets == loss.ignore_index)
    if not bool(known.all()):
        raise BadData(f"the targets hold classes that the model has no output for: they must be 0 to {last}")
