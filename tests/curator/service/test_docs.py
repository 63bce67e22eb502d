"""The page about the curator knows every route, setting and limit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from discreet.curator.access import TABLE
from discreet.curator.config import Config, Entrusted
from discreet.curator.declared import CAPS
from discreet.curator.limits import Limits

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "curator.md").read_text()


def test_every_route_is_there() -> None:
    assert not [f"{method} {path}" for method, path in TABLE if f"`{method} {path}`" not in PAGE]


def test_every_setting_is_there() -> None:
    named = [field.name for kind in (Config, Entrusted, Limits) for field in fields(kind)]
    missing = [name for name in (*named, *CAPS) if name not in PAGE]
    assert missing == []
