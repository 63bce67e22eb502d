"""The package as a whole: quick to import, typed, and what it says of itself."""

import subprocess
import sys
from importlib import metadata, resources

import discreet

QUICK = (
    "import sys, discreet; heavy = {'scipy.stats', 'matplotlib', 'torch', 'pandas'} & set(sys.modules); print(heavy)"
)


def test_the_import_brings_in_nothing_heavy() -> None:
    """Import time itself is measured in bench/imports.py; here is what would make it slow."""
    done = subprocess.run([sys.executable, "-c", QUICK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_typed_and_licensed() -> None:
    assert resources.files("discreet").joinpath("py.typed").is_file()
    about = metadata.metadata("discreet")
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"


def test_no_exact_pins() -> None:
    for requirement in metadata.requires("discreet") or []:
        assert "==" not in requirement.split(";")[0]
        assert ">=" in requirement.split(";")[0]


def test_the_public_names_are_there() -> None:
    assert all(hasattr(discreet, name) for name in discreet.__all__)
    assert len(set(discreet.__all__)) == len(discreet.__all__)
