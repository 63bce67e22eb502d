"""registry.py: a signed release card as a record of the public registry."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BadSignature
from discreet.ledger import registry_record
from discreet.ledger.signing import make_key, open_key
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from tests.helpers.ledger_places import Place, ask, prepared

SECTIONS = ["basic", "dp_variant", "privacy_loss", "deployment_model", "accounting", "implementation", "administrative"]


@pytest.mark.parametrize(
    ("budget", "rule", "event", "variant", "names"),
    [
        (Pure(1), None, events.DiscreteLaplace(scale=10), "Pure DP", ["epsilon"]),
        (Approx(1, "1e-6"), Rule.BASIC, events.DiscreteLaplace(scale=10), "Approximate DP", ["epsilon"]),
        (ZCDP("0.1", "1e-6"), None, events.Gaussian(sigma=30), "Zero-concentrated DP", ["rho"]),
    ],
)
def test_a_card_becomes_a_record(  # noqa: PLR0917 - one column of the table above each
    lite: Place, budget: Measure, rule: Rule | None, event: Any, variant: str, names: list[str]
) -> None:
    with prepared(lite, budget, rule=rule) as ledger:
        charge = ledger.store_answer(ask(ledger, "k", event), b"42", accuracy=None)
        assert charge.card is not None
        record = registry_record(charge.card, ledger.public_key)
        deployment = record["deployment"]
        assert list(deployment) == SECTIONS
        assert deployment["dp_variant"]["variant_name"] == variant
        loss = deployment["privacy_loss"]
        assert loss["privacy_unit"] == "one person"
        assert list(loss["privacy_parameters"]) == names
        price = json.loads(charge.card)["body"]["price"]["promise"]
        assert all(Fraction(value) >= Fraction(price[name]) for name, value in loss["privacy_parameters"].items())
        assert type(event).__name__ in deployment["implementation"]["mechanisms"]
        assert charge.entry.ledger in deployment["administrative"]["notes"]
        assert json.loads(json.dumps(record)) == record


def test_a_card_that_was_changed_or_is_not_understood_gives_no_record(lite: Place) -> None:
    with prepared(lite, Pure(1)) as ledger:
        charge = ledger.store_answer(ask(ledger, "k", events.DiscreteLaplace(scale=10)), b"42", accuracy=None)
        assert charge.card is not None
        public, another = ledger.public_key, make_key(Path(lite.key).with_name("another")).public
    for card, key in ((charge.card.replace("one person", "one house"), public), (charge.card, another)):
        with pytest.raises(BadSignature):
            registry_record(card, key)
    signer = open_key(Path(lite.key))
    with pytest.raises(BadSignature, match="version"):
        registry_record(signer.sign("card", {"unit": "one person"}), public)
