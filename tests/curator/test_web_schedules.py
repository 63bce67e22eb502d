"""The page: schedules, requests for budget, and who sees which views."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from discreet.curator.service.people import Role
from discreet.curator.service.scheduler import DueRuns
from tests.curator.test_web import read, says, sign_in
from tests.helpers.axe import violations
from tests.helpers.browser import Browser
from tests.helpers.curator.town import COUNT, Town, charges, on_a_socket

pytestmark = pytest.mark.slow


def test_an_analyst_sets_a_schedule_and_ends_it(browser: Browser, new_town: Town) -> None:
    new_town.clock.now = datetime(2025, 6, 10, 12, tzinfo=UTC)
    with on_a_socket(new_town) as url:
        sign_in(browser, url, new_town.ann)
        browser.open(f"{url}/#schedules")
        browser.find("textarea[name=sql]").clear()
        browser.write("textarea[name=sql]", COUNT)
        browser.driver.execute_script("document.querySelector('[name=until]').value = '2025-07-31'")
        browser.click("#foresee")
        says(browser, "form", "7 runs")
        assert not violations(browser)
        browser.click("form button.main")
        says(browser, ".people", "Every monday at 06:00 UTC")
        new_town.clock.now += timedelta(days=6)
        DueRuns(new_town.curator).run()
        browser.driver.refresh()
        says(browser, ".people", "2025-06-16")
        browser.click(".people button.bad")
        says(browser, ".people", "ended")
    assert charges(new_town) == 1


def test_a_request_is_sent_and_granted_on_the_page(browser: Browser, new_town: Town) -> None:
    curator = new_town.curator
    curator.people.add("bea", Role.STEWARD, None, by="owner")
    steward = curator.access.issue("bea", Role.STEWARD)
    with on_a_socket(new_town) as url:
        sign_in(browser, url, new_town.ann)
        browser.open(f"{url}/#requests")
        browser.write("input[name=amount]", "0.5")
        browser.write("input[name=reason]", "a report")
        browser.click("form button.main")
        says(browser, ".people", "a report")
        browser.click("#bar .who button")
        sign_in(browser, url, steward)
        says(browser, ".people", "ann")
        assert not violations(browser)
        browser.click(".people button.main")
        says(browser, "main", "granted by bea")
    (request,) = curator.requests.visible(curator.access.who(f"Bearer {new_town.owner}"))
    assert (request.state, request.decided_by) == ("granted", "bea")


def test_an_auditor_sees_the_ledger(browser: Browser, new_town: Town) -> None:
    new_town.curator.people.add("olaf", Role.AUDITOR, None, by="owner")
    with on_a_socket(new_town) as url:
        sign_in(browser, url, new_town.curator.access.issue("olaf", Role.AUDITOR))
        says(browser, "main", "The chain is whole")
        assert "Alerts" in read(browser, "#bar nav")
