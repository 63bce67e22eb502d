"""The sources of the site in one folder: pages of ``docs``, proofs from beside the code, and what is generated.

A page may have a line ``<!-- generated: name -->``, which is replaced by what ``name`` lists. Links between files of
the repository become links between pages of the site; a linked file that is no page is copied to ``files/``.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from tools import proofs
from tools.servers import Missing
from tools.site import lectures, listings, notebooks, pictures, screens, symbols

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?P<open>\]\()(?P<to>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^(?P<indent> *)```")
MARKER = re.compile(r"^<!-- generated: (?P<name>[\w-]+) -->$", re.MULTILINE)
ITEM = re.compile(r"^(?P<indent> *)(?:[-*]|\d+\.) ")
PROOFS = PurePosixPath("explanation/proofs")
ROOT_PAGES = ("CHANGELOG", "CONTRIBUTING", "SECURITY", "changes/README")


@dataclass(slots=True)
class Stage:
    """A folder that is filled."""

    folder: Path
    generated: dict[str, Callable[[], str]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    """Path in the repository -> path in the site."""

    def fill(self) -> None:
        """All pages and files but pictures."""
        self.generated |= {
            "modules": symbols.module_index,
            "errors": listings.error_tree,
            "notebooks": notebooks.listing,
            "pictures": pictures.gallery,
        }
        shots = self.folder / "pictures"
        try:
            screens.take(shots)
        except Missing as missing:
            print(f"no screens: {missing}")
        self.generated |= {name: partial(screens.shown, name, shots) for name in screens.SCREENS}
        pictures.write(self.folder / "pictures" / "made")
        notebooks.write(self.folder)
        sources = [*DOCS.rglob("*.md"), *proofs.proof_files(), *(ROOT / f"{name}.md" for name in ROOT_PAGES)]
        self.places |= {path.relative_to(ROOT).as_posix(): self._place(path) for path in sources}
        for path in sources:
            self.write(self._place(path), self._page(path))
        for path in DOCS.rglob("*"):
            if path.suffix in {".png", ".svg", ".css", ".js", ".html"}:
                self._copy(path, path.relative_to(DOCS).as_posix())
        symbols.write(self.folder / "reference" / "api")
        self.write("reference/http.md", listings.http_page(listings.openapi()))
        self.write("reference/commands.md", listings.commands_page())
        self.write("reference/settings.md", listings.settings_page())
        self.write(str(PROOFS / "index.md"), proof_index())

    def write(self, page: str, text: str) -> None:
        """One page, by its path in the site."""
        place = self.folder / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    @staticmethod
    def _place(path: Path) -> str:
        if path.is_relative_to(DOCS):
            found = path.relative_to(DOCS).as_posix()
            return re.sub(r"README\.md$", "index.md", found)
        if path.is_relative_to(symbols.SOURCE):
            return str(PROOFS / path.relative_to(symbols.SOURCE).as_posix())
        return "-".join(path.relative_to(ROOT).parts).lower()

    def _page(self, path: Path) -> str:
        text = about(MARKER.sub(lambda found: self.generated[found["name"]](), path.read_text()))
        here = PurePosixPath(self._place(path)).parent
        if path.parent != DOCS / "lectures":
            return outside_code(text, lambda line: self._links(line, path, here))
        folded = lectures.unwrap(lectures.fold_solutions(text))
        return outside_code(folded, lambda line: self._links(lectures.typeset(line), path, here))

    def _links(self, line: str, path: Path, here: PurePosixPath) -> str:
        def moved(found: re.Match[str]) -> str:
            target = Path(os.path.normpath(path.parent / found["to"]))
            if not target.is_relative_to(ROOT) or not target.exists():
                return found[0]  # a page of the site alone
            inside = target.relative_to(ROOT).as_posix()
            if inside not in self.places and target.is_file():
                place = target.relative_to(DOCS).as_posix() if target.is_relative_to(DOCS) else f"files/{inside}"
                self.places[inside] = self._copy(target, place)
            if inside not in self.places:
                return found[0]
            return f"{found['open']}{os.path.relpath(self.places[inside], here)}{found['anchor'] or ''})"

        return LINK.sub(moved, line)

    def _copy(self, path: Path, place: str) -> str:
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, self.folder / place)
        return place


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change the prose of a page, and write lists and blocks as the site's Markdown needs them.

    Lists begin after an empty line, what is inside an item stands four spaces to the right, and blocks of Python with
    prompts are marked as such.
    """
    lines = text.split("\n")
    done: list[str] = []
    inside, shift = False, 0
    for at, line in enumerate(lines):
        fence, item = FENCE.match(line), ITEM.match(line)
        if fence:
            if not inside:
                shift = _shift(len(fence["indent"]))
            prompts = not inside and at + 1 < len(lines) and lines[at + 1].lstrip().startswith(">>>")
            inside = not inside
            done.append(" " * shift + (line.replace("```python", "```pycon") if prompts else line))
        elif inside:
            done.append(" " * shift + line if line else line)
        else:
            before = done[-1] if done else ""
            if item and before.strip() and not ITEM.match(before) and not before.startswith(" "):
                done.append("")
            deep = len(line) - len(line.lstrip())
            done.append(change(" " * (_shift(deep) if item else 0) + line))
    return "\n".join(done)


def _shift(indent: int) -> int:
    """How much further to the right a part of a list item must stand."""
    return 4 - indent if 0 < indent < 4 else 0


def about(text: str) -> str:
    r"""A proof whose lines ``proves: name hash`` are one list of names.

    >>> about("proves: discreet.a.b 0123456789abcdef\nproves: discreet.c 0123456789abcdef\n")
    '**About** `a.b`, `c`\n\n'
    """
    names = [found["name"].removeprefix("discreet.") for found in proofs.CLAIM.finditer(text)]
    if not names:
        return text
    once = iter([f"**About** {', '.join(f'`{name}`' for name in names)}"])
    return re.sub(r"\n{3,}", "\n\n", proofs.CLAIM.sub(lambda _: next(once, ""), text).replace("`\n\n\n", "`\n\n"))


def proof_index() -> str:
    """A line for each proof: its title, and the functions that it is about."""
    rows = []
    for path in sorted(proofs.proof_files()):
        text = path.read_text()
        title = text.split("\n", 1)[0].removeprefix("# ")
        about = ", ".join(f"`{found['name'].removeprefix('discreet.')}`" for found in proofs.CLAIM.finditer(text))
        rows.append(f"| [{title}]({path.relative_to(symbols.SOURCE).as_posix()}) | {about} |")
    head = (
        "# Proofs\n\nEach proof lies beside the code that it is about, and names the functions with a hash of their "
        "syntax trees: when the meaning of the code moves, a test fails until the proof has been read again. "
        "[Notation](../notation.md) is the same in all of them.\n\n"
    )
    return head + "\n".join(["| proof | proves |", "|---|---|", *rows, ""])
