"""What a team pays for the same dashboard: ``python -m bench.reuse``.

Five analysts ask a curator the same dashboard statements (``tests/corpora/dashboards_like``), one after the other, each
at epsilon 1. Printed: what was charged beside what would be without reuse, which is five times one analyst's cost at
the same error; and how often the 95 % intervals of the answers hold the numbers that the same statements have almost
without noise. Statements that are refused are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import discreet as dp
from bench.sql_corpora import CAP, DELTA, OURS, PRICE, rows, texts
from discreet.curator.http.responses import read_answer as shape
from discreet.curator.service.config import config_of
from discreet.curator.service.declarations import write_column
from discreet.curator.service.library import read_answer
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.curator.service.service import Curator
from discreet.errors import DiscreetError
from discreet.query.answer.answer import TableAnswer
from discreet.session.price import Price

FOLDER = OURS / "dashboards_like"
DRAWS = 6
"""How often each statement is asked for its intervals alone; these are not among the charges that are counted."""
ANALYSTS = [f"analyst {i}" for i in range(5)]


def curator_of(folder: Path) -> Curator:
    """A curator with the tables of the corpus."""
    made, declared = rows(FOLDER)
    given: dict[str, Any] = json.loads((FOLDER / "tables.json").read_text())
    tables = {}
    for name, data in made.items():
        pq.write_table(data, folder / f"{name}.parquet")
        columns = {column: write_column(about) for column, about in declared[name].columns.items()}
        caps = {"max_rows": CAP, "max_groups": 512, "max_rows_per_group": CAP}
        private: dict[str, Any] = (
            {"public": True} if given[name].get("public") else {"unit": given[name]["unit"], **caps}
        )
        tables[name] = {"source": f"{name}.parquet", "columns": columns, **private}
    budget = {"epsilon": "1000000", "delta": "0.01"}
    file = {
        "server": {"data": ".", "quantum": "0.01", "grid": "even", "engines": 1},
        "limits": {"groups": 1_000_000, "planning": 60},
        "datasets": {"boards": {"budget": budget, "tables": tables}},
    }
    curator = open_curator(config_of(file, folder), create=True)
    for name in ANALYSTS:
        curator.ledger.owner.add_analyst(name)
        curator.ledger.owner.grant(name, "boards")
    return curator


def covered(stored: dict[str, Any], truth: TableAnswer) -> tuple[int, int]:
    """How many intervals of an answer hold the number, and how many there are."""
    answer, noisy = shape(stored), set(stored["errors"])
    labels = [i for i, name in enumerate(stored["columns"]) if name not in noisy]

    def key(row: Any) -> tuple[str, ...]:
        return tuple(str(row[i]) for i in labels)

    plain = {key([str(row[name]) for name in truth.columns]): row for row in truth.rows}
    held = many = 0
    for i, row in enumerate(answer.rows):  # type: ignore[union-attr]
        there = plain.get(key(row))
        for name in noisy & set(stored["intervals"]) - set(stored["kinds"]):
            ends = stored["intervals"][name][i]
            if there is None or ends is None or None in ends or there[name] is None:
                continue
            slack = 1e-6 * max(1.0, abs(there[name]))
            held, many = held + (ends[0] - slack <= there[name] <= ends[1] + slack), many + 1
    return held, many


def main() -> None:
    asked = texts(FOLDER)[: int(sys.argv[1]) if len(sys.argv) > 1 else None]
    _, declared = rows(FOLDER)
    exact = dp.Session(declared, budget=dp.Approx(10**15, "0.5"), progress=False)
    with tempfile.TemporaryDirectory() as folder:
        curator = curator_of(Path(folder))
        answered, free, held, many, began = 0, 0, 0, 0, time.process_time()
        for name in ANALYSTS:
            caller = curator.access.who(f"Bearer {curator.access.issue(name, Role.ANALYST)}")
            for text in asked:
                question = SqlQuestion(sql=text.sql, price=Price("1", DELTA, confidence="0.95"), dialect=text.dialect)
                try:
                    charge = curator.ask(caller, "boards", question)
                except DiscreetError:
                    continue
                stored = read_answer(charge)
                if "error" in stored:
                    continue
                answered, free = answered + 1, free + charge.again
                if name == ANALYSTS[0]:
                    truth = exact.sql(text.sql, dialect=text.dialect).release(epsilon=PRICE, delta=DELTA)
                    others = [curator.ask(caller, "boards", question, fresh=True) for _ in range(DRAWS - 1)]
                    for drawn in (charge, *others):
                        holding, intervals = covered(read_answer(drawn), truth)
                        held, many = held + holding, many + intervals
        curator.close()
    charged = answered - free
    print(f"{len(asked)} statements, {len(ANALYSTS)} analysts: {answered} answers, {charged} charged, {free} free")
    print(f"charged: {charged / answered:.1%} of what it was without reuse (25 % asked)")
    print(f"{held / max(1, many):.1%} of {many:,} intervals hold (95 % asked); {time.process_time() - began:.0f} s")


if __name__ == "__main__":
    main()
