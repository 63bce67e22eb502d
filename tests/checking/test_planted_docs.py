"""The table of planted faults in docs/how-to/check.md is the list in planted.py."""

from pathlib import Path

from bench.rivals import RIVALS
from discreet.checking import attacks
from tests.checking.planted import FAULTS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_lists_every_planted_fault() -> None:
    page = (DOCS / "how-to" / "check.md").read_text()
    start = page.index("| planted fault |")
    table = page[start : page.index("\n\n", start)].splitlines()[2:]
    assert table == [f"| {fault.name} | {fault.seen} | {fault.by} |" for fault in FAULTS]


def test_the_page_lists_every_rival_claim() -> None:
    page = (DOCS / "how-to" / "check.md").read_text()
    assert all(f"| {rival.described} |" in page for rival in RIVALS)


def test_the_page_names_every_attack() -> None:
    page = (DOCS / "explanation" / "attacks.md").read_text()
    assert all(f"`{name}`" in page for name in attacks.__all__ if name[0].islower())
