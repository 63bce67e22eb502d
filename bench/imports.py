"""How long ``import`` takes, in a process of its own, beside the peers."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.measure import Row, show

CLOCK = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"
PEERS = ("opendp.prelude", "diffprivlib", "dp_accounting")


def import_seconds(module: str) -> float:
    """Median CPU seconds of a fresh import."""
    run = [sys.executable, "-c", CLOCK.format(module)]
    return statistics.median(
        float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(5)
    )


def main() -> None:
    ours = import_seconds("discreet")
    rows = [Row("import", f"{ours:.2f} s", "limit", "0.50 s", 0.5 / ours, 1)]
    for peer in PEERS:
        theirs = import_seconds(peer)
        rows.append(Row("import", f"{ours:.2f} s", peer, f"{theirs:.2f} s", theirs / ours, 0))
    show("Import", rows)


if __name__ == "__main__":
    main()
