"""curator.toml: exact numbers, the place of every mistake."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.curator.service import declarations
from discreet.curator.service.config import Config, read_config
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.curator.land import TOML, write_town

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


@pytest.mark.parametrize(
    ("said", "promise"),
    [
        ({"epsilon": 0.1}, Pure("0.1")),
        ({"epsilon": "1/3", "delta": "1e-30"}, Approx("1/3", "1e-30")),
        ({"epsilon": 1, "delta": 0}, Pure(1)),
        ({"rho": "0.5"}, ZCDP("0.5")),
        ({"rho": "0.5", "delta": "1e-9"}, ZCDP("0.5", "1e-9")),
    ],
)
def test_promises(said: object, promise: object) -> None:
    assert declarations.read_promise(said, "budget") == promise


def test_a_budget_in_the_file_never_changes_the_one_in_the_ledger(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town", epsilon="2")
    open_curator(read_config(path), create=True).close()
    path.write_text(TOML.format(epsilon="3"))
    with pytest.raises(BadParameter) as found:
        open_curator(read_config(path))
    assert found.value.name == "datasets.town.budget"


def test_a_budget_that_the_owner_changed_in_the_ledger_counts_and_the_old_one_may_stay_in_the_file(
    tmp_path: Path,
) -> None:
    path = write_town(tmp_path / "town", epsilon="2")
    curator = open_curator(read_config(path), create=True)
    curator.ledger.owner.set_budget("town", Approx(3, "1e-18"), reason="a wider study")
    curator.close()
    again = open_curator(read_config(path))
    assert again.ledger.populations["town"].budget == Approx(3, "1e-18")
    again.close()


def test_a_new_description_is_taken_into_the_ledger_and_the_old_one_stays_recorded(tmp_path: Path) -> None:
    path = write_town(tmp_path / "town")
    open_curator(read_config(path), create=True).close()
    path.write_text(TOML.format(epsilon="1000000").replace("[0, 1000]", "[0, 2000]"))
    curator = open_curator(read_config(path))
    told = [
        line.entry.body["about"]
        for line in curator.ledger.entries(kind="dataset")
        if line.entry.body["dataset"] == "town"
    ]
    curator.close()
    assert [one["tables"]["people"]["columns"]["pay"]["bounds"] for one in told] == [["0", "1000"], ["0", "2000"]]
    again = open_curator(read_config(path))
    assert len(again.ledger.entries(kind="dataset")) == 3  # nothing new, nothing written
    again.close()
