"""Is the built site whole? Links and anchors lead somewhere, nothing is loaded from elsewhere, no page is too heavy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

HEAVIEST = 300_000  # bytes of one page of HTML
HEAVIEST_PICTURE = 200_000
ALL = 40_000_000  # bytes of the whole site
LOADS = {"script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src", "video": "src"}


@dataclass
class Page(HTMLParser):
    """What a page links to, loads, and can be linked to at."""

    links: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes that matter."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in LOADS and LOADS[tag] in given and given.get("rel") not in {"canonical", "next", "prev"}:
            self.loads.add(given[LOADS[tag]])


@cache
def read(path: Path) -> Page:
    """A page of the site."""
    page = Page()
    page.feed(path.read_text())
    return page


def problems(site: Path) -> list[str]:
    """What is wrong with a site; nothing, if it is whole."""
    found, site = [], site.resolve()
    for path in sorted(site.rglob("*.html")):
        page, name = read(path), path.relative_to(site)
        found += [f"{name} loads {url}" for url in sorted(page.loads) if _outside(url)]
        inside = {url for url in page.links | page.loads if not _outside(url)}
        found += [f"{name} points to {url}" for url in sorted(inside) if not _leads(url, path, site)]
        if path.stat().st_size > HEAVIEST:
            found.append(f"{name} has {path.stat().st_size} bytes")
    for path in site.rglob("*"):
        if path.suffix in {".png", ".svg", ".jpg"} and path.stat().st_size > HEAVIEST_PICTURE:
            found.append(f"{path.relative_to(site)} has {path.stat().st_size} bytes")
    total = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    return [*found, *([f"the site has {total} bytes"] if total > ALL else [])]


def _outside(url: str) -> bool:
    return bool(re.match(r"[a-z]+:|//", url))


def _leads(url: str, path: Path, site: Path) -> bool:
    """Whether a link of a page leads to a file of the site, and to a place in it."""
    where, anchor = urldefrag(unquote(url))
    if where.startswith("/"):
        return False  # would lead out of the folder that the site is copied to
    target = (path.parent / where).resolve() if where else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site):
        return False
    return not anchor or target.suffix != ".html" or anchor in read(target).anchors or anchor.startswith("__")
