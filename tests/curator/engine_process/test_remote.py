"""Engines on other machines, as they are opened in the engine's process."""

from __future__ import annotations

import pickle

from discreet.curator.engine_process.remote import RemoteEngine, open_remote


def test_an_address_is_never_shown_and_travels() -> None:
    remote = RemoteEngine("postgres", "postgresql://reader:secret@127.0.0.1/clinic")
    assert "secret" not in repr(remote)
    assert pickle.loads(pickle.dumps(remote)) == remote  # noqa: S301 - our own


def test_engines_are_opened_without_reaching_anything() -> None:
    engine = open_remote(RemoteEngine("postgres", "postgresql://reader:secret@127.0.0.1:9/clinic"), 1.5)
    assert engine.name == "postgres"
    assert "secret" not in repr(engine)
    assert open_remote(RemoteEngine("spark", "local[1]"), 1.5).name == "spark"
