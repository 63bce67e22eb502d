"""Integer sums for all parameters of a model, side by side in one buffer, so that noise is added in one pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ROOM = 1 << 28
"""What may be added to sums of 32 bits without an overflow."""
_SHORT = (1 << 31) - ROOM


class Totals:
    """Zeros for each parameter, in 32 bits where no sum can come near 2^31.

    >>> totals = Totals([nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(2))], most=10)
    >>> [t.shape for t in totals.views], totals.flat.dtype
    ([torch.Size([2, 3]), torch.Size([2])], torch.int32)
    """

    def __init__(self, parameters: list[nn.Parameter], most: int) -> None:
        sizes = [p.numel() for p in parameters]
        self.flat = torch.zeros(sum(sizes), dtype=self.kind(most), device=parameters[0].device)
        self.views = self.shaped(self.flat, parameters)
        self.of = dict(zip(parameters, self.views, strict=True))

    @staticmethod
    def kind(most: int) -> torch.dtype:
        """The shortest type in which no sum overflows."""
        return torch.int32 if most < _SHORT else torch.int64

    @staticmethod
    def shaped(flat: Tensor, parameters: list[nn.Parameter]) -> list[Tensor]:
        """Parts of a flat tensor in the shapes of the parameters."""
        return [t.view(p.shape) for t, p in zip(flat.split([p.numel() for p in parameters]), parameters, strict=True)]

    def clear(self) -> None:
        """Zeros again."""
        self.flat.zero_()
