"""Random bytes that follow from a name, in place of the system's: the same noise in every run."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def noise_from(name: str) -> Iterator[None]:
    """What ``SystemBits`` draws in this process; keys and tokens (``secrets``) stay as they are."""
    with patch.object(os, "urandom", bytes_from(name)):
        yield


@contextmanager
def randomness_from(name: str) -> Iterator[None]:
    """The same for new generators of numpy, and for ``secrets``, from which they take their seeds."""
    with noise_from(name), patch.object(random, "_urandom", bytes_from(f"{name}, secrets")):
        yield


def bytes_from(name: str) -> Callable[[int], bytes]:
    """A stand-in for ``os.urandom``. In a forked process it is the real one: two may not draw the same keys."""
    draw, home, fresh = random.Random(name).randbytes, os.getpid(), os.urandom
    return lambda count: draw(count) if os.getpid() == home else fresh(count)
