"""How much a run tries: a sample in ``make test``, all that is promised in ``make audit``."""

from __future__ import annotations

import os

import pytest

AUDIT = bool(os.environ.get("DISCREET_AUDIT"))
only_in_audit = pytest.mark.skipif(not AUDIT, reason="runs in `make audit`")


def extent(usual: int, audit: int) -> int:
    """So many rounds."""
    return audit if AUDIT else usual
