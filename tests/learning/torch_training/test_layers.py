"""Which layers have a rule; the gradients themselves are tested in test_gradients.py."""

import pytest
import torch
from torch import nn

from discreet.learning.torch_training.layers import RULES, _same_token_squares_up, rule_for, squared


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


@pytest.mark.parametrize("tokens", [1, 2, 40])
def test_squares_of_tokens_that_cancel_are_bounded_from_above(tokens: int) -> None:
    """Integers near 2^31 in pairs that nearly cancel, beside Python's; doubles alone are below the truth for some."""
    generator = torch.Generator().manual_seed(7)
    values = torch.randint(-(1 << 30), 1 << 30, (30, tokens, 9), generator=generator)
    if tokens > 1:
        values[:, 1::2] = -values[:, ::2] + torch.randint(-99, 99, (30, tokens // 2, 9), generator=generator)
    bounds = _same_token_squares_up(torch.zeros(30, tokens, dtype=torch.int64), values.double())
    for row, bound in zip(values.tolist(), bounds.tolist(), strict=True):
        assert bound >= sum(sum(column) ** 2 for column in zip(*row, strict=True))
