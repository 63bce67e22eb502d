"""Totals of all parameters in one buffer."""

import torch
from torch import nn

from discreet.learning.torch_training.totals import ROOM, Totals


def test_views_share_the_buffer_and_its_type_holds_the_largest_sum() -> None:
    parameters = [nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(4))]
    for most, kind in (((1 << 31) - ROOM - 1, torch.int32), ((1 << 31) - ROOM, torch.int64)):
        totals = Totals(parameters, most)
        assert totals.flat.dtype == kind
        totals.of[parameters[0]].add_(most)
        totals.views[1].sub_(most)
        assert totals.flat.tolist() == [most] * 6 + [-most] * 4
        totals.clear()
        assert not totals.flat.any()
