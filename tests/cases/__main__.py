"""``python -m tests.cases``: which case files no longer say what happens; with ``--write``, they are written anew."""

import sys

from tests.helpers.cases import FOLDER, cases, written

if __name__ == "__main__":
    stale = [now for case in cases().values() if (now := written(case)) != case]
    for case in stale:
        sys.stdout.write(f"{case.name}\n")
        if "--write" in sys.argv[1:]:
            (FOLDER / f"{case.name}.txt").write_text(case.text(), encoding="utf-8")
    sys.exit(bool(stale) and "--write" not in sys.argv[1:])
