"""The table at the end of an attack: as text, as data, as HTML, as a picture."""

import json
from typing import Any

import matplotlib as mpl
import pytest

from discreet.checking import attacks
from discreet.checking.attacks.table import AttackTable, Row
from discreet.errors import BadParameter

mpl.use("Agg")

TABLE = AttackTable("a <test>", "guesses", (Row("no noise", 1.0), Row("noise & more", 0.5, 0.75)), "a note")


def test_tables_print_travel_and_draw() -> None:
    table = attacks.differencing(trials=50)
    assert "attack" in str(table)
    assert "no promise" in str(table)
    assert json.loads(json.dumps(table.to_dict()))["rows"][0]["attack"] == 1.0
    assert "<table>" in table.to_html()
    assert table.plot().axes[0].get_title() == "differencing"


def test_columns_stand_below_each_other() -> None:
    assert str(TABLE).splitlines() == [
        "a <test>: guesses",
        "  setting        attack   at most",
        "  no noise       1.000    no promise",
        "  noise & more   0.500    0.750",
        "  a note",
    ]


def test_html_is_escaped() -> None:
    page = TABLE.to_html()
    assert "a &lt;test&gt;" in page
    assert "noise &amp; more" in page
    assert "<test>" not in page
    assert TABLE._repr_html_() == page


def test_a_row_is_found_by_how_it_starts() -> None:
    assert TABLE.row("noise").bound == 0.75
    with pytest.raises(BadParameter, match="no noise"):
        TABLE.row("something else")


def test_an_attack_may_draw_its_own_picture() -> None:
    drawn: list[Any] = []
    table = AttackTable("t", "m", (Row("a", 1.0),), picture=drawn.append)
    assert table.plot().axes == drawn
    bars: list[Any] = list(TABLE.plot().axes[0].patches)
    assert [bar.get_width() for bar in bars] == [1.0, 0.5]
