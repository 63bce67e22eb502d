"""In ``make test`` random bytes follow from the name of the test, in its own process and nowhere else."""

from __future__ import annotations

import os

import numpy as np
import pytest

from discreet.noise import discrete_laplace
from tests.helpers.extent import AUDIT
from tests.helpers.seeded_bytes import randomness_from


def draw() -> tuple[list[int], int]:
    return discrete_laplace(1000, size=500).tolist(), int(np.random.default_rng().integers(1 << 62))


def test_a_name_gives_noise_and_another_name_gives_other_noise() -> None:
    found = []
    for name in ("a", "a", "b"):
        with randomness_from(name):
            found.append(draw())
    assert found[0] == found[1]
    assert all(x != y for x, y in zip(found[0], found[2], strict=True))


@pytest.mark.skipif(AUDIT, reason="`make audit` draws fresh bytes")
def test_this_test_draws_the_bytes_of_its_name(request: pytest.FixtureRequest) -> None:
    """With the system's, two strings of 16 bytes are alike with chance 2^-128."""
    first = os.urandom(16)
    with randomness_from(request.node.nodeid):
        assert os.urandom(16) == first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_processes_draw_their_own() -> None:
    with randomness_from("a"):
        strings = {forked_bytes() for _ in range(3)}
    assert len(strings) == 3


def forked_bytes() -> bytes:
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, os.urandom(16))
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as found:
        return found.read()
