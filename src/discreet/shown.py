"""Objects and texts as a terminal shows them: short, and without control characters."""

from __future__ import annotations

import re
from dataclasses import fields
from reprlib import Repr
from typing import Any

_LONG = 240
_BRIEF = Repr()
_BRIEF.maxtuple = _BRIEF.maxlist = _BRIEF.maxdict = _BRIEF.maxset = 12
_BRIEF.maxstring = _BRIEF.maxlong = 80
_BRIEF.maxother = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def brief(thing: Any) -> str:
    """A dataclass as text for a terminal: long lists, arrays and objects inside are shortened.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Keys:
    ...     keys: list[int]
    ...     __repr__ = brief
    >>> Keys(list(range(5000)))
    Keys(keys=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...])
    """
    texts = {one.name: " ".join(_BRIEF.repr(getattr(thing, one.name)).split()) for one in fields(thing) if one.repr}
    parts = (f"{name}={text if len(text) <= _LONG else f'{text[:_LONG]}...'}" for name, text in texts.items())
    return f"{type(thing).__name__}({', '.join(parts)})"


def visible(text: str) -> str:
    """A text that cannot steer a terminal: control characters, and marks that turn the direction, are replaced.

    >>> visible(f"{chr(27)}[2Jcleared") == f"{chr(0xFFFD)}[2Jcleared"
    True
    """
    return _CONTROL.sub("\ufffd", text)
