"""The dashboards of the page, in a real browser: opened, read day by day, drawn as bars over time."""

from __future__ import annotations

import pytest

from tests.curator.test_web import says, sign_in
from tests.helpers.browser import Browser
from tests.helpers.curator.town import Town

SQL = "SELECT city, COUNT(*) AS n FROM trips GROUP BY city"
NAME = "<b>trips"  # a name is text, never HTML


@pytest.mark.slow
def test_a_dashboard_is_opened_and_drawn(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    browser.open(f"{url}/#boards")
    browser.click(".new-board summary")
    for name, text in (("name", NAME), ("by", "day"), ("horizon", "30"), ("epsilon", "2")):
        browser.write(f".new-board input[name={name}]", text)
    browser.write(".new-board textarea", SQL)
    browser.click(".new-board button.plain")
    says(browser, ".new-board", "for 30 days")
    browser.click(".new-board button.main")
    says(browser, ".result", NAME)
    says(browser, ".result", "No day to show yet")
    for i in (1, 2):
        browser.find(".advance input")
        browser.driver.execute_script(f"document.querySelector('.advance input').value = '2025-01-0{i}'")
        browser.click(".advance button.main")
        says(browser, ".result", f"2025-01-0{i}")
    count = "return document.querySelectorAll('.over-time rect.bar').length"
    browser.wait(lambda driver: driver.execute_script(count) == 6, "three cities on two days are not drawn")
