"""Tests mirror src path for path: ``a/b.py`` is tested by ``tests/a/test_b.py`` or ``tests/a/test_b_*.py``."""

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "discreet"
# Not about one module: suites over all mechanisms and engines, text cases, attacks, benchmarks, and the project itself.
ASIDE = {"contracts", "cases", "attacks", "bench", "helpers"}
ABOUT_THE_PROJECT = {
    "callers",
    "cases",
    "claims",
    "deploy",
    "docs",
    "golden",
    "layers",
    "mirror",
    "mutate",
    "names",
    "package",
    "proofs",
    "readme",
    "release",
    "sampled_tests",
    "servers",
    "site",
    "words",
}


def names_in(folder: Path) -> set[str]:
    """What the test files of a folder are called, without ``test_``."""
    return {path.stem.removeprefix("test_") for path in (TESTS / folder).glob("test_*.py")}


def parts_of(folder: Path) -> set[str]:
    """Modules and packages of a folder of the source."""
    inside = (SOURCE / folder).iterdir() if (SOURCE / folder).is_dir() else ()
    return {path.stem for path in inside if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")}


def belongs(test: str, part: str) -> bool:
    return test == part or test.startswith(f"{part}_")


FOLDERS = sorted(
    {
        path.parent.relative_to(TESTS)
        for path in TESTS.rglob("test_*.py")
        if not ASIDE & set(path.relative_to(TESTS).parts[:1])
    }
)
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_every_test_file_is_about_a_module(folder: Path) -> None:
    about = ABOUT_THE_PROJECT if folder == Path() else {"planted"} if folder == Path("checking") else set()
    known = parts_of(folder) | about
    assert not {test for test in names_in(folder) if not any(belongs(test, part) for part in known)}


def untested() -> set[str]:
    return {
        str(module) for module in MODULES if not any(belongs(test, module.stem) for test in names_in(module.parent))
    }


# Modules that are tested through others only, each by name. The list may only grow shorter.
THROUGH_OTHERS = set((TESTS / "tested_through_others.txt").read_text().split())


def test_every_module_has_a_test_file_of_its_own() -> None:
    assert untested() - THROUGH_OTHERS == set(), "a new module needs a test file of the same path"
    assert THROUGH_OTHERS - untested() == set(), "these have a test file now: take them off the list"
