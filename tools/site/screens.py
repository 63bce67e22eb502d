"""The curator's screens, taken by Chromium when the site is built: the sample hospital, asked one query."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from discreet.commands.sample_hospital import write_hospital
from discreet.curator.http.app import create_app
from discreet.curator.http.serving import options
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from tools.servers import CHROMEDRIVER, CHROMIUM, find

QUESTION = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits GROUP BY clinic"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,900")
LARGEST = 1500  # pixels of height


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The address of the sample hospital, and the tokens of an analyst and of the owner."""
    curator = open_curator(read_config(write_hospital(folder / "hospital", people=3000)), create=True)
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "hospital")
    tokens = curator.access.issue("ann", Role.ANALYST), curator.access.issue("owner", Role.OWNER)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(curator), lifespan="off", **options("127.0.0.1", port)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}", *tokens
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        curator.close()


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """A browser without a window."""
    wanted = webdriver.ChromeOptions()
    wanted.binary_location = str(find(CHROMIUM))
    for flag in FLAGS:
        wanted.add_argument(flag)
    driver = webdriver.Chrome(wanted, webdriver.ChromeService(str(find(CHROMEDRIVER))))
    try:
        yield driver
    finally:
        driver.quit()


def _see(driver: webdriver.Chrome, css: str) -> None:
    WebDriverWait(driver, 20).until(lambda found: found.find_element(By.CSS_SELECTOR, css).is_displayed())


def _sign_in(driver: webdriver.Chrome, url: str, token: str) -> None:
    driver.delete_all_cookies()
    driver.get("about:blank")
    driver.get(f"{url}/#signin")
    _see(driver, "input[name=token]")
    driver.find_element(By.CSS_SELECTOR, "input[name=token]").send_keys(token)
    driver.find_element(By.CSS_SELECTOR, ".signin button.main").click()
    _see(driver, "#bar .who")


def _open(driver: webdriver.Chrome, view: str, word: str) -> None:
    driver.find_element(By.CSS_SELECTOR, f"a[href='#{view}']").click()
    WebDriverWait(driver, 20).until(lambda found: word in found.find_element(By.TAG_NAME, "main").text)


def _shoot(driver: webdriver.Chrome, path: Path) -> None:
    driver.set_window_size(1100, 700)  # the height of a page is never below that of its window
    height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.set_window_size(1100, min(LARGEST, max(700, int(height) + 120)))
    driver.save_screenshot(str(path))


def take(folder: Path) -> list[Path]:
    """Screens as PNG: asking in light and dark, history, the page to learn from; the owner's three."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(Path(place)) as (url, ann, owner), chromium() as driver:
        _sign_in(driver, url, ann)
        _see(driver, "#sql")
        field = driver.find_element(By.CSS_SELECTOR, "#sql")
        field.clear()
        field.send_keys(QUESTION)
        _see(driver, ".bars .error")
        driver.find_element(By.CSS_SELECTOR, "button.main").click()
        _see(driver, ".answer table")
        _shoot(driver, folder / "curator-ask.png")
        dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        _shoot(driver, folder / "curator-ask-dark.png")
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        _open(driver, "history", "clinic")
        _shoot(driver, folder / "curator-history.png")
        _open(driver, "learn", "attacker")
        _shoot(driver, folder / "curator-learn.png")
        driver.execute_script("localStorage.clear(); sessionStorage.clear()")
        _sign_in(driver, url, owner)
        _see(driver, "main h1, main h2")
        _shoot(driver, folder / "curator-owner.png")
        _open(driver, "analysts", "ann")
        _shoot(driver, folder / "curator-analysts.png")
        _open(driver, "ledger", "charge")
        _shoot(driver, folder / "curator-ledger.png")
    return sorted(folder.glob("curator-*.png"))


SCREENS = {
    "curator-ask": "An analyst's query, what it would cost, and its answer",
    "curator-ask-dark": "The same in the dark",
    "curator-history": "What an analyst asked before: reading it again is free",
    "curator-learn": "Figures to learn from",
    "curator-owner": "The owner's first screen: data sets and their budgets",
    "curator-analysts": "Analysts, their caps and tokens",
    "curator-ledger": "The entries of the ledger",
}


def shown(name: str, folder: Path) -> str:
    """A picture for a page two levels below the pictures, if it was taken."""
    if not (folder / f"{name}.png").exists():
        return "*(This picture needs Chromium on the machine that builds the site.)*"
    return f"![{SCREENS[name]}](../pictures/{name}.png)"
