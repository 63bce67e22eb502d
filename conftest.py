"""What holds for every doctest: the same noise in every run, and kernels only where their compiler is."""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from importlib.util import find_spec
from unittest.mock import patch

import pytest

# Triton, the compiler for graphics cards, is made for Linux alone.
collect_ignore_glob = [] if find_spec("triton") else ["src/discreet/learning/torch_training/*_kernels.py"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A doctest shows one run to a reader and judges no law: its random bytes follow from its name, not from luck."""
    if not isinstance(item, pytest.DoctestItem):
        return (yield)
    with patch.object(os, "urandom", random.Random(item.nodeid).randbytes):
        return (yield)
