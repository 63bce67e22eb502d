"""Questions on servers and clusters beside the floor there. All engines, or those named:

.venv-bench/bin/python -m bench.engines postgres
"""

from __future__ import annotations

import importlib
import sys

ENGINES = {"postgres": "bench.on_postgres", "spark": "bench.on_spark"}


def main() -> None:
    for name in [word for word in sys.argv[1:] if word in ENGINES] or ENGINES:
        importlib.import_module(ENGINES[name]).main()


if __name__ == "__main__":
    main()
