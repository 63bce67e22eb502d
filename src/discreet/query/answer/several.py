"""Several previews or answers together: a tuple that prints, and shows in a notebook, as one page."""

from __future__ import annotations

import html
from typing import Any, TypeVar

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - of a tuple, which is covariant too


class Several(tuple[T, ...]):
    """A tuple of things that can each be shown.

    >>> print(Several(("one", "two")))
    1.
    one
    <BLANKLINE>
    2.
    two
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(f"{i}.\n{answer}" for i, answer in enumerate(self, 1))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{i}.</h4>{_shown(answer)}" for i, answer in enumerate(self, 1))


def preformatted(text: str) -> str:
    """HTML: the lines of a text, which wrap where they are longer than the page.

    >>> preformatted("a < b")
    '<pre style="white-space: pre-wrap">a &lt; b</pre>'
    """
    return f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'


class Explanation(str):
    """A text of several lines, which a notebook shows as such."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def _shown(answer: Any) -> str:
    made = getattr(answer, "_repr_html_", None)
    return made() if callable(made) else preformatted(str(answer))
