"""The page of sliders in a real browser, from the file: its figures are the library's, and moving a slider redraws."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.privacy.accountants.conversions import zcdp_to_approx_classical
from discreet.privacy.attacker.meaning import advantage, true_positive_rate
from discreet.privacy.promises.measures import ZCDP, Approx
from tests.helpers.browser import Browser

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lectures" / "play.html"


def figure(browser: Browser, call: str) -> Any:
    return browser.driver.execute_script(f"return {call}")


def says(browser: Browser, part: str) -> str:
    return str(figure(browser, f"document.querySelector('#{part} .says').textContent"))


def move(browser: Browser, part: str, slider: int, to: int) -> None:
    browser.driver.execute_script(
        f"const input = document.querySelectorAll('#{part} input')[{slider}]; input.value = {to};"
        "input.dispatchEvent(new Event('input'));"
    )


@pytest.mark.slow
def test_the_figures_are_those_of_the_library(browser: Browser) -> None:
    browser.open(PAGE.as_uri())
    noise = laplace(sensitivity=1, epsilon="1/2")
    for z in (0, 1, -7):
        assert math.isclose(figure(browser, f"play.laplace(0.5, {z})"), float(noise.pmf(z)[0]), rel_tol=1e-12)
    for epsilon in ("1/20", "1/2", "3"):
        exact = laplace(sensitivity=1, epsilon=epsilon).error_at("0.95")
        assert figure(browser, f"play.laplaceError({epsilon})") == exact
    promise = zcdp_to_approx_classical(ZCDP("1/2"), delta="1e-6")
    assert math.isclose(figure(browser, "play.concentrated(0.1, 100)"), float(promise.epsilon), rel_tol=1e-9)
    for rate in ("0.01", "0.3", "0.9"):
        exact = true_positive_rate(Approx(1, "0.01"), rate)
        assert math.isclose(figure(browser, f"play.truePositives(1, 0.01, {rate})"), exact, rel_tol=1e-9)
    assert math.isclose(figure(browser, "play.guess(8, 0)"), (1 + advantage(Approx(8, 0))) / 2, rel_tol=1e-12)
    kept = float(randomized_response(epsilon=1).law(1)[1][0])
    assert math.isclose(figure(browser, "play.reported(1, 0.3)"), 0.3 * kept + 0.7 * (1 - kept), rel_tol=1e-12)


@pytest.mark.slow
def test_moving_a_slider_redraws_its_part(browser: Browser) -> None:
    browser.open(PAGE.as_uri())
    for part, sliders in (("noise", 1), ("composition", 2), ("attacker", 2), ("response", 3), ("budget", 1)):
        for slider in range(sliders):
            before = says(browser, part), figure(browser, f"document.querySelector('#{part} svg').innerHTML")
            move(browser, part, slider, 90)
            after = says(browser, part), figure(browser, f"document.querySelector('#{part} svg').innerHTML")
            assert before != after, (part, slider)
    assert browser.errors() == []


@pytest.mark.slow
def test_a_budget_counts_down_and_refuses(browser: Browser) -> None:
    """Price 0.1: ten questions fit exactly, the eleventh is refused, and nothing is given back."""
    browser.open(PAGE.as_uri())
    assert "ε = 1 is left" in says(browser, "budget")
    for left in ("0.9", "0.8", "0.7"):
        browser.click("#budget .ask")
        assert f"ε = {left} is left" in says(browser, "budget")
    for _ in range(7):
        browser.click("#budget .ask")
    assert "ε = 0 is left" in says(browser, "budget")
    browser.click("#budget .ask")
    assert "Refused" in says(browser, "budget")
    browser.click("#budget .again")
    assert "ε = 1 is left" in says(browser, "budget")


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = PAGE.read_text() + PAGE.with_name("play.js").read_text()
    assert "://" not in text
    assert "fetch(" not in text
