"""The accessibility checker axe-core, run inside of the page. ``make setup`` brings it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.browser import Browser
from tools.servers import AXE

PLACES = ("/usr/local/lib/node_modules", "/usr/lib/node_modules", "/usr/share/nodejs", "node_modules")
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).then(
  (found) => done(found.violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))])),
  (error) => done([["axe failed", [String(error)]]]));
"""


def source() -> str:
    """The text of axe-core."""
    places = [Path(os.environ["AXE_CORE"])] if os.environ.get("AXE_CORE") else []
    places += [AXE, *(Path(place) / "axe-core" / "axe.min.js" for place in PLACES)]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.fail("no axe-core: `make setup` brings it, or set AXE_CORE=/path/to/axe.min.js")
    return found.read_text(encoding="utf-8")


def violations(browser: Browser) -> list[Any]:
    """What the checker finds on the page as it is now."""
    browser.driver.execute_script(source())
    found: list[Any] = browser.driver.execute_async_script(RUN)
    return found
