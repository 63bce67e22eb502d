"""The cells of a page: its text, and its blocks of Python and shell commands with the output that the page shows.

A block of kind ``text`` directly after a block of code is the output of that block; after a line
``<!-- numbers vary -->`` its numbers are examples. Notebooks are made of cells, and the tests run them.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = "%%bash -e\n"
VARY = "<!-- numbers vary -->"
SERVE = re.compile(r"discreet serve [^\n]*\n")
# What a terminal of its own is for on the page: in one place, a service goes into the background.
BACKGROUND = """{serve} > service.log 2>&1 &
echo $! > service.pid    # kill $(cat service.pid) stops it
for _ in {{1..600}}; do (exec 3<>/dev/tcp/127.0.0.1/8750) 2>/dev/null && break; sleep 0.1; done
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of a page."""

    kind: str  # "text", "python" or "bash"
    source: str
    output: str = ""
    vary: bool = False  # the numbers of the output are other ones on every run
    raises: bool = False  # the output is an error, on purpose


def cells(text: str) -> list[Cell]:
    r"""A page as cells; blocks of other kinds stay in the text.

    >>> [(cell.kind, cell.output) for cell in cells("# A\n```python\nprint(1)\n```\n```text\n1\n```\nend\n")]
    [('text', ''), ('python', '1\n'), ('text', '')]
    """
    found: list[Cell] = []
    at = 0
    for block in BLOCK.finditer(text):
        before, shown = text[at : block.start()].strip(), found and found[-1].kind != "text"
        if block["kind"] == "text" and shown and before in {"", VARY}:
            found[-1] = replace(found[-1], output=block["code"], vary=before == VARY)
        elif block["kind"] in {"python", "bash"}:
            found += [Cell("text", before)] if before else []
            found += _examples(block["code"]) if ">>>" in block["code"] else [_plain(block["kind"], block["code"])]
        else:
            continue
        at = block.end()
    rest = text[at:].strip()
    return [*found, *([Cell("text", rest)] if rest else [])]


def _plain(kind: str, code: str) -> Cell:
    if kind == "python":
        return Cell(kind, code)
    return Cell(kind, BACKGROUND.format(serve=code.strip()) if SERVE.fullmatch(code) else code)


def _examples(code: str) -> Iterator[Cell]:
    """Examples without their prompts; one cell ends where an output is shown."""
    source = ""
    for example in doctest.DocTestParser().get_examples(code):
        source += example.source
        if example.want:
            yield Cell("python", source, example.want, raises=bool(example.exc_msg))
            source = ""
    if source:
        yield Cell("python", source)
