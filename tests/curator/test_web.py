"""The page in a real browser: asking, previewing, registering, and names that are HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from selenium.webdriver.common.keys import Keys

from discreet.ledger import verify_card, verify_receipt
from tests.helpers.axe import violations
from tests.helpers.browser import Browser
from tests.helpers.curator.land import PLACES
from tests.helpers.curator.town import Town, charges, on_a_socket, open_town
from tests.helpers.processes import until

EVIL = "<img src=x onerror=hacked=1>"
PAGE = files("discreet.curator") / "web"


def sign_in(browser: Browser, url: str, token: str) -> None:
    browser.open(f"{url}/#signin")
    browser.write("input[name=token]", token)
    browser.click(".signin button.main")
    browser.find("#bar .who")


def script(browser: Browser, text: str) -> object:
    return browser.driver.execute_script(text)


def read(browser: Browser, css: str) -> str:
    """What an element says at one instant, or nothing: the page may draw it anew at any moment."""
    found = browser.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", css)
    return str(found)


def says(browser: Browser, css: str, text: str) -> None:
    browser.wait(lambda _: text in read(browser, css), f"{css} does not say {text!r}")


def saved(file: Path) -> None:
    """A browser makes an empty file first."""
    until(lambda: file.exists() and file.stat().st_size > 0, what=f"saved: {file.name}")


def changes(browser: Browser, css: str, before: str) -> None:
    browser.wait(lambda _: read(browser, css) not in ("", before), f"{css} still says {before!r}")


@pytest.mark.slow
def test_an_analyst_previews_asks_and_looks_back(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    says(browser, ".preview", "What you would get")
    assert "people" in read(browser, ".schema")
    assert "Aton, Bury, Cold" in read(browser, ".schema")
    sql = browser.find("#sql")
    sql.clear()
    sql.send_keys("SELECT city, COUNT(*) AS many FROM people GROUP BY city")
    says(browser, ".bars", "many")
    before = read(browser, ".bars .error")
    browser.write("#epsilon", "3")
    changes(browser, ".bars .error", before)
    says(browser, "#cost", "ε = 3")
    says(browser, "#ask", "Run (spends ε = 3)")
    charges = len(town.curator.ledger.entries(kind="charge"))
    browser.find("#sql").send_keys(Keys.CONTROL, Keys.ENTER)
    says(browser, ".answer", "Aton")
    assert len(town.curator.ledger.entries(kind="charge")) == charges + 1
    assert script(browser, "return document.querySelectorAll('.answer .chart .bar').length") == 3
    assert script(browser, "return document.querySelectorAll('.answer .chart .whisker').length") == 3
    assert "±" in read(browser, ".answer table")
    says(browser, ".earlier", "You have this answer from")  # the same query is not paid twice without a word
    says(browser, "#ask", "Run again (spends ε = 3)")
    browser.click("#show")
    says(browser, ".answer .head", "free: charged at")
    assert len(town.curator.ledger.entries(kind="charge")) == charges + 1
    browser.click("a[href='#history']")
    says(browser, ".list", "COUNT(*) AS many")
    says(browser, ".answer", "Aton")
    assert not browser.errors()


@pytest.mark.slow
def test_an_answer_of_a_colleague_is_free_on_the_page_and_in_its_library(browser: Browser, tmp_path: Path) -> None:
    sql = "SELECT city, COUNT(*) AS many FROM people GROUP BY city"
    with open_town(tmp_path) as town, on_a_socket(town) as url:
        number = town.ask(sql, town.bob, epsilon="0.3").json()["number"]
        town.ask("SELECT COUNT(*) AS trips FROM trips", town.bob)
        sign_in(browser, url, town.ann)
        browser.write("#sql", sql)
        says(browser, ".earlier", "bob has this answer from")
        browser.click("#show")
        says(browser, ".answer", "Aton")
        says(browser, ".answer .head", "free: charged at")
        assert script(browser, "return document.querySelector('#receipt')") is None
        browser.write("#sql", sql + " HAVING many > 3 ORDER BY many DESC")
        says(browser, ".earlier", "This follows from an answer that is there")
        browser.click("#follows")
        says(browser, ".answer .head", f"from {number}")
        browser.click("a[href='#library']")
        says(browser, ".list", "trips")
        browser.write("#words", "MANY people")
        browser.wait(lambda _: "trips" not in read(browser, ".list"), "the list shows what was not searched for")
        browser.click(".list .entry")
        says(browser, ".answer", "by bob")
        says(browser, ".answer", "Aton")
        assert script(browser, "return location.hash") == f"#library/{number}"
        assert charges(town) == 2
        assert not browser.errors()


@pytest.mark.slow
def test_synthetic_rows_are_made_watched_and_offered(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    browser.click("a[href='#synthetic']")
    browser.write("#rows", "20")
    browser.click("#make")
    says(browser, ".result", "20 rows of city, pay")
    says(browser, ".result", "noise alone")
    assert read(browser, "#download") == "Download Parquet"
    browser.click("a[href='#history']")
    says(browser, ".list", "synthesize(people)")
    assert not browser.errors()
    browser.click("a[href='#synthetic']")
    browser.write("#price", "100000000")
    browser.click("#make")
    says(browser, ".result", "OverBudget")
    assert all("402" in line for line in browser.errors())


@pytest.mark.slow
def test_tables_are_chosen_by_level_with_their_errors_before_they_are_paid(browser: Browser, tmp_path: Path) -> None:
    with open_town(tmp_path, more=PLACES) as town, on_a_socket(town) as url:
        sign_in(browser, url, town.ann)
        browser.click("a[href='#tables']")
        says(browser, ".errors", "region")
        says(browser, ".errors", "city")
        before = read(browser, ".errors")
        browser.write("#price", "4")
        changes(browser, ".errors", before)
        browser.click("#more")
        says(browser, ".errors", "must name at least one table, and each once")
        browser.click(".one:last-child input[type=checkbox]")
        says(browser, ".errors", "city x pay")
        assert charges(town) == 0
        browser.click("#publish")
        says(browser, ".result", "0 cells are negative or do not add up")
        assert read(browser, "#download") == "Download tables"
        assert charges(town) == 1
        browser.click("a[href='#history']")
        says(browser, ".list", "publish(people)")
        assert all("422" in line for line in browser.errors())


@pytest.mark.slow
def test_a_workload_is_shown_whole(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sqls = [
        "SELECT city, COUNT(*) AS people_there FROM people GROUP BY city",
        "SELECT COUNT(*) AS trips_made FROM trips",
    ]
    said = town.post("/api/datasets/town/workload", {"sqls": sqls, "epsilon": "7"}, town.ann).json()
    sign_in(browser, url, town.ann)
    browser.open(f"{url}/#history/{said['number']}")
    says(browser, ".answer h2", "Answers to 2 queries")
    says(browser, ".answer", "Aton")
    shown = script(browser, "return [...document.querySelectorAll('.answer .asked')].map(one => one.innerText)")
    assert shown == sqls
    assert script(browser, "return document.querySelectorAll('.answer table').length") == 2
    assert "people_there" in read(browser, ".list")
    buttons = script(browser, "return document.querySelector('.list li').querySelectorAll('button').length")
    assert buttons == 1  # a workload is not edited as one query
    sizes = {"table": "people", "column": "pay", "epsilon": "7"}
    estimate = town.post("/api/datasets/town/bounds", sizes, town.ann).json()
    browser.open(f"{url}/#history/{estimate['number']}")
    browser.driver.refresh()
    says(browser, ".answer .asked", "suggest_bounds(people.pay)")
    says(browser, ".answer table", "power")
    assert not browser.errors()


@pytest.mark.slow
def test_an_error_can_be_asked_for(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    browser.find("#sql").clear()
    browser.find("#sql").send_keys("SELECT COUNT(*) AS n FROM people")
    browser.click("#by-error")
    browser.write("#error", "12")
    says(browser, ".bars .error", "± 12")  # just within what was wished for
    says(browser, "#cost", "ε")
    browser.find("#sql").clear()
    browser.find("#sql").send_keys("SELECT * FROM people")
    says(browser, ".preview", "This is not supported")  # in plain words; the name of the class is below it, small
    says(browser, ".preview small", "Unsupported")
    assert not browser.find("#ask").is_enabled()


@pytest.mark.slow
def test_the_token_stays_in_the_tab(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    assert town.ann not in browser.url
    assert script(browser, "return document.cookie") == ""
    assert script(browser, "return localStorage.length") == 0
    assert script(browser, "return sessionStorage.getItem('discreet.token')") == town.ann
    seen = script(browser, "return performance.getEntriesByType('resource').map(r => r.name)")
    assert isinstance(seen, list)
    assert all(str(one).startswith(url) for one in seen)  # nothing from elsewhere
    assert not [one for one in seen if town.ann in str(one)]
    browser.click(".who button")
    browser.find("input[name=token]")
    assert script(browser, "return sessionStorage.length") == 0
    browser.write("input[name=token]", "discreet_0_wrong")
    browser.click(".signin button.main")
    says(browser, ".complaint", "This token is not valid")


@pytest.mark.slow
def test_the_teaching_page_is_open_and_moves(browser: Browser, served: tuple[Town, str]) -> None:
    _, url = served
    browser.open(f"{url}/#learn")
    says(browser, ".learn", "guesses right")
    assert script(browser, "return document.querySelectorAll('.learn svg.chart').length") == 3
    assert int(str(script(browser, "return document.querySelectorAll('.learn circle.dot').length"))) > 100
    before = read(browser, ".learn .card .big b")
    slider = browser.find(".learn .card input[type=range]")
    slider.send_keys(Keys.END)
    changes(browser, ".learn .card .big b", before)
    assert not browser.errors()


@pytest.mark.slow
def test_the_owner_registers_data_lets_an_analyst_in_and_checks_the_ledger(browser: Browser, tmp_path: Path) -> None:
    with open_town(tmp_path / "town") as town, on_a_socket(town) as url:
        pq.write_table(pa.table({"user_id": [1, 2, 3], "kind": ["a", "b", "a"]}), town.config.data / "clicks.parquet")
        pq.write_table(pa.table({"pay": [1.5, 2.5]}), town.config.data / "pay.parquet")
        sign_in(browser, url, town.owner)
        says(browser, ".cards", "town")
        form = "#register "
        browser.write(form + "input[placeholder=hospital]", "web")
        browser.write(form + "input[list=sources]", "pay.parquet")
        browser.click("#add-table")
        browser.find(form + "select[aria-label=Unit]")
        before = town.curator.ledger.head
        browser.click("#register-button")  # nothing there says whose rows these are, and nothing is public by default
        assert script(browser, "return document.querySelector('select[aria-label=Unit]').matches(':invalid')")
        assert town.curator.ledger.head == before
        browser.click(form + ".tableform button.bad")
        browser.write(form + "input[list=sources]", "clicks.parquet")
        browser.click("#add-table")
        browser.write(form + "input[aria-label='Declaration of kind']", "keys a, b")
        browser.click("#register-button")
        says(browser, form + ".complaint", "give a decision")  # they are numbered as the people of the town are
        assert all("409" in one for one in browser.errors())
        browser.write(form + "input[placeholder^='only if']", "other people")
        browser.click("#register-button")
        says(browser, ".cards", "web")
        assert town.curator.ledger.datasets["web"].about["tables"]["clicks"]["columns"]["kind"] == {"keys": ["a", "b"]}
        browser.click("a[href='#analysts']")
        browser.write("input[name=name]", "zoe")
        assert script(browser, "return document.querySelectorAll('fieldset input:checked').length") == 0
        browser.click("form button.main")
        says(browser, "form .complaint", "Choose at least one")  # nothing is ticked beforehand
        browser.click("input[aria-label='May ask about town']")
        browser.write("input[aria-label='Cap in town']", "5")
        browser.click("form button.main")
        browser.find(".secret input")
        token = str(script(browser, "return document.querySelector('.secret input').value"))
        assert town.curator.access.who(f"Bearer {token}").name == "zoe"
        browser.click("a[href='#ledger']")
        says(browser, ".chain", "The chain is whole")
        assert "zoe" in read(browser, ".entries")
        browser.click("#verify")
        says(browser, "#toast", "was checked")
        assert not browser.errors()


@pytest.mark.slow
def test_names_that_are_html_are_shown_as_they_are(browser: Browser, tmp_path: Path) -> None:
    with open_town(tmp_path / "town") as town, on_a_socket(town) as url:
        table = {
            "source": "notes.csv",
            "unit": "who",
            "columns": {"text": {"keys": [EVIL, "<script>hacked=2</script>"]}},
        }
        body = {"name": EVIL, "population": "other", "protects": EVIL, "tables": {"notes": table}}
        assert town.post("/api/datasets", body, town.owner).status_code == 201
        grants = [{"population": "other"}]
        made = town.post("/api/analysts", {"name": EVIL, "grants": grants}, town.owner)
        assert made.status_code == 201, made.text
        asked = f"SELECT text, COUNT(*) AS \"{EVIL}\" FROM notes WHERE text <> '{EVIL}' GROUP BY text"
        path = f"/api/datasets/{EVIL.replace(' ', '%20').replace('<', '%3C').replace('>', '%3E')}/questions"
        reply = town.post(path, {"sql": asked, "epsilon": "0.1"}, made.json()["token"])
        assert reply.status_code == 200, reply.text

        def harmless() -> None:
            assert script(browser, "return typeof hacked") == "undefined"
            assert script(browser, "return document.querySelectorAll('main img, main script').length") == 0

        sign_in(browser, url, made.json()["token"])
        says(browser, "#bar .name", EVIL)
        browser.find(".schema")
        harmless()
        browser.click("a[href='#history']")
        says(browser, ".answer", EVIL)
        harmless()
        browser.click(".who button")
        sign_in(browser, url, town.owner)
        says(browser, ".cards", EVIL)
        harmless()
        browser.click("a[href='#analysts']")
        says(browser, ".people", EVIL)
        harmless()
        browser.click("a[href='#ledger']")
        says(browser, ".entries", EVIL)
        harmless()
        assert not browser.errors()


VIEWS = {
    "ann": ["ask", "boards", "history", "library", "synthetic", "tables", "verify", "learn"],
    "owner": ["datasets", "analysts", "profiles", "ledger", "alerts", "verify", "learn"],
}
NAMELESS = """
return [...document.querySelectorAll('input, select, textarea, button, a, [role=img], [role=meter]')]
  .filter((e) => e.offsetParent !== null || e instanceof SVGElement)
  .filter((e) => !(e.getAttribute('aria-label') || e.textContent || e.title || e.labels?.length || e.alt))
  .map((e) => e.outerHTML.slice(0, 200))
"""
HEADINGS = "return document.querySelectorAll('h1').length"
CUT = """
const cut = (one) => {
  if (!one.ownerSVGElement) return one.scrollWidth > one.clientWidth;
  const [text, chart] = [one, one.ownerSVGElement].map((part) => part.getBoundingClientRect());
  return text.left < chart.left || text.right > chart.right;
};
const shown = document.querySelectorAll("#bar nav, .scroll:has(.entries), .chart.steps text");
return [...shown].filter(cut).map((one) => one.outerHTML.slice(0, 80));
"""
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.slow
@pytest.mark.parametrize("who", ["ann", "owner"])
def test_every_view_fits_a_phone_and_everything_in_it_has_a_name(
    browser: Browser, served: tuple[Town, str], who: str
) -> None:
    town, url = served
    town.ask("SELECT city, COUNT(*) AS many, AVG(pay) AS pay FROM people GROUP BY city", key=f"for {who}")
    browser.driver.set_window_size(1280, 900)
    sign_in(browser, url, getattr(town, who))
    try:
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            for width in (1280, 390):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 800}
                browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                for view in VIEWS[who]:
                    browser.click(f"nav a[href='#{view}']")
                    browser.wait(lambda _: not script(browser, "return !!document.querySelector('[aria-busy]')"), view)
                    assert script(browser, WIDER) == 0, (view, width)
                    assert script(browser, CUT) == [], (view, width)
                    assert script(browser, NAMELESS) == [], (view, width)
                    browser.wait(lambda _: script(browser, HEADINGS) == 1, f"{view} has no heading")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert not browser.errors()


@pytest.mark.slow
@pytest.mark.parametrize("who", ["ann", "owner", "nobody"])
def test_an_accessibility_checker_finds_nothing(browser: Browser, served: tuple[Town, str], who: str) -> None:
    town, url = served
    if who == "nobody":
        browser.open(f"{url}/#signin")
        browser.find(".signin")
        assert violations(browser) == []
        return
    town.ask("SELECT city, COUNT(*) AS many, AVG(pay) AS pay FROM people GROUP BY city", key=f"checked by {who}")
    sign_in(browser, url, getattr(town, who))
    try:
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            for view in VIEWS[who]:
                browser.click(f"nav a[href='#{view}']")
                browser.wait(lambda _: not script(browser, "return !!document.querySelector('[aria-busy]')"), view)
                browser.wait(lambda _: script(browser, HEADINGS) == 1, f"{view} has no heading")
                browser.wait(lambda _: violations(browser) == [], f"{view}, {scheme}")  # once it is drawn
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.slow
def test_a_question_can_be_built_without_sql(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    browser.click("#build")
    choose(browser, "#build-table", "people")
    browser.click("#add-measure")
    choose(browser, ".measure:nth-of-type(2) select", "AVG")
    browser.click("#add-group")
    choose(browser, ".group select", "city")
    browser.click("#add-condition")
    choose(browser, ".condition select", "city")
    script(browser, "document.querySelectorAll('.condition input[type=checkbox]')[1].click()")
    written = "return document.querySelector('#sql').value"
    built = (
        "SELECT city, COUNT(*) AS n, AVG(pay) AS avg_pay\nFROM people\nWHERE city IN ('Aton', 'Bury')\nGROUP BY city"
    )
    assert script(browser, written) == built
    says(browser, ".bars", "avg_pay")
    browser.click(".join input")  # along the unit that both tables have
    joined = "people JOIN trips ON people.person_id = trips.person_id\nWHERE people.city IN ('Aton', 'Bury')"
    assert joined in str(script(browser, written))
    # and what is written in the editor is shown in the builder, where it has words for it
    sql = browser.find("#sql")
    sql.clear()
    sql.send_keys(
        "SELECT DATE_TRUNC('week', day) AS w, SUM(length) AS s FROM trips WHERE length >= 2 AND length <= 7 GROUP BY w"
    )
    shown = "return [...document.querySelectorAll('.builder .line select, .builder .line input')].map((e) => e.value)"
    expected = ["trips", "on", "SUM", "length", "day", "week", "length", "2", "7"]
    browser.wait(lambda _: script(browser, shown) == expected, "the builder does not follow")
    sql.send_keys(" HAVING s > 3")
    says(browser, ".builder", "only SQL can say")


def choose(browser: Browser, css: str, value: str) -> None:
    found = browser.find(css)
    browser.driver.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", found, value
    )


@pytest.mark.slow
def test_a_wrong_token_is_explained_to_a_person(browser: Browser, served: tuple[Town, str]) -> None:
    _, url = served
    browser.open(f"{url}/#signin")
    script(browser, "sessionStorage.clear()")
    browser.open(f"{url}/#signin")
    browser.write("input[name=token]", "discreet_wrong")
    browser.click(".signin button.main")
    says(browser, ".signin .complaint", "ask the owner of the data for a new one")
    assert "header" not in read(browser, ".signin")
    browser.errors()  # the refusal itself


@pytest.mark.slow
def test_error_bars_of_one_preview_share_a_scale(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    says(browser, ".preview", "What you would get")
    sql = browser.find("#sql")
    sql.clear()
    sql.send_keys("SELECT COUNT(*) AS few, SUM(pay) AS many FROM people")
    says(browser, ".bars", "many")
    widths = script(
        browser, "return [...document.querySelectorAll('.bars .whisker i')].map((e) => parseFloat(e.style.width))"
    )
    assert isinstance(widths, list)
    assert widths[0] < widths[1]


@pytest.mark.slow
def test_a_question_can_be_asked_with_the_keyboard_alone(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    sign_in(browser, url, town.ann)
    says(browser, ".preview", "What you would get")
    script(browser, "document.activeElement.blur()")
    seen = []
    for _ in range(60):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(str(script(browser, "const e = document.activeElement; return e.id || e.className || e.tagName")))
        if seen[-1] == "main ask" or seen[-1] == "ask":
            break
    order = [
        seen.index(one) for one in ("sql", "by-price", "by-error", "confidence", "slider", "epsilon", "typical", "ask")
    ]
    assert order == sorted(order)
    before = read(browser, ".bars .error")
    browser.find("#slider").send_keys(Keys.HOME)  # as far down as it goes
    changes(browser, ".bars .error", before)
    charges = len(town.curator.ledger.entries(kind="charge"))
    browser.find("#ask").send_keys(Keys.ENTER)
    browser.find(".answer")
    assert len(town.curator.ledger.entries(kind="charge")) == charges + 1


@pytest.mark.slow
def test_what_is_saved_is_genuine(
    browser: Browser, served: tuple[Town, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, url = served
    said = town.ask("SELECT COUNT(*) AS n FROM people WHERE pay > 3", epsilon="2").json()
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    sign_in(browser, url, town.ann)
    browser.click("a[href='#history']")
    says(browser, ".answer .asked", "pay > 3")
    key = town.curator.ledger.public_key
    for what, check in (("card", verify_card), ("receipt", verify_receipt)):
        browser.click(f"#{what}")
        file = tmp_path / f"{what}-{said['number']}.json"
        saved(file)
        assert file.read_text() == said[what]
        check(file.read_text(), key)
    browser.click(".csv")
    file = tmp_path / f"answer-{said['number']}.csv-metadata.json"
    saved(file)
    assert json.loads(file.read_text())["spent"] == said["answer"]["cost"]
    saved(file.with_name(f"answer-{said['number']}.csv"))
    browser.click("#notebook")
    file = tmp_path / f"answer-{said['number']}.ipynb"
    saved(file)
    text, code = (cell["source"] for cell in json.loads(file.read_text())["cells"])
    assert "SELECT COUNT(*) AS n FROM people WHERE pay > 3" in "".join(text)
    assert town.ann not in file.read_text()
    browser.click("nav a[href='#ask']")
    browser.click("#script")
    script = tmp_path / "query.py"
    saved(script)
    assert town.ann not in script.read_text()
    browser.click("nav a[href='#verify']")
    for what in ("card", "receipt"):
        paper = tmp_path / f"{what}-{said['number']}.json"
        browser.find("#paper").send_keys(str(paper))
        says(browser, "#verdict", "Genuine.")  # by the browser
        says(browser, "#verdict", "The ledger holds this charge.")  # by the service
        forged = tmp_path / f"forged-{what}.json"
        forged.write_text(paper.read_text().replace("pay > 3", "pay > 4"))
        browser.find("#paper").send_keys(str(forged))
        says(browser, "#verdict", "Not genuine")
    names: dict[str, Any] = {}
    monkeypatch.setenv("DISCREET_TOKEN", town.ann)
    exec(compile("".join(code), "notebook", "exec"), names)  # noqa: S102 - our own page
    assert names["answers"][0]["n"] == [row[0] for row in said["answer"]["rows"]]
    before = names["session"].remaining
    exec(compile(script.read_text(), "script", "exec"), names)  # noqa: S102 - our own page
    assert names["session"].remaining == before


@pytest.mark.slow
def test_the_files_of_the_page_make_no_html_from_text_and_ask_nobody_else() -> None:
    found = {one.name: one.read_text() for one in PAGE.iterdir()}
    assert {"index.html", "style.css", "main.js"} <= set(found)
    for name, text in found.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )
        assert not re.search(r"\sstyle=|\son\w+=[\"']|<script(?![^>]*\ssrc=)", text), name
        links = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not links, (name, links)


def test_only_files_of_the_page_are_served(town: Town) -> None:
    for name in ("main.js", "style.css", "icon.svg"):
        assert town.get(f"/web/{name}").status_code == 200
    for name in ("nothing.js", "..%2fapp.py", "%2e%2e/app.py", "index.html%00", "app.py", ""):
        assert town.get(f"/web/{name}").status_code == 404
    assert town.get("/web/main.js").headers["content-type"].startswith("text/javascript")


@pytest.mark.slow
def test_a_view_that_comes_late_is_not_drawn_over_the_one_that_is_looked_at(
    browser: Browser, served: tuple[Town, str]
) -> None:
    town, url = served
    town.ask("SELECT COUNT(*) AS n FROM people", key="for the history")
    sign_in(browser, url, town.ann)
    browser.find("#sql")
    # the history is asked for first and comes last
    script(
        browser,
        """
        const real = window.fetch;
        window.fetch = async (path, ...more) => {
          const reply = await real(path, ...more);
          if (String(path).startsWith('/api/answers')) await new Promise((done) => { window.goOn = done; });
          return reply;
        };
        location.hash = '#history';
        """,
    )
    browser.wait(lambda _: script(browser, "return !!window.goOn"), "the history was not asked for")
    browser.click("nav a[href='#learn']")
    browser.find(".learn .chart")
    script(browser, "window.goOn()")
    browser.open(f"{url}/#learn")
    assert script(browser, "return document.querySelectorAll('main .list').length") == 0
    assert read(browser, ".tab[aria-current]") == "Learn"


@pytest.mark.slow
def test_an_answer_that_comes_late_is_not_drawn_over_the_one_that_was_opened_after_it(
    browser: Browser, served: tuple[Town, str]
) -> None:
    town, url = served
    town.ask("SELECT COUNT(*) AS first_one FROM people", key="opened later")
    town.ask("SELECT COUNT(*) AS last_one FROM people", key="opened by the page")
    sign_in(browser, url, town.ann)
    browser.find("#sql")
    # the last answer, which the page opens by itself, waits until it is told to come
    script(
        browser,
        """
        const real = window.fetch;
        window.fetch = async (path, ...more) => {
          const reply = await real(path, ...more);
          if (/answers.[0-9]+$/.test(path) && !window.goOn)
            await new Promise((done) => { window.goOn = () => { done(); window.gone = true; }; });
          return reply;
        };
        location.hash = '#history';
        """,
    )
    browser.wait(lambda _: script(browser, "return !!window.goOn"), "no answer was asked for")
    script(
        browser, "[...document.querySelectorAll('.list .entry')].find(x => x.innerText.includes('first_one')).click()"
    )
    says(browser, ".answer", "first_one")
    script(browser, "window.goOn()")
    browser.driver.execute_async_script("setTimeout(arguments[0], 0)")  # what waited has run
    assert "first_one" in read(browser, ".answer")
    assert "last_one" not in read(browser, ".answer")


@pytest.mark.slow
def test_no_text_of_a_saved_table_is_a_formula(browser: Browser, served: tuple[Town, str]) -> None:
    """A line break in a text must not begin a row, nor a semicolon a cell, where others take those for such."""
    browser.open(served[1])
    rows = [["=1", "a\r=1", "a;=1", "\t=1", "a-1", -1]]
    made = browser.driver.execute_async_script(
        "const [rows, done] = arguments; import('/web/dom.js').then((module) => done(module.csv(rows)))", rows
    )
    assert next(csv.reader(io.StringIO(made, newline=""))) == ["'=1", "a\r'=1", "a;'=1", "'\t'=1", "a-1", "-1"]
