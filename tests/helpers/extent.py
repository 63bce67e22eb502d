"""How much a run tries: a sample in ``make test``, all that is promised in ``make audit``."""

from __future__ import annotations

import os

AUDIT = bool(os.environ.get("DISCREET_AUDIT"))


def extent(usual: int, audit: int) -> int:
    """So many rounds."""
    return audit if AUDIT else usual
