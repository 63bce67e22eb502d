"""A real browser for tests: Debian's Chromium without a window, driven by its own driver. It reaches loopback only."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import element_to_be_clickable, visibility_of_element_located
from selenium.webdriver.support.wait import WebDriverWait

from tests.helpers.processes import tied
from tools.servers import CHROMEDRIVER, CHROMIUM, find

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--window-size=1280,900",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
LOADED = "return document.readyState === 'complete' && location.href !== 'about:blank'"
PATIENCE = 20  # seconds until something that never comes is a failure
T = TypeVar("T")


class Driver(webdriver.ChromeService):
    """ChromeDriver; the kernel kills it if the test run dies first, and Chromium ends when its pipe to it breaks."""

    def __init__(self, path: str) -> None:
        tie = tied(path)
        super().__init__(tie[0])
        self._tie = tie[1:]

    def command_line_args(self) -> list[str]:
        return [*self._tie, *super().command_line_args()]


class Browser:
    """What a person at a screen does: open, look, click, write. Every step waits until the page is ready for it."""

    def __init__(self) -> None:
        options, service = webdriver.ChromeOptions(), Driver(str(find(CHROMEDRIVER)))
        options.binary_location = str(find(CHROMIUM))
        self.profile = tempfile.mkdtemp(prefix="discreet-browser-")
        for flag in (*FLAGS, f"--user-data-dir={self.profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, service)

    def open(self, url: str) -> None:
        """Until all of it is there: the driver sometimes comes back while a page is still being read (1 in 60)."""
        self.driver.get(url)
        self.wait(lambda driver: driver.execute_script(LOADED), f"{url} does not load")

    @property
    def title(self) -> str:
        return self.driver.title

    @property
    def url(self) -> str:
        return self.driver.current_url

    def find(self, css: str) -> WebElement:
        """The first element that matches and can be seen."""
        return self.wait(visibility_of_element_located((By.CSS_SELECTOR, css)), f"{css} is not to be seen")

    def text(self, css: str) -> str:
        return self.find(css).text

    def click(self, css: str) -> None:
        """Click; again if the page drew the element anew between finding and clicking it."""
        ready = element_to_be_clickable((By.CSS_SELECTOR, css))

        def clicked(driver: webdriver.Chrome) -> bool:
            try:
                element = ready(driver)
                if not isinstance(element, WebElement):
                    return False
                element.click()
            except StaleElementReferenceException:
                return False
            return True

        self.wait(clicked, f"{css} cannot be clicked")

    def write(self, css: str, text: str) -> None:
        """Replace the content of a field."""
        field = self.find(css)
        field.clear()
        field.send_keys(text)

    def wait(self, ready: Callable[[webdriver.Chrome], T | Literal[False]], message: str = "") -> T:
        """The first true value of a function of the driver."""
        return WebDriverWait(self.driver, PATIENCE, 0.05).until(ready, message)

    def wait_for_text(self, css: str, text: str) -> None:
        """Wait until an element holds a text."""
        self.wait(lambda _: text in self.text(css), f"{css} does not say {text!r}")

    def errors(self) -> list[str]:
        """What the console complained about since the last call: scripts that failed, files that were not there."""
        lines = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [line["message"] for line in lines if line["level"] in {"SEVERE", "WARNING"}]

    def screenshot(self, path: Path) -> Path:
        """A PNG of the whole page."""
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        self.driver.set_window_size(1280, max(900, int(height) + 200))
        assert self.driver.save_screenshot(str(path))
        return path

    def reset(self) -> None:
        """As new: one empty tab, no cookies, nothing stored, an empty console."""
        first, *others = self.driver.window_handles
        for other in others:
            self.driver.switch_to.window(other)
            self.driver.close()
        self.driver.switch_to.window(first)
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        self.errors()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)
