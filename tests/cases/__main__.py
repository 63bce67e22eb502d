"""``python -m tests.cases``: which case files no longer say what happens; with ``--write``, they are written anew."""

import sys

from tests.helpers.cases import FOLDER, cases, warehouse_cases, written, written_for_warehouses

if __name__ == "__main__":
    stale = [(FOLDER, now) for case in cases().values() if (now := written(case)) != case]
    warehouses = ((case, written_for_warehouses(case)) for case in warehouse_cases().values())
    stale += [(FOLDER / "warehouses", now) for case, now in warehouses if now != case]
    for folder, case in stale:
        sys.stdout.write(f"{folder.name}/{case.name}\n")
        if "--write" in sys.argv[1:]:
            (folder / f"{case.name}.txt").write_text(case.text(), encoding="utf-8")
    sys.exit(bool(stale) and "--write" not in sys.argv[1:])
