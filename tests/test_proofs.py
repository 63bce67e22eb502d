"""A proof is about code: when the code's meaning moves, its proof must be read again."""

import ast
from pathlib import Path

import pytest

from tools import proofs

REQUIRED = [
    "noise/laplace.md",
    "noise/gaussian.md",
    "noise/selection.md",
    "noise/grid.md",
    "mechanisms/additive/laplace.md",
    "mechanisms/additive/gaussian.md",
    "privacy/pld/pld.md",
    "stable/maps/capping.md",
    "query/lower/bounding.md",
    "query/estimate/noise_plan.md",
    "query/key_selection.md",
    "engines/spark/noise.md",
    "query/answer/least_squares.md",
    "stable/maps/resizing.md",
]


@pytest.mark.slow
@pytest.mark.parametrize("path", proofs.proof_files(), ids=lambda p: p.stem)
def test_the_proof_is_about_the_code_as_it_is(path: Path) -> None:
    claims = list(proofs.CLAIM.finditer(path.read_text()))
    assert len(claims) == path.read_text().count("proves: ")
    assert claims, f"{path.name} proves nothing: it needs a line 'proves: dotted.name hash'"
    for claim in claims:
        assert proofs.fingerprint(claim["name"]) == claim["hash"], (
            f"{claim['name']} has changed since {path.name} was written: "
            f"read the proof again, then record it with `make proofs FILES={path}`"
        )


def test_the_proofs_that_must_exist_do() -> None:
    found = {str(path.relative_to(proofs.SOURCE / "discreet")) for path in proofs.proof_files()}
    assert set(REQUIRED) <= found


@pytest.mark.parametrize("line", ["proves: discreet.exact.number", "proves: discreet.exact.number 0"])
def test_a_line_whose_hash_was_never_recorded_counts(line: str) -> None:
    (claim,) = proofs.CLAIM.finditer(f"# A\n\n{line}\n")
    assert claim["hash"] != proofs.fingerprint(claim["name"])


def shape(code: str) -> str:
    return proofs._shape(ast.parse(code).body[0])


def test_comments_formatting_and_docstrings_do_not_move_the_hash() -> None:
    plain = shape("def f(x):\n    return x+1\n")
    assert plain == shape('def f( x ):  # why\n    """Words."""\n\n    return (x\n      + 1)\n')


@pytest.mark.parametrize("change", ["return x + 2", "return x - 1", "return y + 1", "pass", "x += 1; return x"])
def test_a_change_of_meaning_moves_the_hash(change: str) -> None:
    assert shape("def f(x):\n    return x + 1\n") != shape(f"def f(x):\n    {change}\n")
