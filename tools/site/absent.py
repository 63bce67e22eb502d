"""Stand-ins for optional packages that are not installed: code that needs them can then be read, though not run.

The pages of names are made of signatures and docstrings, for which no package of gigabytes has to be there.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType

HEAVY = ("torch",)


class _Stand(type):
    """A class for whatever is asked of it: a base, an annotation, a key, a call or a decorator that changes nothing."""

    def __getattr__(cls, name: str) -> _Stand:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stand(name, (), {})

    def __call__(cls, *given: object, **options: object) -> object:
        return given[0] if len(given) == 1 and isinstance(given[0], FunctionType) else cls


class _StandModule(ModuleType):
    def __getattr__(self, name: str) -> _Stand:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stand(name, (), {})


class _Stands(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in HEAVY else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def stand_in() -> None:
    """Let imports of heavy packages find something, if they are not there."""
    if any(importlib.util.find_spec(name) is None for name in HEAVY):
        sys.meta_path.append(_Stands())
