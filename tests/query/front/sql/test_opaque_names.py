"""Names that sqlglot reads as no word of SQL."""

from __future__ import annotations

import pytest

from discreet.query.front.sql.opaque_names import opaque, spelled


@pytest.mark.parametrize("name", ["a", "select", "größe", 'a "b"', ""])
def test_a_name_comes_back(name: str) -> None:
    assert spelled(opaque(name)) == name
    assert opaque(name).isidentifier() is False


def test_what_was_never_hidden_stays() -> None:
    assert spelled("clinic") == "clinic"
