"""The picture of how an answer is made, drawn from text alone: ``python -m tools.site.anatomy`` writes it."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "anatomy.svg"
STEPS = (
    ("question", "SQL or verbs", "no data touched"),
    ("bound", "unit, caps, ranges", "no data touched"),
    ("pay", "durable, no refunds", "receipt"),
    ("compute", "exact integers", "engine, once"),
    ("add noise", "exact, discrete", "fair bits"),
    ("answer", "value ± error", "cost and story"),
)
WIDTH, HEIGHT, GAP, TOP = 118, 62, 20, 34
COLOURS = ("#e8eef7", "#e8eef7", "#fbe7cf", "#e3f1e3", "#efe3f5", "#e8eef7")


def draw() -> str:
    """The picture as SVG."""
    across = len(STEPS) * (WIDTH + GAP) - GAP + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} 132" width="{across}" height="132" '
        'role="img" aria-label="question, bound, pay, compute, add noise, answer" '
        'font-family="system-ui, sans-serif" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for at, (name, what, note) in enumerate(STEPS):
        left = 10 + at * (WIDTH + GAP)
        middle = left + WIDTH // 2
        parts += [
            f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" rx="8" '
            f'fill="{COLOURS[at]}" stroke="#23395d"/>',
            f'<text x="{middle}" y="{TOP + 26}" font-size="15" font-weight="600" fill="#23395d">{name}</text>',
            f'<text x="{middle}" y="{TOP + 47}" font-size="11.5" fill="#23395d">{what}</text>',
            f'<text x="{middle}" y="{TOP + HEIGHT + 18}" font-size="11" fill="#5a6577">{note}</text>',
        ]
        if at:
            start, y = left - GAP + 2, TOP + HEIGHT // 2
            parts.append(
                f'<path d="M{start} {y} h{GAP - 8} m-5 -4 l5 4 l-5 4" fill="none" stroke="#23395d" stroke-width="1.5"/>'
            )
    price = 10 + 2 * (WIDTH + GAP)
    parts.append(
        f'<text x="{price}" y="20" font-size="12" fill="#5a6577">a preview stops here, and is free</text>'
        f'<path d="M{price - GAP // 2} 26 v88" stroke="#a63d40" stroke-dasharray="4 3"/>'
    )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(draw())
