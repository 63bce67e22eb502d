"""Facts about files by which a change is noticed."""

from __future__ import annotations

import gzip
from pathlib import Path

from discreet.curator.engine_process.file_facts import file_facts


def test_of_csv_the_first_line_counts_and_of_others_it_does_not(tmp_path: Path) -> None:
    plain, packed, other = tmp_path / "a.csv", tmp_path / "b.csv.gz", tmp_path / "c.parquet"
    plain.write_text("who,text\n1,x\n")
    packed.write_bytes(gzip.compress(b"who,text\n1,x\n"))
    other.write_bytes(b"PAR1")
    for path in (plain, packed):
        facts = file_facts([str(path)])
        assert facts is not None
        assert facts.first_lines == (b"who,text\n",)
    facts = file_facts(str(other))
    assert facts is not None
    assert facts.first_lines is None


def test_a_change_of_the_file_is_seen_and_a_file_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"one")
    before = file_facts([str(path)])
    path.write_bytes(b"longer")
    assert before != file_facts([str(path)])
    path.unlink()
    assert file_facts([str(path)]) is None


def test_what_is_no_file_has_no_facts() -> None:
    assert file_facts({"a": [1]}) is None
    assert file_facts([1, 2]) is None
