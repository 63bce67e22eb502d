"""``discreet receipt verify``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from tests.helpers.commands import run


@pytest.mark.slow
def test_receipts_are_checked_without_a_ledger(config: Path, tmp_path: Path) -> None:
    curator = open_curator(read_config(config))
    curator.ledger.owner.add_analyst("zoe")
    curator.ledger.owner.grant("zoe", "other")
    charge = curator.ledger.spend("other", "zoe", curator.ledger.populations["other"].budget, key="k", query="q")
    charge = curator.ledger.store_answer(charge, b"{}")
    key = curator.ledger.public_key
    curator.close()
    for name, text, words in (
        ("receipt", charge.proof, "1, as the ledger counts; its release card has it in words"),
        ("card", charge.card, "epsilon 1"),
    ):
        file = tmp_path / f"{name}.json"
        file.write_text(str(text))
        done = run("receipt", "verify", file, "--key", key)
        assert done.exit_code == 0, done.output
        assert "genuine" in done.output
        (price,) = [line.split(None, 1)[1] for line in done.output.splitlines() if line.split()[0] == "price"]
        assert price == words
        assert json.loads(run("receipt", "verify", file, "--key", key, "--json").stdout)["ok"]
        changed = str(text).replace('"q"', '"p"').replace('\\"q\\"', '\\"p\\"')
        assert changed != text
        file.write_text(changed)
        assert run("receipt", "verify", file, "--key", key).exit_code == 1
        assert run("receipt", "verify", file, "--key", "00").exit_code == 1
    receipt = tmp_path / "good.json"
    receipt.write_text(charge.proof)
    assert run("ledger", "verify", config, "--receipt", receipt).exit_code == 0
    (tmp_path / "card.json").write_text(str(charge.card))
    record = run("receipt", "registry", tmp_path / "card.json", "--key", key)
    assert json.loads(record.stdout)["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    (tmp_path / "noise").write_text("not json")
    assert run("receipt", "verify", tmp_path / "noise", "--key", key).exit_code == 1
