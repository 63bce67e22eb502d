"""A curator's tables from another machine, used like a session."""

from discreet.curator.client.client import connect

__all__ = ["connect"]
