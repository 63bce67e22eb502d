"""A release card as a record of the public registry of deployments (registry.opendp.org), as of September 2026.

Promise: every field follows from the signed card. What a card does not know, such as who publishes and why, is an empty
text for a person to fill in; numbers are never below the exact ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import BadSignature
from discreet.exact import float_up
from discreet.ledger.receipts import verify_card

_VARIANTS = {"Pure": "Pure DP", "Approx": "Approximate DP", "ZCDP": "Zero-concentrated DP", "Renyi": "Renyi DP"}
_NEIGHBOURS = {
    "ADD_REMOVE": "Adjacent data sets differ by the presence of all rows of one unit (added or removed).",
    "CHANGE_ONE": "Adjacent data sets have the same units and differ in all rows of one of them (changed).",
}
_RULES = {
    "BASIC": "The ε and δ of all queries, chosen adaptively, are added.",
    "ZCDP": "The ρ of all queries, chosen adaptively, are added and converted to (ε, δ).",
    "EITHER": "Two sums over all queries, chosen adaptively, are kept: of (ε, δ) and of ρ; one is within its limit.",
}
_NAMES = ("epsilon", "delta", "rho")


def registry_record(card: str, public_key: str) -> dict[str, Any]:
    """The record of a release card, if the ledger with this public key signed it; else BadSignature."""
    body = verify_card(card, public_key)
    try:
        return _record(body)
    except (KeyError, TypeError, ValueError):
        raise BadSignature("this card is of a version that is not understood") from None


def _record(body: Mapping[str, Any]) -> dict[str, Any]:
    price, budget = body["price"]["promise"], body["budget"]["promise"]
    kinds = ", ".join(dict.fromkeys(_kinds(body["event"])))
    limit = ", ".join(f"{name} {budget[name]}" for name in _NAMES if name in budget)
    rule = _RULES.get(str(body["rule"]), "The costs of all queries, chosen adaptively, are added.")
    return {
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": "",
                "data_curators": [{"data_curator_name": "", "data_curator_type": ""}],
                "intended_use": "",
                "data_product_type": "Summary statistics",
                "data_product_region": "",
                "description": f"The answer to: {body['query']}",
                "publication_date": "",
                "data_product_sector": "",
            },
            "dp_variant": {
                "variant_name": _VARIANTS.get(price["kind"], "Custom"),
                "data_domain": f"Tables about the population {body['population']}, with any number of rows per unit.",
                "unprotected_quantities": "",
            },
            "privacy_loss": {
                "privacy_unit": body["unit"],
                "privacy_unit_details": _NEIGHBOURS[body["neighbours"]],
                "privacy_parameters": {name: float_up(Fraction(price[name])) for name in _NAMES if _says(price, name)},
                "privacy_parameters_details": f"The cost of this release; all releases together keep {limit}.",
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {"post_processing": "", "composition": rule},
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "",
                "mechanisms": f"{kinds}; discreet {body['versions'].get('discreet', '')}, exact samplers on integers, "
                "no floating point between data and noise.",
                "justification": "",
            },
            "administrative": {
                "notes": f"Signed release card: charge {body['charge']['sequence']} of ledger {body['ledger']}, "
                f"answer SHA-256 {body['answer']}.",
                "registry_authors": [],
            },
        },
    }


def _says(price: Mapping[str, str], name: str) -> bool:
    """Whether a parameter tells something: a δ of 0 does not."""
    return name in price and (name != "delta" or Fraction(price[name]) > 0)


def _kinds(event: Any) -> Iterator[str]:
    """The kinds of noise in an event, however deep."""
    if isinstance(event, Mapping):
        inner = [part for part in event.values() if isinstance(part, Mapping | list)]
        if "kind" in event and not inner:
            yield str(event["kind"])
        for part in inner:
            yield from _kinds(part)
    elif isinstance(event, list):
        for part in event:
            yield from _kinds(part)
