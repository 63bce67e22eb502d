"""What is refused by name, and what has no rule."""

import pytest
import torch
from torch import nn

from discreet.errors import BadParameter
from discreet.learning.torch_training.checks import check_losses, check_model, known_targets, unsupported


def test_the_layer_is_named_with_a_hint() -> None:
    with pytest.raises(BadParameter, match=r"layer '1'.*GroupNorm"):
        check_model(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))


def test_a_model_of_many_workers_is_refused() -> None:
    with pytest.raises(BadParameter, match="spread over processes"):
        check_model(nn.DataParallel(nn.Linear(2, 2)))


def test_layers_without_a_rule() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Bilinear(2, 2, 2), nn.Conv2d(2, 2, 3, padding="same"))
    assert unsupported(model) == ["1", "2"]
    assert unsupported(nn.Sequential(nn.Linear(2, 2), nn.Bilinear(2, 2, 2).requires_grad_(False))) == []


def test_losses() -> None:
    assert check_losses(torch.zeros(3, 4), 3).shape == (3,)
    for bad in (torch.zeros(()), torch.zeros(2)):
        with pytest.raises(BadParameter):
            check_losses(bad, 3)


def test_classes_without_an_output() -> None:
    """They were an error, which told that somebody has one; the loss leaves them out."""
    outputs = torch.zeros(2, 3)
    for bad, right in (([0, 3], [0, -100]), ([-1, 2], [-100, 2])):
        assert known_targets(nn.NLLLoss(), outputs, torch.tensor(bad)).tolist() == right
    kept = torch.tensor([0, 2, 9])
    assert known_targets(nn.CrossEntropyLoss(ignore_index=9), outputs, kept).tolist() == [0, 2, 9]
    shares = torch.rand(4, 3)  # of classes
    assert known_targets(nn.CrossEntropyLoss(), outputs, shares) is shares
    assert known_targets(nn.MSELoss(), outputs, torch.tensor([7, 8])).tolist() == [7, 8]
