"""The register of claims is complete: whatever states a price is listed once, with a proof and a test that exist."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tools import promises, sampled_tests
from tools.claims import CARRIED, CLAIMS, Claim

ROOT = Path(__file__).resolve().parent.parent
LISTED = [name for claim in CLAIMS for name in claim.names] + [name for names in CARRIED.values() for name in names]


def test_whatever_states_a_price_is_listed() -> None:
    missing = sorted(set(promises.public_classes()) - set(LISTED))
    assert not missing, (
        f"these public classes state a price and are not in tools/claims.py: {missing}. Add each to the row whose "
        "theorem it states, write a row (neighbours, unit, over what, proof, test), or list it under CARRIED if it "
        "only carries a number; then run python -m tools.promises"
    )


def test_nothing_is_listed_twice() -> None:
    assert not [name for name, times in Counter(LISTED).items() if times > 1]


def test_whatever_is_listed_exists_and_states_a_price() -> None:
    stated = set(promises.public_classes())
    gone = [
        name
        for name in LISTED
        if name not in stated and promises.imported(f"discreet.{name.rsplit('.', 1)[0]}") is not None
    ]
    gone += [name for name in LISTED if not _module(name).exists()]
    assert not gone, f"tools/claims.py lists what is not there, or states no price: {gone}; take it out or rename it"


def _module(name: str) -> Path:
    path = ROOT.joinpath("src", "discreet", *name.split(".")[:-1])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.about)
def test_a_claim_has_its_proof_and_its_test(claim: Claim) -> None:
    proof = ROOT / "src" / "discreet" / claim.proof
    assert proof.exists(), f"{claim.about}: no file {claim.proof}"
    if proof.suffix == ".py":
        said = ast.get_docstring(ast.parse(proof.read_text())) or ""
        assert "Proof" in said or "Believes" in said, f"{claim.proof} states no proof or theorem"
    file, _, name = claim.test.partition("::")
    assert (ROOT / file).exists(), f"{claim.about}: no file {file}"
    functions = {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
    assert name in functions, f"{claim.about}: no test {name} in {file}"


def test_what_is_claimed_is_tried_whole_in_make_test() -> None:
    sampled = sampled_tests.listed()
    left = sorted({claim.test for claim in CLAIMS if claim.test in sampled})
    assert not left, f"make test samples {left}: name a test that it runs whole"


@pytest.mark.parametrize("field", ["about", "neighbours", "unit", "over"])
def test_no_field_is_empty(field: str) -> None:
    assert all(getattr(claim, field).strip() for claim in CLAIMS)


def test_the_page_is_written_from_the_register() -> None:
    assert promises.PAGE.read_text() == promises.page(), "run python -m tools.promises"


def test_a_class_that_nobody_lists_would_be_seen() -> None:
    class Unlisted:
        spent: int

    class Inherits(Unlisted):
        pass

    class Silent:
        size: int

    assert [promises.states_a_price(kind) for kind in (Unlisted, Inherits, Silent)] == [True, True, False]
