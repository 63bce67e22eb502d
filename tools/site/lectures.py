"""What makes a lecture pleasant to read on the site: typeset formulas; solutions folded away.

What stands between ``$$`` and ``$$`` is LaTeX, which notebooks typeset themselves; here it becomes MathML, which
browsers draw without a script. Formulas inside a sentence are plain text on the page; their exponents, indices and
roots become HTML.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

SOLUTION = re.compile(r"^```python\n# Solution(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`[^`]*`|\]\([^)]*\)|<[^>]*>)")  # inline code, targets of links, HTML: left as they are
_POWER = re.compile(r"\^(?:(?P<open>[({])|(?P<plain>[-+]?(?:\w|[½∞⁻¹])+(?:/\w+)?))")
_INDEX = re.compile(r"(?<![\w/.])(?P<base>[A-Za-zα-ωΣ])_(?:(?P<index>\w{1,2})(?!\w)|\((?P<sum>[\w +-]{1,9})\))")
_ROOT = re.compile(r"√\(")
_OWN_LINE = re.compile(r"[|#<!> ]|[-*] |\d+\. |\$\$")
_PRIMED = re.compile(r"<msup>(?P<base><mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>")
_PRIMED_INDEX = re.compile(
    r"<msubsup>(?P<base><mi>[^<]*</mi>)(?P<index><m[in]>[^<]*</m[in]>)<mi>&#x02032;</mi></msubsup>"
)
_PRIME = '<mo lspace="0" rspace="0">&#x02032;</mo>'
_CLOSE = {"(": ")", "{": "}"}


def fold_solutions(text: str) -> str:
    r"""Solutions behind a line that opens them.

    >>> "<details" in fold_solutions("**1.** Why?\n\n```python\n# Solution\nassert True\n```\n")
    True
    """
    start = '<details class="solution" markdown="1">\n<summary>Solution</summary>\n'
    return SOLUTION.sub(lambda block: f"{start}\n{block[0]}\n\n</details>", text)


def unwrap(text: str) -> str:
    r"""Each paragraph of prose and each formula on one line, so that no formula is broken between two.

    >>> unwrap("$$a =\nb$$\n\nc\nd")
    '$$a = b$$\n\nc d'
    >>> unwrap("a e^(b\n+ c) d\n- one\n\n```python\n1\n2\n```\n")
    'a e^(b + c) d\n- one\n\n```python\n1\n2\n```\n'
    """
    lines: list[str] = []
    inside = prose = formula = False
    for line in text.split("\n"):
        if formula or (line.startswith("$$") and not inside):
            lines.append(f"{lines.pop()} {line}" if formula else line)
            formula, prose = not lines[-1].endswith("$$"), False
            continue
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
    r"""A formula as MathML; exponents, indices and roots of a line of prose as HTML; code and links stay.

    >>> typeset("P ≤ e^(ε(k + 1)) P' and 2^-50, `x^2`, M_i, √(2 ln k)")
    "P ≤ e<sup>ε(k + 1)</sup> P' and 2<sup>-50</sup>, `x^2`, M<sub>i</sub>, √<span class=root>2 ln k</span>"
    >>> "<mfrac>" in typeset(r"$$\frac{a}{b}$$")
    True
    """
    if line.startswith("$$"):
        return f'<div class="formula">{mathml(line.removeprefix("$$").removesuffix("$$"))}</div>'
    return "".join(part if at % 2 else _formulas(part) for at, part in enumerate(_CODE.split(line)))


def mathml(latex: str) -> str:
    """A formula as MathML: bars stand close to what they enclose, primes beside their letter; E is upright.

    >>> mathml("x'").count("<msup>")
    0
    """
    told_apart = latex.replace(r"\lvert", r"\lfloor").replace(r"\rvert", r"\rfloor")  # the converter has one bar only
    made = convert(told_apart, display="block").replace("<mi>&#x00045;</mi>", '<mi mathvariant="normal">E</mi>')
    for floor, form in (("&#x0230A;", "prefix"), ("&#x0230B;", "postfix")):
        made = re.sub(f"<m[io][^>]*>{floor}</m[io]>", f'<mo fence="true" form="{form}" stretchy="false">|</mo>', made)
    made = _PRIMED.sub(rf"<mrow>\g<base>{_PRIME}</mrow>", made)
    return _PRIMED_INDEX.sub(rf"<mrow><msub>\g<base>\g<index></msub>{_PRIME}</mrow>", made)


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
    return _roots(_INDEX.sub(lambda m: f"{m['base']}<sub>{m['index'] or m['sum']}</sub>", done + text[at:]))


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
