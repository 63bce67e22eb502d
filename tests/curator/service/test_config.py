"""curator.toml: exact numbers, the place of every mistake."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.curator.service import declarations
from discreet.curator.service.config import Config, read_config
from discreet.errors import BadParameter
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours

GOOD = """
[server]
quantum = 0.1
[limits]
burst = 7
[datasets.a]
population = "folk"
protects = "one household"
neighbours = "change_one"
rule = "basic"
budget = {epsilon = 0.1, delta = 1e-9}
[datasets.a.tables.t]
source = "t.parquet"
unit = "id"
max_groups = 3
columns.x = {bounds = [0.1, "1/3"], nullable = false}
columns.d = {bounds = [2025-01-01, "2025-12-31"]}
columns.k = {keys = ["a", "b"], null_key = true}
columns.n = {keys = [1, 2]}
columns.e = {keys = ["2025-01-01"], type = "date"}
columns.u = {unknown_keys = true}
[datasets.a.tables.p]
source = "p.csv"
public = true
[datasets.b]
population = "folk"
[datasets.b.tables.t]
source = "t2.parquet"
unit = "id"
"""


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "curator.toml"
    path.write_text(text)
    return read_config(path)


def test_numbers_are_exact_and_paths_relative_to_the_file(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert config.quantum == Fraction(1, 10)
    assert config.data == tmp_path / "data"
    assert config.ledger == tmp_path / "curator.ledger"
    assert config.limits.burst == 7
    one = config.datasets["a"]
    assert one.budget == Approx("0.1", "1e-9")
    assert (one.population, one.protects, one.rule) == ("folk", "one household", Rule.BASIC)
    assert one.neighbours is Neighbours.CHANGE_ONE
    assert config.datasets["b"].budget is None
    table = one.tables.tables["t"]
    assert table.columns["x"].low == Fraction(1, 10)
    assert table.columns["x"].high == Fraction(1, 3)
    assert not table.columns["x"].nullable
    assert table.columns["k"].keys == ("a", "b", None)
    assert table.caps == {"max_groups": 3}
    assert one.tables.tables["p"].public


def test_what_is_written_reads_back_the_same(tmp_path: Path) -> None:
    for one in read(tmp_path, GOOD).datasets.values():
        said = declarations.write(one.tables)
        assert declarations.read(said, "again") == one.tables
        assert declarations.write(declarations.read(said, "again")) == said


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[sever]", "config.sever"),
        ("[server]\nport = 'x'", "server.port"),
        ("[server]\nport = true", "server.port"),
        ("[server]\nquantum = 0", "server.quantum"),
        ("[server]\nengines = 0", "server.engines"),
        ("[limits]\nplanning = 0", "limits.planning"),
        ("[server]\nspeed = 1", "server.speed"),
        ("[limits]\nburst = 0", "limits.burst"),
        ("[limits]\nburst = 1.5", "limits.burst"),
        ("[limits]\nfoo = 1", "limits.foo"),
        ("[datasets.a.tables.t]\nsource='t.parquet'\nunit='x'", "datasets.a.budget"),
        ("[datasets.a]\nbudget={epsilon=1}", "datasets.a.tables"),
        ("[datasets.a]\nbudget={epsilon=1,mu=2}\ntables.t={source='t.csv',unit='x'}", "datasets.a.budget.mu"),
        ("[datasets.a]\nbudget={delta=1}\ntables.t={source='t.csv',unit='x'}", "datasets.a.budget"),
        ("[datasets.a]\nbudget={epsilon=-1}\ntables.t={source='t.csv',unit='x'}", "datasets.a.budget.epsilon"),
        ("[datasets.a]\nbudget={epsilon=1}\nrule='x'\ntables.t={source='t.csv',unit='x'}", "datasets.a.rule"),
        ("[datasets.a]\nbudget={epsilon=1}\ntables.t={unit='x'}", "datasets.a.tables.t.source"),
        ("[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv'}", "datasets.a.tables.t.unit"),
        ("[datasets.a]\nbudget={epsilon=1}\ntables.'t t'={source='t.csv',unit='x'}", "datasets.a.tables"),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',max_rows=0}",
            "datasets.a.tables.t.max_rows",
        ),
        ("[datasets.'a/b']\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x'}", "datasets"),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',columns.c={bounds=[2,1]}}",
            "datasets.a.tables.t.columns.c.bounds",
        ),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',columns.c={bounds=[2]}}",
            "datasets.a.tables.t.columns.c.bounds",
        ),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',columns.c={keys=[1.5]}}",
            "datasets.a.tables.t.columns.c.keys",
        ),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',columns.c={keys=[1],bounds=[0,1]}}",
            "datasets.a.tables.t.columns.c",
        ),
        (
            "[datasets.a]\nbudget={epsilon=1}\ntables.t={source='t.csv',unit='x',columns.c={range=[0,1]}}",
            "datasets.a.tables.t.columns.c.range",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(BadParameter) as found:
        read(tmp_path, text)
    assert found.value.name == place
    assert str(found.value).startswith(f"{place} is ")
    assert str(found.value).endswith("curator.toml)")


def test_what_is_no_toml_or_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="TOML"):
        read(tmp_path, "[server")
    with pytest.raises(BadParameter, match="discreet init"):
        read_config(tmp_path / "nowhere.toml")
