"""README.md keeps its word: its commands print intervals that contain the numbers of the sample."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from discreet.commands.app import app, load_command
from discreet.commands.sample_hospital import write_hospital
from tests.helpers.seeded_bytes import noise_from
from tools.site import answer_picture
from tools.site.cells import cells

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
RUNS, MOST = 24, 9
"""A number is wrong if more than 9 of its 24 intervals, each stated at 95%, miss."""
PRINTED = re.compile(r"^ *(?:(?P<name>[A-Z]\w+) +)?(?P<value>[\d,.]+) ± (?P<error>[\d,.]+) *$", re.MULTILINE)


def asks() -> list[list[str]]:
    """The words of each ``discreet ask`` of the README."""
    code = "".join(cell.source for cell in cells(README) if cell.kind == "bash").replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in code.split("\n") if line.startswith("discreet ask")]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("readme")
    write_hospital(folder / "hospital")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        load_command("ask")
        yield folder


def printed(words: list[str]) -> list[tuple[str, float, float]]:
    text = CliRunner().invoke(app, words).output
    number = {part: lambda row, part=part: float(row[part].replace(",", "")) for part in ("value", "error")}
    return [(row["name"] or "", number["value"](row), number["error"](row)) for row in PRINTED.finditer(text)]


def truth(words: list[str]) -> dict[str, float]:
    file, sql = words[1], next(word for word in words if word.startswith("SELECT"))
    rows = duckdb.execute(sql.replace("FROM visits", f"FROM '{file}'")).fetchall()
    return {row[0] if len(row) > 1 else "": float(row[-1]) for row in rows}


def test_a_right_answer_is_refused_once_in_a_million_runs() -> None:
    """Union bound over the numbers of the three commands: a total, a median and four clinics."""
    chance = Fraction(1, 20)
    tail = sum(comb(RUNS, k) * chance**k * (1 - chance) ** (RUNS - k) for k in range(MOST + 1, RUNS + 1))
    assert 6 * tail <= Fraction(1, 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("words", asks(), ids=lambda words: words[-1])
def test_the_printed_interval_contains_the_truth_of_the_sample(words: list[str], hospital: Path) -> None:
    """24 runs of each command. The twin moves the truth by two intervals, and must fail."""
    exact = truth(words)
    missed, twin = dict.fromkeys(exact, 0), dict.fromkeys(exact, 0)
    for run in range(RUNS):
        with noise_from(f"README {words[-1]} {run}"):
            answer = printed(words)
        assert {name for name, _, _ in answer} == set(exact)
        for name, value, error in answer:
            missed[name] += abs(value - exact[name]) > error
            twin[name] += abs(value - exact[name] - 2 * error) > error
    assert max(missed.values()) <= MOST
    assert min(twin.values()) > MOST


def test_the_table_that_is_shown_is_of_the_sample(hospital: Path) -> None:
    """Numbers on the page are one run: within three intervals of the exact ones, and at most one outside its own."""
    exact = truth(next(words for words in asks() if "clinic" in words[-1]))
    shown = answer_picture.rows(README)
    assert [row.name for row in shown] == sorted(exact)
    assert sum(abs(row.value - exact[row.name]) > row.error for row in shown) <= 1
    assert all(abs(row.value - exact[row.name]) < 3 * row.error for row in shown)


def test_the_picture_is_drawn_from_the_table() -> None:
    assert answer_picture.FILE.read_text() == answer_picture.draw()
