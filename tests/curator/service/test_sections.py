"""Tables read through models: no conversion, our own words, the place of the first mistake."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, StrictInt

from discreet.curator.service.sections import Flag, OptionalText, Section, Text, must, read_section, reads, table_of
from discreet.errors import BadParameter
from discreet.exact import number


class Inner(Section):
    name: Text = "x"
    flag: Flag = True


class Outer(Section):
    inner: Inner = Inner()
    note: OptionalText = None
    many: Annotated[StrictInt, Field(ge=1), must("must be an integer above 0")] = 1
    share: Annotated[Any, reads(number)] = 0
    named: dict[str, Inner] = {}  # noqa: RUF012 - a model copies it


def test_what_fits_is_read_as_it_is() -> None:
    found = read_section(Outer, {"inner": {"name": "y"}, "share": "1/3", "named": {"a.b": {}}}, "top")
    assert (found.inner.name, found.many, found.share) == ("y", 1, number("1/3"))
    assert list(found.named) == ["a.b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "top is 3, but it must be a table of names and values"),
        ({"inner": []}, "top.inner is [], but it must be a table of names and values"),
        ({"other": 1}, "top.other is 1, but it must be left out; known are inner, many, named, note, share"),
        ({"inner": {"other": 1}}, "top.inner.other is 1, but it must be left out; known are flag, name"),
        ({"inner": {"name": ""}}, "top.inner.name is '', but it must be a text"),
        ({"inner": {"flag": 1}}, "top.inner.flag is 1, but it must be true or false"),
        ({"note": 5}, "top.note is 5, but it must be a text"),
        ({"many": True}, "top.many is True, but it must be an integer above 0"),
        ({"many": "3"}, "top.many is '3', but it must be an integer above 0"),
        ({"many": 0}, "top.many is 0, but it must be an integer above 0"),
        ({"named": {"a": {"name": 1}}}, "top.named.a.name is 1, but it must be a text"),
    ],
)
def test_the_first_mistake_is_named_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(BadParameter) as found:
        read_section(Outer, data, "top")
    assert str(found.value) == message
    assert found.value.name == message.split(" is ", maxsplit=1)[0]


def test_a_number_that_is_none_is_named_too() -> None:
    with pytest.raises(BadParameter, match="must be a finite number") as found:
        read_section(Outer, {"share": "x"}, "top")
    assert found.value.name == "top.share"


def test_tables_have_text_for_keys() -> None:
    assert table_of({"a": 1}, "top") == {"a": 1}
    with pytest.raises(BadParameter):
        table_of({1: 1}, "top")
