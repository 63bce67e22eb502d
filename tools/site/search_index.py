"""What the search looks through: guides whole and first, pages of names and proofs by their titles.

Of a page of names, the words of its members would hide the guides: it is found by its title and the names on it. Words
that other libraries use for a thing lead to the pages that have ours.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ORDER = (
    "index",
    "tutorials",
    "how-to",
    "explanation",
    "reference",
    "lectures",
    "contributing",
    "changelog",
    "security",
)
"""Sections in the order in which equal hits are shown; proofs and names come last."""
NAMES = ("reference/api/", "explanation/proofs/")
SYNONYMS = {
    "contribution bound": "l0 linf sensitivity max_ids MaxRowsPerID max_partitions_contributed clip",
    "clipped": "clipping truncation sensitivity bounding",
    "privacy unit": "privacy id user level entity key protected change identifier",
    "privacy budget": "epsilon total loss allowance accountant",
    "confidence interval": "error bar accuracy margin uncertainty",
    "undeclared groups": "partition selection unknown domain private keys tau thresholding",
    "group list": "KeySet public partitions categories domain",
    "composition": "accountant adding up sequential parallel",
    "privacy cost": "price epsilon delta rho spend",
    "receipt": "audit proof signature",
}
"""Our words -> what a reader of another manual may type."""
_LONGEST = 600
_TAG = re.compile(r"<[^>]+>")
Item = dict[str, Any]


def arranged(items: list[Item]) -> list[Item]:
    """The entries of the index, fewer and in order.

    >>> guide = {"location": "how-to/a.html", "level": 2, "title": "Units", "text": "a privacy unit"}
    >>> member = {"location": "reference/api/b.html#c", "level": 3, "title": "epsilon", "text": "words"}
    >>> page = {"location": "reference/api/b.html", "level": 1, "title": "b", "text": "words"}
    >>> for item in arranged([page, member, guide]):
    ...     print(item["location"], item["text"])
    how-to/a.html a privacy unit privacy id user level entity key protected change identifier
    reference/api/b.html epsilon
    """
    names: dict[str, list[str]] = {}
    for item in items:
        if item["level"] > 1 and item["location"].startswith(NAMES):
            names.setdefault(_page(item), []).append(_TAG.sub("", item["title"]))
    kept = [item for item in items if item["level"] == 1 or not item["location"].startswith(NAMES)]
    return [_worded(item, names.get(_page(item), [])) for item in sorted(kept, key=_place)]


def _page(item: Item) -> str:
    return str(item["location"]).partition("#")[0]


def _place(item: Item) -> int:
    location = item["location"]
    if location.startswith(NAMES):
        return len(ORDER) + NAMES.index(next(name for name in NAMES if location.startswith(name)))
    return next((i for i, section in enumerate(ORDER) if location.startswith(section)), len(ORDER))


def _worded(item: Item, names: list[str]) -> Item:
    if item["location"].startswith(NAMES):
        return {**item, "text": " ".join(dict.fromkeys(names))[:_LONGEST]}
    words = f"{item['title']} {item['text']}".casefold()
    more = [other for ours, other in SYNONYMS.items() if ours in words]
    return {**item, "text": " ".join([item["text"], *more])}


def rewrite(site: Path) -> None:
    """The index of a site, as JSON and as the script that does without a server."""
    index = json.loads((site / "search.json").read_text("utf-8"))
    text = json.dumps({**index, "items": arranged(index["items"])}, ensure_ascii=False, separators=(",", ":"))
    (site / "search.json").write_text(text, "utf-8")
    script = (site / "search.js").read_text("utf-8")
    (site / "search.js").write_text(script[: script.index("{")] + text, "utf-8")
