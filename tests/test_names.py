"""The count of names that say nothing: what is planted is counted, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tools.names import MOST, main, places

PLANTED = '''
Floats = list[float]
_PARTS = 3


class Row:
    """A row."""

    known: int

    def asked(self, one):
        """What was asked for by somebody."""
        found = [self.said for told in one]
        found = [lambda this: found]
        match found:
            case [_, known]:
                return known


def keep(rows):
    rows.found = rows.one
    return rows
'''


def test_planted_names_are_counted_once_for_each_scope(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PLANTED)
    (tmp_path / "b.py").write_text("class Row:\n    pass\n\n\nFloats = tuple[float, ...]\n")
    counted = places(tmp_path)
    assert sorted(name for _, _, name in counted["empty name"]) == [
        "asked", "found", "known", "known", "one", "this", "told"
    ]  # fmt: skip
    assert [name for _, _, name in counted["short docstring"]] == ["Row"]
    assert [name for _, _, name in counted["class of several modules"]] == ["Row"]
    assert [name for _, _, name in counted["type of several modules"]] == ["Floats"]
    assert set(counted) == set(MOST)
    assert main([str(tmp_path)]) == 0
