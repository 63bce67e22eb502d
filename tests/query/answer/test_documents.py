"""Answers as HTML, LaTeX and Excel: intervals beside the numbers, grey or hidden where wide, text as text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.query.answer.documents import HIDDEN, Cell, Document, as_latex
from discreet.query.answer.export import write_rows

CLINICS = ["North & <Co>", "=1+1", "Ü\\_%$", "rare"]


@pytest.fixture(scope="module")
def answer() -> Any:
    """Three large groups and one of which the noise is larger than the count."""
    rows = {"patient": list(range(3030)), "clinic": [CLINICS[i % 3] if i < 3000 else "rare" for i in range(3030)]}
    table = dp.table(rows, unit="patient", columns={"clinic": dp.keys(CLINICS)}, max_rows=1)
    session = dp.Session(t=table, budget=dp.Pure(1))
    return session.sql("SELECT clinic, COUNT(*) AS n FROM t GROUP BY clinic").release(epsilon="0.05")


class Cells(HTMLParser):
    """The texts of all cells of a page, and whether each is grey."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[tuple[str, bool]] = []
        self._text: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self._text, self._grey = "", ("class", "wide") in attrs
        assert tag not in ("script", "co")

    def handle_data(self, data: str) -> None:
        self._text = None if self._text is None else self._text + data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.cells.append((self._text or "", self._grey))
            self._text = None


def printed(answer: Any) -> list[list[str]]:
    return [line.rsplit("  ", 1) for line in str(answer).splitlines()[: len(answer) + 1]]


def test_a_page_has_what_is_printed(answer: Any, tmp_path: Path) -> None:
    answer.write(tmp_path / "answer.html")
    page = (tmp_path / "answer.html").read_text(encoding="utf-8")
    texts = [text for text, _ in Cells(page).cells]
    assert texts == [cell.strip() for row in printed(answer) for cell in row]
    assert "±" in texts[3]
    assert "spent epsilon 0.05; ± is a 95% confidence interval" in page
    assert all(step.replace("<", "&lt;")[:20] in page for step in answer.story)


def test_wide_numbers_are_grey_or_hidden(answer: Any, tmp_path: Path) -> None:
    wide = answer.too_wide("0.3")["n"]
    assert [name for name, is_wide in zip(answer["clinic"], wide, strict=True) if is_wide] == ["rare"]
    answer.write(tmp_path / "grey.html", grey_above="0.3")
    answer.write(tmp_path / "hidden.html", hide_above="0.3")
    grey = Cells((tmp_path / "grey.html").read_text(encoding="utf-8")).cells
    assert [text for text, is_grey in grey if is_grey] == [
        f"{row[1].strip()}" for row in printed(answer) if "rare" in row[0]
    ]
    page = (tmp_path / "hidden.html").read_text(encoding="utf-8")
    assert [text for text, _ in Cells(page).cells].count(HIDDEN) == 1
    assert "more than 30% of the number" in page
    answer.write(tmp_path / "hidden.parquet", hide_above="0.3")
    rows = pq.read_table(tmp_path / "hidden.parquet").to_pylist()
    assert [row["clinic"] for row in rows if row["n"] is None and row["n_error"] is None] == ["rare"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a"])
def test_a_file_without_colours_has_no_grey(answer: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadParameter, match="grey_above"):
        answer.write(tmp_path / name, grey_above="0.3")
    with pytest.raises(BadParameter, match="share"):
        answer.write(tmp_path / "a.html", hide_above=-1)
    assert not list(tmp_path.iterdir())


def test_a_latex_table_holds_no_command_of_a_key(answer: Any, tmp_path: Path) -> None:
    answer.write(tmp_path / "answer.tex", grey_above="0.3")
    text = (tmp_path / "answer.tex").read_text(encoding="utf-8")
    assert r"Ü\textbackslash{}\_\%\$" in text
    assert r"North \& <Co>" in text
    assert text.split(r"\end{tabular}")[0].count(r" $\pm$ ") == len(answer)
    assert text.count(r"\textcolor{gray}") == 1
    assert text.count(r"\begin{tabular}{lr}") == text.count(r"\end{tabular}") == 1


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_no_name_ends_a_line_of_latex(end: str) -> None:
    """After one a note is no comment any more: what follows was a command."""
    name = rf"s{end}{end}\input{{secret}}"
    made = Document((name,), frozenset(), lambda: iter([[Cell(name, name)]]), (name,), {"notes": [name]})
    for line in as_latex(made):
        assert len(line.splitlines()) == 1
        assert r"\input" not in line.partition("%")[0]


def test_a_workbook_has_numbers_intervals_and_no_formula(answer: Any, tmp_path: Path) -> None:
    answer.write(tmp_path / "answer.xlsx", hide_above="0.3", confidence="0.9")
    book = openpyxl.load_workbook(tmp_path / "answer.xlsx")
    head, *rows = book["answer"].iter_rows(values_only=True)
    assert head == ("clinic", "n", "n_low", "n_high")
    ends = answer.intervals("0.9")["n"]
    for row, name, n, (low, high) in zip(rows, answer["clinic"], answer["n"], ends, strict=True):
        expected = (HIDDEN, None, None) if name == "rare" else (n, pytest.approx(low), pytest.approx(high))
        assert row == (name, *expected)
    assert {cell.data_type for line in book["answer"].iter_rows() for cell in line} <= {"s", "n"}
    about = dict(book["about"].iter_rows(values_only=True))
    assert (about["spent"], about["confidence_of_errors"]) == ("epsilon 0.05", "90%")


@pytest.mark.parametrize("name", ["a.html", "a.tex", "a.xlsx"])
def test_nothing_is_written_over_and_half_a_file_does_not_stay(
    answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(BadParameter, match="must not be there yet"):
        answer.write(tmp_path / name)
    assert (tmp_path / name).read_text() == "mine"
    (tmp_path / name).unlink()
    monkeypatch.setattr(type(answer), "_document_rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        answer.write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_rows_of_other_kinds_are_refused_there(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"\.html"):
        write_rows(tmp_path / "a.json", lambda: iter(()))
