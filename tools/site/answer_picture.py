"""The picture of an answer, drawn from the table that README.md shows: ``python -m tools.site.answer_picture``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "pictures" / "answer.svg"
ROW = re.compile(r"^ *(?P<name>[A-Z]\w+) +(?P<value>[\d,]+) ± (?P<error>[\d,]+)$", re.MULTILINE)
WIDTH, HEIGHT, LEFT, RIGHT, STEP, TOP = 640, 226, 70, 600, 40, 44
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #23395d }
  .note { font-size: 12px; fill: #5a6577 }
  .bar { fill: #2a7f78; fill-opacity: .28 }
  .mark { stroke: #c2571a; stroke-width: 2.5; fill: none }
  .axis { stroke: #5a6577; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebf2 }
    .note { fill: #a9b4c4 }
    .bar { fill: #58bdb3; fill-opacity: .35 }
    .mark { stroke: #ff9f5a }
    .axis { stroke: #a9b4c4 }
  }
"""


class Shown(NamedTuple):
    """A row of the table."""

    name: str
    value: int
    error: int


def rows(text: str) -> list[Shown]:
    r"""The rows ``name value ± error`` of a printed answer.

    >>> rows(" North   31,630 ± 390\n")
    [Shown(name='North', value=31630, error=390)]
    """
    return [
        Shown(row["name"], *(int(row[part].replace(",", "")) for part in ("value", "error")))
        for row in ROW.finditer(text)
    ]


def draw() -> str:
    """The picture as SVG: a bar for each group, and its interval."""
    shown = rows((ROOT / "README.md").read_text())
    largest = max(row.value + row.error for row in shown)

    def across(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * value / largest, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-label="visits by clinic, each with its 95% confidence interval">',
        f"<style>{STYLE}</style>",
        '<text x="10" y="22" font-weight="600">Visits by clinic, ε = 1</text>',
    ]
    for at, row in enumerate(shown):
        y = TOP + at * STEP
        low, middle, high = (across(row.value + side * row.error) for side in (-1, 0, 1))
        label = f'x="{LEFT + 8}"' if row.value > largest / 3 else f'x="{high + 8}"'
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{row.name}</text>',
            f'<rect class="bar" x="{LEFT}" y="{y}" width="{round(middle - LEFT, 1)}" height="26"/>',
            f'<path class="mark" d="M{low} {y + 13} H{high} M{low} {y + 6} v14 M{high} {y + 6} v14"/>',
            f'<text {label} y="{y + 18}">{row.value:,} ± {row.error:,}</text>',
        ]
    bottom = TOP + len(shown) * STEP - 8
    parts += [
        f'<path class="axis" d="M{LEFT} {TOP - 6} V{bottom}"/>',
        f'<text class="note" x="{LEFT}" y="{bottom + 20}">Orange: the 95% confidence interval for the noise.</text>',
    ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(draw())
