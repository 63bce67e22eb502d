"""Ten typical answers as people read them: their words are kept in tests/golden, with # for every released number.

``python -m tests.test_golden`` writes the files anew, to be read sentence by sentence before they are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import DiscreetError

CHOSEN_CAPS = True
GOLDEN = Path(__file__).resolve().parent / "golden"
FEW = [("North", 12.0), ("South", 30.5), ("North", 7.25), ("City", 99.0), ("City", 3.0)] * 2


def hospital(budget: Any, **declared: Any) -> dp.Session:
    """Visits of 5,000 patients to three clinics."""
    rows = {
        "patient_id": [i // 4 for i in range(20_000)],
        "clinic": [("North", "South", "City")[i % 3] for i in range(20_000)],
        "cost": [float(i * 37 % 900) for i in range(20_000)],
    }
    return dp.Session(visits=dp.table(rows, unit="patient_id", **declared), budget=budget)


def readme() -> object:
    columns = {"clinic": dp.keys(["North", "South", "City"])}
    query = hospital(dp.Pure(1), columns=columns).sql("SELECT clinic, COUNT(*) AS visits FROM visits GROUP BY clinic")
    return query.release(epsilon=1)


def tutorial() -> object:
    columns = {"clinic": dp.keys(["North", "South", "City"]), "cost": dp.bounds(0, 1_000)}
    session = hospital(dp.Approx(2, "1e-9"), columns=columns, max_rows=4)
    text = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic"
    return session.sql(text).release(epsilon="0.3")


def adult() -> object:
    """One row for each person, several aggregates of one column."""
    rows = {"hours": [20 + i * 13 % 60 for i in range(30_000)], "sex": ["F", "M", "M"] * 10_000}
    columns = {"hours": dp.bounds(0, 100), "sex": dp.keys(["F", "M"])}
    session = dp.Session(adult=dp.table(rows, unit=dp.each_row, columns=columns), budget=dp.Pure(1))
    text = "SELECT sex, COUNT(*) AS people, AVG(hours) AS mean, MEDIAN(hours) AS median FROM adult GROUP BY sex"
    return session.sql(text).release(epsilon=1)


def trips() -> object:
    """A few riders with very many trips, and nothing declared."""
    riders = np.repeat(np.arange(3_000), [400 if i < 30 else 1 + i % 9 for i in range(3_000)])
    rows = {"rider": riders, "fare": (np.arange(len(riders)) * 7 % 40 + 3).astype(float)}
    session = dp.Session(trips=dp.table(rows, unit="rider"), budget=dp.Approx(1, "1e-6"))
    return session.sql("SELECT COUNT(*) AS trips, SUM(fare) AS fares FROM trips").release(epsilon=1)


def ten_rows() -> object:
    rows = {"id": list(range(10)), "clinic": [c for c, _ in FEW], "cost": [v for _, v in FEW]}
    session = dp.Session(visits=dp.table(rows, unit="id"), budget=dp.Pure(1))
    return session.sql("SELECT COUNT(*) AS n, AVG(cost) AS mean, SUM(cost) AS total FROM visits").release(epsilon=1)


def refused() -> object:
    return hospital(dp.Pure(1)).sql("SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id")


def spent() -> object:
    session = hospital(dp.Pure("0.3"))
    query = session.sql("SELECT COUNT(*) AS n FROM visits")
    query.release(epsilon="0.2")
    return query.release(epsilon="0.2")


def joined() -> object:
    patients = {"id": list(range(5_000)), "age": [20 + i % 60 for i in range(5_000)]}
    visits = {"patient": [i // 4 for i in range(20_000)], "cost": [float(i * 37 % 900) for i in range(20_000)]}
    session = dp.Session(
        visits=dp.table(visits, unit="patient", columns={"cost": dp.bounds(0, 900)}, max_rows=4),
        patients=dp.table(patients, unit="id", columns={"age": dp.bounds(0, 120)}),
        budget=dp.Pure(1),
    )
    text = "SELECT COUNT(*) AS n, AVG(v.cost) AS mean FROM visits AS v JOIN patients AS p ON v.patient = p.id "
    return session.sql(text + "WHERE p.age > 60").release(epsilon=1)


def dashboard() -> object:
    days = [date(2025, 1, 1), date(2025, 1, 2), date(2025, 1, 3)]
    rows = {"patient": [i // 3 for i in range(9_000)], "day": [days[i % 3] for i in range(9_000)]}
    columns = {"day": dp.bounds("2025-01-01", "2025-01-31")}
    session = dp.Session(
        visits=dp.table(rows, unit="patient", columns=columns, max_rows=3), budget=dp.Approx(1, "1e-6")
    )
    board = session.continual("SELECT COUNT(*) AS n FROM visits", by="day", horizon=31, epsilon=1)
    return board.advance("2025-01-01").total


def synthetic() -> object:
    columns = {"clinic": dp.keys(["North", "South", "City"]), "cost": dp.bounds(0, 1_000)}
    session = hospital(dp.Approx(2, "1e-9"), columns=columns, max_rows=4)
    return session.synthesize("visits", epsilon=1, delta="1e-9")


ANSWERS: tuple[Callable[[], object], ...] = (
    readme, tutorial, adult, trips, ten_rows, refused, spent, joined, dashboard, synthetic,
)  # fmt: skip


def as_read(answer: Callable[[], object]) -> str:
    """What a person reads, with # in the place of each number that noise or a choice decides."""
    try:
        text = str(answer())
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}\n"
    table, *below = re.split(r"(?=^spent )", text, maxsplit=1, flags=re.MULTILINE)
    number = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
    table = re.sub(r" +", " ", re.sub(rf"(?<![\w.]){number}", "#", table).replace("NULL", "#"))
    chosen = rf"(?<=outside ){number} to {number}|(?<=than |most ){number}|(?<=above |about ){number}%?"
    lines = [re.sub(chosen, "#", line) for line in below]
    return "\n".join(line.strip() for line in (table + "".join(lines)).splitlines()) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_reads_as_it_was_read_before(answer: Callable[[], object]) -> None:
    assert as_read(answer) == (GOLDEN / f"{answer.__name__}.txt").read_text("utf-8")


def test_at_most_two_lines_stand_under_a_table_and_no_sentence_is_long() -> None:
    for file in GOLDEN.glob("*.txt"):
        _, *below = file.read_text("utf-8").split("\nspent ")
        lines = "".join(below).splitlines()
        assert len(lines) <= 2, file.name
        sentences = [sentence for line in lines for sentence in re.split(r"[.;:] ", line)]
        assert max((len(sentence.split()) for sentence in sentences), default=0) <= 25, file.name


def test_a_planted_sentence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other words under a table are seen, other numbers are not."""
    monkeypatch.setattr(dp.TableAnswer, "footer", lambda *_: ("spent epsilon 1", "what is beyond is not in the bars"))
    assert as_read(readme) != (GOLDEN / "readme.txt").read_text("utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for reader in ANSWERS:
        (GOLDEN / f"{reader.__name__}.txt").write_text(as_read(reader), "utf-8")
