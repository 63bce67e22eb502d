"""Which layers have a rule; the gradients themselves are tested in test_gradients.py."""

import torch
from torch import nn

from discreet.learning.torch_training.layers import RULES, rule_for, squared


def test_rules_are_for_the_very_type() -> None:
    class Other(nn.Linear):
        """May compute anything."""

    assert rule_for(Other(2, 2)) is None
    assert rule_for(nn.Embedding(3, 2, max_norm=1.0)) is None
    assert rule_for(nn.Conv2d(2, 2, 3, padding_mode="circular")) is None
    assert set(RULES) >= {nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.LayerNorm, nn.GroupNorm}


def test_wide_rows_are_squared_in_doubles() -> None:
    rows = torch.full((1, 100_000), 1.0)
    assert abs(float(squared(rows)) - 100_000) < 1e-9
