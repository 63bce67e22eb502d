"""A profile on the page: bought at the price set there, drawn with its classes in words; answers say what caps cut."""

from __future__ import annotations

from tests.curator.test_web import read, says, script, sign_in
from tests.helpers.browser import Browser
from tests.helpers.curator.town import Town


def test_a_profile_is_bought_and_drawn_and_answers_say_what_is_cut(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    says(browser, ".preview", "What you would get")
    browser.write("#epsilon", "4")
    says(browser, "#cost", "ε 4")
    charges = len(town.curator.ledger.entries(kind="charge"))
    script(
        browser, "[...document.querySelectorAll('.schema button')].find(b => b.innerText == 'Profile of trips').click()"
    )
    says(browser, ".profile", "rows per unit")
    assert len(town.curator.ledger.entries(kind="charge")) == charges + 1
    assert int(str(script(browser, "return document.querySelectorAll('.profile .chart .bar').length"))) > 0
    sql = browser.find("#sql")
    sql.clear()
    sql.send_keys("SELECT COUNT(*) AS many FROM trips")
    says(browser, ".bars", "many")
    browser.click("#ask")
    says(browser, ".answer table", "many")
    assert " rows cuts " in read(browser, ".answer .notes")
    browser.click("a[href='#history']")
    says(browser, ".list", "profile(trips)")
    assert not browser.errors()
