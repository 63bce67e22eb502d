"""What makes a lecture pleasant to read on the site: typeset exponents, indices and roots; solutions folded away.

The pages themselves stay plain text, which a terminal and a notebook show as it is. Nothing is loaded for it.
"""

from __future__ import annotations

import re

SOLUTION = re.compile(r"^```python\n# Solution(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`[^`]*`|\]\([^)]*\)|<[^>]*>)")  # inline code, targets of links, HTML: left as they are
_POWER = re.compile(r"\^(?:(?P<open>[({])|(?P<plain>[-+]?(?:\w|[½∞⁻¹])+(?:/\w+)?))")
_INDEX = re.compile(r"(?<![\w/.])(?P<base>[A-Za-zΣ])_(?P<index>\w{1,2})(?!\w)")
_ROOT = re.compile(r"√\(")
_OWN_LINE = re.compile(r"[|#<!> ]|[-*] |\d+\. ")
_CLOSE = {"(": ")", "{": "}"}


def fold_solutions(text: str) -> str:
    r"""Solutions behind a line that opens them.

    >>> "<details" in fold_solutions("**1.** Why?\n\n```python\n# Solution\nassert True\n```\n")
    True
    """
    start = '<details class="solution" markdown="1">\n<summary>Solution</summary>\n'
    return SOLUTION.sub(lambda block: f"{start}\n{block[0]}\n\n</details>", text)


def unwrap(text: str) -> str:
    r"""Each paragraph of prose on one line, so that no formula is broken between two.

    >>> unwrap("a e^(b\n+ c) d\n- one\n\n```python\n1\n2\n```\n")
    'a e^(b + c) d\n- one\n\n```python\n1\n2\n```\n'
    """
    lines: list[str] = []
    inside = prose = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        inside ^= fence
        plain = not inside and not fence and bool(line) and not _OWN_LINE.match(line)
        if plain and prose:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        prose = plain
    return "\n".join(lines)


def typeset(line: str) -> str:
    """Exponents, indices and roots of a line of prose as HTML; code and links stay.

    >>> typeset("P ≤ e^(ε(k + 1)) P' and 2^-50, `x^2`, M_i, √(2 ln k)")
    "P ≤ e<sup>ε(k + 1)</sup> P' and 2<sup>-50</sup>, `x^2`, M<sub>i</sub>, √<span class=root>2 ln k</span>"
    """
    return "".join(part if at % 2 else _formulas(part) for at, part in enumerate(_CODE.split(line)))


def _formulas(text: str) -> str:
    done, at = "", 0
    while match := _POWER.search(text, at):
        if match["plain"]:
            inner, end = match["plain"], match.end()
        else:
            end = _closing(text, match.end() - 1)
            if end < 0:
                done += text[at : match.end()]
                at = match.end()
                continue
            inner = text[match.end() : end - 1]
        done += f"{text[at : match.start()]}<sup>{_formulas(inner)}</sup>"
        at = end
    return _roots(_INDEX.sub(r"\g<base><sub>\g<index></sub>", done + text[at:]))


def _roots(text: str) -> str:
    done, at = "", 0
    while match := _ROOT.search(text, at):
        end = _closing(text, match.end() - 1)
        if end < 0:
            break
        done += f"{text[at : match.start()]}√<span class=root>{text[match.end() : end - 1]}</span>"
        at = end
    return done + text[at:]


def _closing(text: str, start: int) -> int:
    """The place after the bracket that closes the one at ``start``, or -1 if this line has none."""
    depth, opens, closes = 0, text[start], _CLOSE[text[start]]
    for place in range(start, len(text)):
        depth += (text[place] == opens) - (text[place] == closes)
        if not depth:
            return place + 1
    return -1
