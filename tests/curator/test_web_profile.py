"""A profile on the page, bought and drawn; and a table of which nothing is declared, asked by clicking."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.curator.test_web import says, script, sign_in
from tests.helpers.browser import Browser
from tests.helpers.curator.town import Town, on_a_socket, open_town


def test_a_profile_is_bought_and_drawn(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    says(browser, ".preview", "What you would get")
    browser.write("#epsilon", "4")
    says(browser, "#cost", "ε = 4")
    charges = len(town.curator.ledger.entries(kind="charge"))
    script(
        browser, "[...document.querySelectorAll('.schema button')].find(b => b.innerText == 'Profile of trips').click()"
    )
    says(browser, ".profile", "rows per unit")
    assert len(town.curator.ledger.entries(kind="charge")) == charges + 1
    assert int(str(script(browser, "return document.querySelectorAll('.profile .chart .bar').length"))) > 0
    browser.click("a[href='#history']")
    says(browser, ".list", "profile(trips)")
    assert not browser.errors()


def drawn(browser: Browser, css: str) -> list[str]:
    """The texts in a picture."""
    found = script(browser, f"return [...document.querySelectorAll('{css}')].map(x => x.textContent)")
    assert isinstance(found, list)
    return [str(one) for one in found]


def register(browser: Browser, town: Town, url: str) -> str:
    """The token of an analyst who may ask about a new table with float ids, registered by clicking."""
    ids = [float(i // 2 + 1000) for i in range(600)]
    clicks = {"user_id": ids, "seconds": [float(i % 90) for i in range(600)]}
    pq.write_table(pa.table(clicks), town.config.data / "clicks.parquet")
    sign_in(browser, url, town.owner)
    form = "#register "
    browser.write(form + "input[placeholder=hospital]", "web")
    browser.write(form + "input[list=sources]", "clicks.parquet")
    browser.click("#add-table")
    unit = browser.find(form + "input[aria-label='Declaration of user_id']")
    assert not unit.is_enabled()
    assert "read as integers" in str(unit.get_attribute("placeholder"))
    for field, text in (("Budget ε", "100000"), ("and δ", "1e-9")):
        script(browser, f"[...document.querySelectorAll('{form}label')].find("
               f"x => x.innerText.startsWith('{field}')).querySelector('input').value = '{text}'")  # fmt: skip
    browser.click("#register-button")
    says(browser, ".cards", "web")
    assert town.curator.ledger.datasets["web"].about["tables"]["clicks"]["max_rows"] == "auto"
    made = town.post("/api/analysts", {"name": "zoe", "grants": [{"population": "web"}]}, town.owner)
    return str(made.json()["token"])


def test_the_first_question_about_a_new_table_with_float_ids_is_one_charge(browser: Browser, tmp_path: Path) -> None:
    """Registered, asked and drawn by clicking: nothing is declared but who a person is."""
    with open_town(tmp_path / "town") as town, on_a_socket(town) as url:
        token = register(browser, town, url)
        browser.reset()
        sign_in(browser, url, token)
        says(browser, ".schema", "bounds chosen")
        browser.write("#epsilon", "40000")
        sql = browser.find("#sql")
        sql.clear()
        sql.send_keys("SELECT COUNT(*) AS n, AVG(seconds) AS mean FROM clicks")
        says(browser, ".bars", "mean")
        says(browser, ".bars", "not known yet")
        says(browser, ".preview", "of the cost chooses bounds")
        browser.click("#by-error")
        says(browser, ".preview", "ask the owner to declare max_rows")
        browser.click("#by-price")
        says(browser, ".preview", "of the cost chooses")
        browser.click("#ask")
        says(browser, ".answer table", "600")
        assert len(town.curator.ledger.entries(kind="charge")) == 1
        sql.clear()
        sql.send_keys("SELECT FLOOR(CLAMP(seconds, 0, 89) / 30) * 30 AS part, COUNT(*) AS n FROM clicks GROUP BY part")
        says(browser, ".bars", "n")
        browser.click("#ask")
        browser.wait(lambda _: "30 to 60" in drawn(browser, ".answer .label"), "the bins are not drawn")
        tops = script(browser, "return [...document.querySelectorAll('.answer .bar')].map(x => +x.getAttribute('y'))")
        assert isinstance(tops, list)
        tall = script(browser, "return +document.querySelector('.answer .bar').getAttribute('height')")
        assert tops[1] - tops[0] == pytest.approx(tall, abs=1.1)  # they touch
        browser.click("a[href='#history']")
        says(browser, ".list", "FROM clicks")
        assert all("422" in one for one in browser.errors())  # an error cannot be asked for here
