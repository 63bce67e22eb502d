"""The commands, as the command line will call them."""

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from discreet import stable
from discreet.checking.exact import self_check
from discreet.commands.check import audit_command, check_command
from discreet.mechanisms.additive.laplace import laplace
from tests.checking.planted import Map, by

HERE = "tests.commands.test_check"
fine = stable.count()
wrong = Map(len, by(0))
noisy = laplace(sensitivity=1, epsilon=1)
keyed = stable.count_by(["a"]) >> laplace(epsilon=1)


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command("check")(check_command)
    app.command("audit")(audit_command)
    return app


def run(app: typer.Typer, *arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_a_claim_that_holds_exits_with_0(app: typer.Typer) -> None:
    done = run(app, "check", f"{HERE}:fine", "--rows", "2")
    assert done.exit_code == 0
    assert "ok: counted rows" in done.output


def test_a_claim_that_does_not_exits_with_1(app: typer.Typer) -> None:
    done = run(app, "check", f"{HERE}:wrong", "--values", "[0, None]", "--format", "json")
    assert done.exit_code == 1
    report = json.loads(done.output)
    assert not report["ok"]
    assert {report["counterexample"]["first"], report["counterexample"]["second"]} == {"[0]", "[]"}


@pytest.mark.slow
def test_our_own_claims_are_checked_without_a_target(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_check, "OWN", {name: self_check.OWN[name] for name in ("laplace", "gaussian")})
    done = run(app, "check")
    assert done.exit_code == 0, done.output
    assert "laplace" in done.output
    assert "gaussian" in done.output


@pytest.mark.slow
def test_releases_and_html(app: typer.Typer) -> None:
    done = run(app, "check", f"{HERE}:keyed", "--values", "['a', 'b']", "--rows", "1", "--format", "html")
    assert done.exit_code == 0
    assert done.output.startswith("<section")


def test_an_audit(app: typer.Typer) -> None:
    done = run(app, "audit", f"{HERE}:noisy", "0", "9", "--samples", "2000")
    assert done.exit_code == 1
    assert "claimed ε ≤ 1; refuted" in done.output
    done = run(app, "audit", f"{HERE}:noisy", "0", "1", "--samples", "2000", "--delta", "1e-6", "--format", "json")
    assert done.exit_code == 0
    assert json.loads(done.output)["refuted"] is False


def test_bad_arguments_say_what_they_must_be(app: typer.Typer) -> None:
    assert "module:name" in run(app, "check", "nothing").stderr
    assert "a name in it" in run(app, "check", "discreet:no_such_thing").stderr
    assert "Python literal" in run(app, "check", f"{HERE}:fine", "--values", "import os").stderr


def coin(answer: int, bits: Any) -> int:
    """Keeps an answer of 0 or 1 with probability 3/4: log 3 = 1.0986..."""
    return answer if bits.below(4) else 1 - answer


def test_a_function_is_held_against_the_claim_that_is_given(app: typer.Typer) -> None:
    given = ("check", f"{HERE}:coin", "--pairs", "[(0, 1)]")
    assert "--claim is not given: it must be given for a function" in run(app, *given).stderr
    assert "--pairs is not given" in run(app, "check", f"{HERE}:coin", "--epsilon", "1").stderr
    assert run(app, *given, "--epsilon", "1.1").exit_code == 0
    assert run(app, *given, "--epsilon", "1").exit_code == 1
    assert run(app, *given, "--epsilon", "1", "--delta", "0.08").exit_code == 0
