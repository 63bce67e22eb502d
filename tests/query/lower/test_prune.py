"""Lowered relations read only what is used."""

import pytest

from discreet.query.lower.lower import UNIT
from discreet.query.lower.prune import names, prune
from discreet.query.plan.nodes import (
    Filter,
    Join,
    Key,
    Project,
    Scan,
)
from discreet.query.plan.schema import Caps
from tests.helpers.lowering import ask, call, col


def test_a_simple_question_reads_only_what_it_uses() -> None:
    found = ask(Filter(Scan("visits"), call("gt", col("cost"), 3)), keys=(Key("clinic", col("clinic")),))
    read = Project(
        Scan("visits"),
        (
            ("clinic", call("read_text", col("clinic"))),
            ("cost", call("read_real", col("cost"), -27, -(2**59), 2**59)),
            (UNIT, col("pid")),
        ),
    )
    assert found.source == Filter(read, call("gt", col("cost"), 3 * 2**27))
    assert found.keys[0].typed.keys == ("N", "S")
    assert found.caps == Caps(max_rows=5)
    assert found.tables == ("visits",)
    assert ask(Scan("visits")).source == Project(Scan("visits"), ((UNIT, col("pid")),))


def test_names_of_every_node_and_only_needed_columns_below() -> None:
    read = Project(Scan("visits"), (("a", col("a")), ("b", col("b")), ("c", col("c"))))
    assert names(Filter(read, col("a"))) == ("a", "b", "c")
    assert prune(Filter(read, col("a")), frozenset({"b"})) == Filter(
        Project(Scan("visits"), (("a", col("a")), ("b", col("b")))), col("a")
    )
    joined = Join(read, Project(Scan("cities"), (("x", col("x")), ("y", col("y")))), (("a", "x"),))
    assert names(joined) == ("a", "b", "c", "x", "y")
    assert names(prune(joined, frozenset({"y"}))) == ("a", "x", "y"), "the pair that is compared is read as well"
    renamed = Project(read, (("other", col("b")),))
    assert prune(renamed, frozenset({"other"})) == Project(Scan("visits"), (("other", col("b")),))
    with pytest.raises(TypeError):
        names(Scan("visits"))
