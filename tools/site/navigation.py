"""What the site holds and in which order: four kinds of page and the lectures, each with its own tab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from tools.site.symbols import modules

Entry: TypeAlias = "str | tuple[str, list[Entry]]"

DOCS = Path(__file__).resolve().parents[2] / "docs"
TUTORIALS: list[Entry] = [
    "tutorials/README.md",
    "tutorials/csv-to-table.md",
    "tutorials/census-like-table.md",
    "tutorials/curator-for-a-team.md",
    "tutorials/own-mechanism.md",
    "tutorials/notebooks.md",
]
HOW_TO: list[Entry] = [
    "how-to/README.md",
    (
        "Plan",
        [
            "how-to/choose-epsilon.md",
            "how-to/accuracy.md",
            "how-to/choose-caps.md",
            "how-to/plan-a-budget.md",
            "how-to/publish-a-table.md",
            "how-to/which-mechanism.md",
        ],
    ),
    (
        "Ask",
        [
            "how-to/tables.md",
            "how-to/notebook.md",
            "how-to/files.md",
            "how-to/frames.md",
            "how-to/export.md",
            "how-to/postgres.md",
            "how-to/spark.md",
            "how-to/dbt.md",
            "how-to/sql-tools.md",
            "how-to/warehouses.md",
        ],
    ),
    (
        "Go further",
        [
            "how-to/mechanisms.md",
            "how-to/synthetic.md",
            "how-to/continual.md",
            "how-to/local.md",
            "how-to/learning.md",
            "how-to/study.md",
            "how-to/check.md",
        ],
    ),
    "how-to/troubleshooting.md",
    (
        "Run a curator",
        ["how-to/deploy.md", "how-to/operations.md", "how-to/changing-data.md", "how-to/keep-a-ledger.md"],
    ),
    (
        "Move from",
        [
            "how-to/move-from-opendp.md",
            "how-to/move-from-tumult.md",
            "how-to/move-from-diffprivlib.md",
            "how-to/move-from-smartnoise.md",
            "how-to/move-from-bigquery.md",
        ],
    ),
]
REFERENCE: list[Entry] = [
    "reference/README.md",
    "reference/cheat-sheet.md",
    "reference/glossary.md",
    (
        "SQL",
        [
            "reference/sql.md",
            "reference/sql-groups.md",
            "reference/sql-joins.md",
            "reference/sql-dialects.md",
            "reference/sql-functions.md",
        ],
    ),
    "reference/curator.md",
    "reference/http.md",
    "reference/commands.md",
    "reference/settings.md",
    "reference/ledger.md",
    "reference/errors.md",
    "reference/versions.md",
]
EXPLANATION: list[Entry] = [
    "explanation/README.md",
    "explanation/how-an-answer-is-made.md",
    "explanation/promises.md",
    "explanation/limits.md",
    "explanation/faq.md",
    "explanation/comparison.md",
    "explanation/results.md",
    "explanation/accounting.md",
    "explanation/noise.md",
    "explanation/randomness.md",
    "explanation/biased-randomness.md",
    "explanation/attacks.md",
    "explanation/attack-catalogue.md",
    "explanation/notation.md",
    "explanation/proofs/index.md",
    "explanation/gallery.md",
]


def navigation() -> list[Entry]:
    """The tabs. Pages that are not listed here stand at the end of their kind; lectures in their own order."""
    lectures: list[Entry] = ["lectures/README.md", *_lectures()]
    api: list[Entry] = [f"reference/api/module-{label or 'discreet'}.md" for label in modules()]
    return [
        "README.md",
        ("Tutorials", [*TUTORIALS, *_others("tutorials", TUTORIALS)]),
        ("How-to", [*HOW_TO, *_others("how-to", HOW_TO)]),
        (
            "Reference",
            [
                *REFERENCE,
                *_others("reference", REFERENCE),
                ("Python", api),
                "changelog.md",
                "security.md",
                "contributing.md",
            ],
        ),
        ("Explanation", [*EXPLANATION, *_others("explanation", EXPLANATION)]),
        ("Lectures", lectures),
    ]


def pages(entries: list[Entry]) -> Iterator[str]:
    """All pages of a part of the navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            yield from pages(entry[1])


def _others(kind: str, listed: list[Entry]) -> list[Entry]:
    known = set(pages(listed))
    found = (f"{kind}/{page.name}" for page in sorted((DOCS / kind).glob("*.md")))
    return [page for page in found if page not in known]


def _lectures() -> list[Entry]:
    """Lectures in the order in which their first page links to them."""
    text = (DOCS / "lectures" / "README.md").read_text()
    found = [page for page in (DOCS / "lectures").glob("*.md") if page.name != "README.md"]
    return [
        f"lectures/{page.name}"
        for page in sorted(found, key=lambda one: (text.find(f"({one.name})") % (len(text) + 1), one.name))
    ]
