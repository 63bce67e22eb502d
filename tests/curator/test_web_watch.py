"""What the owner watches on the page, and the files that an answer is saved as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.curator.test_web import read, says, script, sign_in
from tests.helpers.axe import violations
from tests.helpers.browser import Browser
from tests.helpers.curator.town import Town, on_a_socket, open_town


def test_alerts_profiles_and_prices(browser: Browser, served: tuple[Town, str]) -> None:
    town, url = served
    body = {"table": "people", "columns": ["pay"], "epsilon": "1", "key": "watched profile"}
    assert town.post("/api/datasets/town/profile", body, town.ann).status_code == 200
    town.curator.ledger.owner.add_analyst("zoe without a token")
    sign_in(browser, url, town.owner)
    browser.click("nav a[href='#alerts']")
    says(browser, "main h1", "Alerts")
    says(browser, ".alerts", "zoe without a token")
    assert violations(browser) == []
    browser.click("nav a[href='#profiles']")
    says(browser, ".list", "town: people")
    says(browser, ".result", "charged")
    assert violations(browser) == []
    browser.click("nav a[href='#ledger']")
    says(browser, ".entries", "epsilon")
    cells = "(one) => [one.cells[3].innerText, one.cells[4].innerText]"
    found = script(browser, f"return [...document.querySelectorAll('tr.entry')].map({cells})")
    assert isinstance(found, list)
    assert all(bool(price) == (kind == "charge") for kind, price in found)
    assert not browser.errors()


def test_an_answer_is_saved_as_parquet(browser: Browser, served: tuple[Town, str], tmp_path: Path) -> None:
    town, url = served
    found = town.ask("SELECT city, COUNT(*) AS many FROM people GROUP BY city", key="saved as parquet").json()
    sign_in(browser, url, town.ann)
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.open(f"{url}/#history/{found['number']}")
    says(browser, ".answer", "Aton")
    assert "leaves out the bias of this" in read(browser, ".answer .note")
    browser.click(".answer .parquet")
    path = tmp_path / f"answer-{found['number']}.parquet"
    browser.wait(lambda _: path.exists(), "nothing was saved")
    assert pq.read_table(path).column_names == ["city", "many", "many_error"]


def test_a_first_visit_explains_itself(browser: Browser, tmp_path: Path) -> None:
    with open_town(tmp_path) as town, on_a_socket(town) as url:
        sign_in(browser, url, town.ann)
        says(browser, ".first", "nothing is charged yet")
        assert violations(browser) == []
        town.ask("SELECT COUNT(*) AS n FROM people", epsilon="1000")
        browser.driver.refresh()
        says(browser, ".preview", "What you would get")
        assert read(browser, ".first") == ""


def test_a_broken_data_set_is_among_the_alerts(browser: Browser, tmp_path: Path) -> None:
    with open_town(tmp_path) as town, on_a_socket(town) as url:
        file = tmp_path / "data" / "people.parquet"
        pq.write_table(pq.read_table(file).drop_columns(["pay"]), file)
        town.curator.look_at_datasets()
        sign_in(browser, url, town.owner)
        browser.click("nav a[href='#alerts']")
        says(browser, "main", "queries about the data set 'town' are refused")
        assert violations(browser) == []


def test_a_question_under_way_is_no_error_and_its_answer_appears(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was shown in red, as LedgerUnavailable, until somebody opened it again."""
    with open_town(tmp_path) as town, on_a_socket(town) as url:
        kept: list[Any] = []

        def hold(*arguments: Any, **named: Any) -> None:
            kept.append((arguments, named))
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(town.curator.ledger, "store_answer", hold)
            assert town.ask("SELECT city, COUNT(*) AS many FROM people GROUP BY city").status_code == 500
        ((arguments, named),) = kept
        sign_in(browser, url, town.ann)
        browser.open(f"{url}/#history/{arguments[0].sequence}")
        says(browser, ".result", "is being answered")
        assert read(browser, ".result .complaint") == ""
        assert violations(browser) == []
        town.curator.ledger.store_answer(*arguments, **named)
        says(browser, ".answer", "Aton")
