"""What holds for tests and doctests alike: the same noise in every run, and kernels only where their compiler is."""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec

import pytest

from tests.helpers.extent import AUDIT
from tests.helpers.seeded_bytes import randomness_from

# Triton, the compiler for graphics cards, is made for Linux alone.
collect_ignore_glob = [] if find_spec("triton") else ["src/discreet/learning/torch_training/*_kernels.py"]
SYSTEM = "tests/randomness/"  # is about the system's bytes
EXAMPLES = "tests/test_docs_run.py"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Random bytes follow from a test's name: no run fails by chance, and a failure comes again.

    ``make audit`` draws fresh ones, except for examples: they show one run to a reader and judge no law.
    """
    example = isinstance(item, pytest.DoctestItem) or item.nodeid.startswith(EXAMPLES)
    if item.nodeid.startswith(SYSTEM) or (AUDIT and not example):
        return (yield)
    with randomness_from(item.nodeid):
        return (yield)
