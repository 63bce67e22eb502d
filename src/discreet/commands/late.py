"""Parts of the curator that need the `server` extra, fetched when a command needs them: the rest works without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def late(module: str) -> Any:
    """A module of this room; MissingExtra if what it needs is not installed."""
    return import_module(f"discreet.curator.{module}")
