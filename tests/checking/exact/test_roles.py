"""Who plays which role: mechanisms, releases, maps, and what plays none."""

from types import SimpleNamespace
from typing import Any

import pytest

from discreet import stable
from discreet.checking.exact import roles
from discreet.mechanisms.additive.laplace import laplace

NOISE = laplace(sensitivity=1, epsilon=1)
RELEASE = stable.count() >> laplace(epsilon=1)


@pytest.mark.parametrize(
    ("thing", "role", "plays"),
    [
        (NOISE, roles.ClaimsPrivacy, True),
        (NOISE, roles.ReadsAndDraws, True),
        (NOISE, roles.OfRows, False),
        (RELEASE, roles.DrawsOfRows, True),
        (RELEASE, roles.MapThenMechanism, True),
        (stable.count(), roles.OfRows, True),
        (stable.count(), roles.Draws, False),
        (SimpleNamespace(parts=(), by=None), roles.HasParts, True),
        (SimpleNamespace(parts=()), roles.HasParts, False),
        (SimpleNamespace(releases=()), roles.HasReleases, True),
        (None, roles.HasRelease, False),
    ],
    ids=str,
)
def test_roles(thing: Any, role: Any, plays: bool) -> None:
    assert isinstance(thing, role) is plays
