"""The documentation site: whole, light, complete, and usable in a real browser without a network."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import discreet
from discreet import curator
from discreet.curator.service.access import TABLE
from discreet.query.functions.catalogue import FUNCTIONS
from tests.helpers.browser import Browser
from tools import proofs
from tools.site import (
    anatomy,
    build,
    check,
    lectures,
    listings,
    navigation,
    notebooks,
    parameters,
    pictures,
    screens,
    symbols,
)
from tools.site.cells import SHELL, cells
from tools.site.raised import raised_by
from tools.site.stage import outside_code

WORDS = {
    "randomized response": "randomized",
    "unknown_keys": "unknown_keys",
    "backup": "ledger",
    "Tumult": "tumult",
    "sensitivity": "",
    "Santha": "biased",
    "OverBudget": "OverBudget",
    "systemd": "deploy",
    "composition": "",
    "quantile": "quantile",
    "epsilon": "how-to/",
    "privacy unit": "how-to/",
    "max_ids": "move-from-smartnoise",
    "partition selection": "which-mechanism",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("site"))


def page(site: Path, name: str) -> str:
    return (site / name).read_text()


def test_links_and_anchors_resolve_and_no_page_is_too_heavy(site: Path) -> None:
    assert check.problems(site) == []
    assert len(list(site.rglob("*.html"))) > 300


WITHOUT_TORCH = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] == "torch" else PathFinder.find_spec(name, path, target)

sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from tools.site import parameters, absent, symbols
if sys.argv[1:] == ["stand in"]:
    absent.stand_in()
sys.stdout.write("".join(symbols.page(s) for s in symbols.symbols() if s.name in ("train", "PrivateTraining")))
"""


def test_pages_of_names_need_no_torch() -> None:
    """``make docs`` installs what it needs, and that is not gigabytes; nothing on a page depends on it."""
    here = {symbol.name: symbol for symbol in symbols.symbols() if symbol.module == "learning"}
    pages = [symbols.page(here[name]) for name in ("PrivateTraining", "train")]
    command = [sys.executable, "-c", WITHOUT_TORCH]
    made = subprocess.run([*command, "stand in"], capture_output=True, text=True, check=True)
    assert made.stdout == "".join(pages)
    missing = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "MissingExtra" in missing.stderr


def test_a_broken_link_anchor_or_script_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="b.html#y">b</a><a href="b.html#z">b</a><a href="c.html">'
    )
    (tmp_path / "b.html").write_text('<p id="y"><script src="https://cdn.example/x.js"></script><img src="/p.png">')
    (tmp_path / "d.html").write_text("x" * (check.HEAVIEST + 1))
    assert check.problems(tmp_path) == [
        "a.html points to b.html#z",
        "a.html points to c.html",
        "b.html loads https://cdn.example/x.js",
        "b.html points to /p.png",
        f"d.html has {check.HEAVIEST + 1} bytes",
    ]


def test_every_public_name_has_a_page(site: Path) -> None:
    """Names are counted here from the package itself, not from the generator."""
    missing = []
    for name in discreet.__all__:
        what = getattr(discreet, name)
        inner = getattr(what, "__all__", []) if inspect.ismodule(what) else []
        wanted = [f"{name}.{each}" for each in inner] if inspect.ismodule(what) else [name]
        missing += [one for one in wanted if not (site / "reference/api" / f"{one}.html").exists()]
        if inspect.ismodule(what):
            assert (site / "reference/api" / f"module-{name}.html").exists()
    assert not [one for one in missing if one not in symbols.files() or one + "-.md" != symbols.files()[one]]
    text = page(site, "reference/api/mechanisms.mean.html")
    for part in ("Guarantee", "Errors", "BadParameter", "neighbours"):
        assert part in text


def test_files_differ_in_more_than_capitals() -> None:
    names = [file.casefold() for file in symbols.files().values()]
    assert len(names) == len(set(names)) > 250


def test_every_page_has_an_example() -> None:
    """Of functions and classes; results are shown by what makes them, errors by what raises them."""
    bare = [
        symbol.path
        for symbol in symbols.symbols()
        if symbols.kind_of(symbol.what) in {"function", "class"}
        and not re.search("```pycon|## Example|The same as", symbols.page(symbol))
    ]
    assert not bare
    assert all(symbols.summary(symbol.what) for symbol in symbols.symbols())


WITHOUT_MEANING = 26
"""Parameters that no page describes: fields of results, which nobody builds. It may only fall."""


def test_parameters_are_described() -> None:
    pages = [symbol for symbol in symbols.symbols() if symbols.first_of(symbol.what) == symbol]
    listed = [(symbol.path, one) for symbol in pages for one in symbols.described(symbol)]
    assert len(listed) > 900
    bare = [f"{path}.{one.name}" for path, one in listed if not one.meaning]
    assert len(bare) <= WITHOUT_MEANING, bare
    names = {one.name.lstrip("*") for _, one in listed}
    kept = {*parameters.EVERYWHERE, *(name for own in parameters.THERE.values() for name in own)}
    assert not kept - names, "meanings of parameters that are gone"


WITH_INNER_IMPORTS = 16
"""Pages whose example imports from an inner module, mostly events, which no package exports. It may only fall."""


def test_examples_import_what_is_public() -> None:
    pages = {symbol.path: symbols.page(symbol).split("## Methods")[0] for symbol in symbols.symbols()}
    lines = {path: re.findall(r"(?m)^>>> (from discreet\b.*)$", page) for path, page in pages.items()}
    for line in {line for each in lines.values() for line in each}:
        exec(line, {})  # noqa: S102 - the imports of our own docstrings
    inner = [path for path, each in lines.items() if any(line.split()[1].count(".") > 1 for line in each)]
    assert len(inner) <= WITH_INNER_IMPORTS, inner


def test_signatures_are_read_as_they_are_written() -> None:
    def some(first: int, *, second: list[int] | None = None) -> dict[str, int]:
        """Nothing."""
        return {"": first, **dict.fromkeys(map(str, second or ()), 1)}

    assert symbols.signature("some", some) == "some(first: int, *, second: list[int] | None = None) -> dict[str, int]"
    assert "    budget: Measure | None = None,\n" in symbols.signature("dp.Session", discreet.Session)


def test_errors_are_read_from_the_code() -> None:
    assert "OverBudget" in raised_by(discreet.Filter)
    assert raised_by(discreet.noise.discrete_laplace) != []


def test_functions_routes_commands_and_settings_are_listed(site: Path) -> None:
    sql, http, commands = (page(site, f"reference/{name}.html") for name in ("sql-functions", "http", "commands"))
    assert not [one.name for one in FUNCTIONS.values() if one.usage.split("(")[0].split()[0] not in sql]
    assert not [path for _, path in TABLE if path.startswith("/api") and path not in http]
    assert not [words for words, _ in listings.commands() if words not in commands]
    assert "requests_per_second" in page(site, "reference/settings.html")
    assert "LedgerMismatch" in page(site, "reference/errors.html")


def test_every_proof_is_in_the_index(site: Path) -> None:
    index = page(site, "explanation/proofs/index.html")
    for path in proofs.proof_files():
        assert f'href="{path.relative_to(symbols.SOURCE).with_suffix(".html")}"' in index


def test_notebooks_hold_the_cells_that_are_run(site: Path) -> None:
    """test_docs_run.py runs the pages cell by cell; a notebook has these cells and outputs, and can be downloaded."""
    assert len(notebooks.pages()) > 20
    for source in notebooks.pages():
        made = json.loads((site / notebooks.place(source)).read_text())
        assert made["nbformat"] == 4
        code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
        run = [cell for cell in cells(source.read_text()) if cell.kind != "text"]
        assert ["".join(cell["source"]).removeprefix(SHELL) for cell in code] == [one.source.strip("\n") for one in run]
        shown = ["".join(text for out in cell["outputs"] for text in out["text"]) for cell in code]
        assert shown == [one.output.strip("\n") for one in run]
        assert f'href="../{notebooks.place(source)}"' in page(site, "tutorials/notebooks.html")


def test_notebooks_hold_their_pictures_and_their_links_lead_somewhere(site: Path) -> None:
    shown = 0
    for source in notebooks.pages():
        made = json.loads((site / notebooks.place(source)).read_text())
        for cell in made["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"])
                for to in re.findall(r"\]\(([^)#\s]+)", text):
                    if to.startswith("attachment:"):
                        assert cell["attachments"][to.removeprefix("attachment:")]["image/png"].startswith("iVBOR")
                        shown += 1
                    elif "://" not in to:
                        assert (site / "notebooks" / to).exists(), f"{source.name} points to {to}"
    assert shown >= 10


FRACTION = """
const [above, below] = [...document.querySelector('math[display=block] mfrac').children];
const [a, b] = [above.getBoundingClientRect(), below.getBoundingClientRect()];
return a.bottom <= b.top + 2 && a.left < b.right && b.left < a.right && a.width > 5 && b.width > 5;
"""


def test_formulas_are_typeset_and_solutions_are_folded_away(site: Path, browser: Browser) -> None:
    browser.open((site / "lectures/privacy-loss.html").as_uri())
    script = browser.driver.execute_script
    assert script("return document.querySelectorAll('article sup').length") > 10
    assert script("return document.querySelectorAll('article math').length") >= 7
    assert script(FRACTION), "the numerator does not stand above the denominator"
    assert "^(" not in script("return [...document.querySelectorAll('article p')].map((p) => p.textContent).join(' ')")
    assert script("return [...document.querySelectorAll('details.solution')].map((d) => d.open)") == [False] * 3
    script("document.querySelector('details.solution').open = true")
    assert "# Solution" in browser.find("details.solution code").text
    assert browser.errors() == []


def test_every_formula_is_understood(site: Path) -> None:
    """No command of LaTeX is left over; sums, integrals, roots and fractions are what they are called."""
    parts: Counter[str] = Counter()
    for source in sorted((navigation.DOCS / "lectures").glob("*.md")):
        written = [line for line in lectures.unwrap(source.read_text()).split("\n") if line.startswith("$$")]
        assert all(line.endswith("$$") and len(line) > 4 for line in written), source.name
        html = page(site, f"lectures/{'index' if source.stem == 'README' else source.stem}.html")
        made = re.findall(r'<div class="formula">\s*(<math.*?</math>)', html, re.DOTALL)
        assert len(made) == len(written), source.name
        assert not [one for one in made if re.search(r"\\\\|\$", one)], source.name
        for one in made:
            parts.update(re.findall(r"<(mfrac|msqrt)\b", one))
            parts.update({"sum": len(re.findall("2211;|∑", one)), "integral": len(re.findall("222B;|∫", one))})
    assert parts["mfrac"] > 40
    assert parts["msqrt"] >= 4
    assert parts["sum"] >= 7
    assert parts["integral"] >= 3


def test_pictures_are_drawn_and_small(site: Path) -> None:
    for name in pictures.PICTURES:
        picture = (site / "pictures" / "made" / f"{name}.svg").read_text()
        assert picture.count("<path") > 10
        assert len(picture) < 100_000
    assert anatomy.FILE.read_text() == anatomy.draw()
    taken = {path.stem for path in (site / "pictures").glob("*.png")}
    assert taken == {*screens.SCREENS, "accuracy-clip", "accuracy-epsilon", "tree"}


def test_the_tutorial_names_every_screen_of_the_curator() -> None:
    code = (Path(curator.__file__).parent / "web" / "main.js").read_text()
    listed = code[code.index("const VIEWS = {") : code.index("nobody: {")]
    labels = re.findall(r'\["([A-Z][a-z ]+)",', listed)
    assert len(labels) >= 11
    text = (navigation.DOCS / "tutorials" / "curator-for-a-team.md").read_text()
    assert not [label for label in labels if label not in text]


def test_every_page_is_in_the_navigation() -> None:
    listed = list(navigation.pages(navigation.navigation()))
    assert len(listed) == len(set(listed))
    written = {path.relative_to(navigation.DOCS).as_posix() for path in navigation.DOCS.rglob("*.md")}
    assert not written - set(listed)


def test_lists_and_blocks_are_written_for_the_site() -> None:
    text = "Text:\n- one\n  - inner\n1. first\n   ```python\n   >>> 1\n   1\n   ```\n"
    assert outside_code(text, str.upper) == (
        "TEXT:\n\n- ONE\n    - INNER\n1. FIRST\n    ```pycon\n    >>> 1\n    1\n    ```\n"
    )


FOUND = """
const all = [...document.querySelectorAll("*")];
const dialog = all.find((e) => e.shadowRoot && e.shadowRoot.querySelector("[role=listbox]"));
const list = dialog ? [...dialog.shadowRoot.querySelectorAll("[role=listbox] a")] : [];
const status = dialog ? dialog.shadowRoot.querySelector("[role=status]").textContent : "";
return [status, dialog ? dialog.shadowRoot.querySelector("input").value : "", ...list.map((a) => a.href)];
"""


def search(browser: Browser, word: str, place: str) -> None:
    """Wait until a page whose address holds ``place`` is among the first that are found for a word."""
    field = browser.driver.switch_to.active_element.shadow_root.find_element(By.CSS_SELECTOR, "input")
    field.send_keys(Keys.BACKSPACE * len(str(field.get_property("value"))))
    browser.wait(lambda driver: driver.execute_script(FOUND)[1] == "", "the field is not empty")
    field.send_keys(word)

    def found(_: object) -> bool:
        status, value, *links = browser.driver.execute_script(FOUND)
        hit = any(place.casefold() in link.casefold() for link in links)
        return hit and value == word and bool(re.match(r"[\d,]+ results?", status))

    browser.wait(found, f"{place} is not found for {word}")


def test_search_finds_words_in_files_without_a_server(site: Path, browser: Browser) -> None:
    browser.open((site / "index.html").as_uri())
    browser.click(".md-search__button")
    browser.wait(lambda driver: driver.execute_script(FOUND)[0] != "Loading search…", "search does not start")
    for word, place in WORDS.items():
        search(browser, word, place)
    assert browser.errors() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_readable(site: Path, browser: Browser, scheme: str, width: int) -> None:
    """Background and text follow the system's choice; nothing is wider than the screen, of a phone or a desk."""
    send = browser.driver.execute_cdp_cmd
    send("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    send(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    try:
        for name in ("index", "how-to/tables", "reference/sql", "reference/api/Session"):
            browser.open((site / f"{name}.html").as_uri())
            script = browser.driver.execute_script
            assert script("return document.documentElement.scrollWidth") <= width
            bright = [
                sum(map(int, re.findall(r"\d+", script(f"return getComputedStyle(document.body).{what}"))[:3]))
                for what in ("backgroundColor", "color")
            ]
            assert (bright[0] > bright[1] + 300) if scheme == "light" else (bright[1] > bright[0] + 300), bright
            assert browser.errors() == []
    finally:
        send("Emulation.setEmulatedMedia", {"features": []})
        send("Emulation.clearDeviceMetricsOverride", {})
