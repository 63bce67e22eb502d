"""Names as sqlglot is given them: in a spelling that means nothing to it, so that it reads none as a word of SQL."""

from __future__ import annotations

MARK = "\ufdd0"  # no character, and none ever will be


def opaque(name: str) -> str:
    """The name in a spelling that means nothing."""
    return MARK + name.encode().hex()


def spelled(name: str) -> str:
    """A name as it was written.

    >>> spelled(opaque("month"))
    'month'
    """
    return bytes.fromhex(name[len(MARK) :]).decode() if name.startswith(MARK) else name
