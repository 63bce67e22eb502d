"""Run every benchmark, or those named: ``python -m bench noise``."""

from __future__ import annotations

import importlib
import sys

SUITES = (
    "imports", "noise", "accounting", "mechanisms", "continual", "local", "synthetic", "accuracy", "budgets", "tables",
    "engines", "key_kinds", "rivals", "curator", "learning", "inference",
)  # fmt: skip


def main() -> None:
    for name in sys.argv[1:] or SUITES:
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
