"""Docs that cannot lie: every name, link, path and test that they speak of exists. test_docs_run.py runs them."""

import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import discreet as dp
from discreet import errors
from discreet.query.front.frame import Asked, Frame
from tools.site import listings
from tools.site.cells import BLOCK

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(m["kind"], m["code"]) for m in BLOCK.finditer(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_command_on_a_page_exists_with_its_options() -> None:
    """The first words of every line ``discreet ...`` are a command, and it knows the options."""
    known = dict(listings.commands())
    known["discreet token"] = known["discreet token issue"]  # the group's first command need not be named
    seen = set()
    for page in PAGES:
        for kind, code in blocks(page):
            joined = code.replace("\\\n", " ") if kind in {"bash", "text"} else ""
            for line in re.findall(r"^(?:sudo )?(discreet [a-z].*)$", joined, re.MULTILINE):
                words = shlex.split(re.split(r" (?:&&|>|\|) ", line)[0], comments=True)
                name = max((one for one in known if words[: one.count(" ") + 1] == one.split()), key=len, default="")
                assert name, f"{page.name}: {line}"
                options = {text for one in known[name].params for text in (*one.opts, *one.secondary_opts)}
                assert not [word for word in words if word.startswith("--") and word not in options], line
                seen.add(name)
    assert len(seen) > 20


CATALOGUE = (ROOT / "docs" / "explanation" / "attack-catalogue.md").read_text()
PROMISES = (ROOT / "docs" / "explanation" / "promises.md").read_text()


def test_every_promise_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| \d+ \| (.+?) \| (.+) \|$", PROMISES, re.MULTILINE)
    assert len(rows) >= 12
    for promise, held in rows:
        names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", held)
        assert len(names) >= 2, promise
        assert not [name for file, name in names if f"\ndef {name}(" not in (ROOT / file).read_text()], promise


def test_every_attack_in_the_catalogue_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| (.+?) \| .+? \| `(tests/[\w/]+\.py)::(\w+)` \|$", CATALOGUE, re.MULTILINE)
    assert len(rows) > 40
    assert not [attack for attack, file, name in rows if f"\ndef {name}(" not in (ROOT / file).read_text()]


def test_the_limits_page_names_what_is_not_promised() -> None:
    """Timing, randomness, owners' declarations, memory, deadlines, restored ledgers, systems: each has its line."""
    page = (ROOT / "docs" / "explanation" / "limits.md").read_text()
    titles = " ".join(re.findall(r"^\| \*\*(.+?)\*\*", page, re.MULTILINE)).casefold()
    for word in ("timing", "memory", "deadlines", "restored ledgers", "csv", "windows", "declarations", "machine"):
        assert word in titles, word


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_every_error_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.DiscreetError):
            assert f"`{name}`" in page, f"docs/reference/errors.md does not explain {name}"


def test_every_verb_is_in_the_page_about_tables() -> None:
    page = (ROOT / "docs" / "how-to" / "tables.md").read_text()
    verbs = {
        name
        for kind in (Frame, Asked)
        for name, what in vars(kind).items()
        if inspect.isfunction(what) and name[0] != "_" and not (what.__doc__ or "").startswith("Refused")
    } - {"of", "again"}
    assert {"join", "per_unit", "having", "cube"} <= verbs
    assert not {name for name in verbs if f"{name}(" not in page}


PROSE = [page for page in PAGES if page.name != "CHANGELOG.md"]
PHRASES = ("from afar", "is told", "are told", "doors", "rooms", "words of ours", "leave to ask", "lean to no side")


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text())


@pytest.mark.parametrize("page", PROSE, ids=lambda p: str(p.relative_to(ROOT)))
def test_prose_is_plain_and_its_lines_are_short(page: Path) -> None:
    assert not [line for line in prose(page).split("\n") if not line.lstrip().startswith("|") and len(line) > 120]
    text = " ".join(prose(page).split())
    assert not [phrase for phrase in PHRASES if re.search(rf"\b{phrase}\b", text)]


WIDE = 232
"""Lines of code of more than 80 columns on all pages but the lectures, which do not fit beside the navigation."""


def wide_lines(text: str) -> list[str]:
    return [line for match in BLOCK.finditer(text) for line in match["code"].splitlines() if len(line) > 80]


def test_code_fits_its_column() -> None:
    """The number of wide lines may only fall: lower it when it has."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md" and "lectures" not in page.parts]
    assert sum(len(wide_lines(page.read_text())) for page in pages) <= WIDE
    assert wide_lines("```python\n" + "x" * 81 + "\ny\n```\n") == ["x" * 81]


KNOWN = "discreet,iif,sav,gruop"
REQUESTS = r"\b[A-Z][a-z]+In\b"  # names of classes
WRITTEN = {".md", ".py", ".html", ".js", ".css"}


def misspelt(files: list[Path]) -> list[str]:
    """Common misspellings, by the list of codespell."""
    options = ["--ignore-words-list", KNOWN, "--ignore-regex", REQUESTS]
    command = [sys.executable, "-m", "codespell_lib", *options, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.mark.slow
def test_words_are_spelt_right(tmp_path: Path) -> None:
    files = [path for folder in ("src", "docs", "tools") for path in (ROOT / folder).rglob("*.*")]
    assert misspelt([*ROOT.glob("*.md"), *(path for path in files if path.suffix in WRITTEN)]) == []
    (tmp_path / "a.md").write_text("These recieve noise; seperate them.")
    assert len(misspelt([tmp_path / "a.md"])) == 2


def test_one_word_has_one_spelling() -> None:
    """Either -ise or -ize, either -our or -or, on all pages together."""
    words = {word for page in PROSE for word in re.findall(r"[a-z]{5,}", prose(page).casefold())}
    assert not [word for word in words if {word.replace("is", "iz"), word.replace("our", "or")} & words - {word}]


def missing(text: str) -> list[str]:
    """The paths named in a text that do not exist; those without a folder of the project are below src/discreet."""
    named = re.findall(r"`([\w./-]*/[\w./-]*|\w+\.(?:py|md))`", BLOCK.sub("", text))
    places = (ROOT, ROOT / "src" / "discreet")
    return [name for name in named if not name.startswith("/") and not any((at / name).exists() for at in places)]


def test_every_path_in_contributing_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert len(re.findall(r"`query/[\w/]+\.py`", text)) > 20
    assert not missing(text)
    assert missing("`query/run.py`, `query/walk.py` and `nowhere.md`") == ["query/walk.py", "nowhere.md"]


@pytest.mark.slow
def test_a_question_goes_the_way_that_contributing_says(tmp_path: Path) -> None:
    """Every file of the list is passed through, by one of four questions: a join, verbs, keys, nothing declared."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    walk = text[text.index("## The way of one question") : text.index("A question over HTTP")]
    many = range(40)
    rows = {"person": [i // 2 for i in many], "kind": ["a", "b"] * 20, "x": [float(i) for i in many]}
    columns = {"x": dp.bounds(0, 40), "kind": dp.unknown_keys()}
    tables: dict[str, Any] = {
        "t": dp.table(rows, unit="person", columns=columns, max_rows=2),
        "names": dp.table({"person": list(range(20)), "age": [30] * 20}, unit="person", max_rows=1),
        "bare": dp.table(rows, unit="person", max_rows="auto"),
    }
    kept = dp.Session(**tables, budget=dp.Pure(9), ledger=tmp_path / "budget.db")
    session = dp.Session(**tables, budget=dp.Approx(9, "1e-6"))
    passed: set[str] = set()

    def note(frame: FrameType, _: str, __: object) -> None:
        passed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        chosen = "SELECT COUNT(*) AS n, AVG(x) AS m, MEDIAN(x) AS q"
        join = f"{chosen} FROM t JOIN names USING (person) WHERE age > 3 HAVING COUNT(*) > -99"
        str(kept.sql(join).release(epsilon=1))
        kept["t"].per_unit("person").agg(most=dp.agg.max("x")).agg(mean=dp.agg.mean("most")).release(epsilon=1)
        session.sql("SELECT kind, COUNT(*) AS n FROM t GROUP BY kind ORDER BY n").release(epsilon=1)
        session.sql("SELECT COUNT(*) AS n, AVG(x) AS m FROM bare").release(epsilon=1)
    finally:
        sys.setprofile(None)
    named = re.findall(r"`([\w/]+\.py)`", walk)
    assert len(named) > 30
    assert not [name for name in named if str(ROOT / "src" / "discreet" / name) not in passed]


def test_contributing_has_every_package() -> None:
    (tree,) = (code for kind, code in blocks(ROOT / "CONTRIBUTING.md") if kind == "text" and "randomness/" in code)
    source = ROOT / "src" / "discreet"
    listed, above = set(), ""
    for line in tree.split("\n"):
        for name in re.findall(r"[\w/.]+", line[:30]):
            inside = line.startswith("  ")
            above = above if inside else name
            listed.add(above + name if inside else name)
    assert not {name for name in listed if not (source / name).exists()}
    packages = {f"{path.parent.relative_to(source)}/" for path in source.rglob("*/__init__.py")}
    assert not packages - listed
