"""Where every picture begins: a matplotlib Figure that a notebook shows once, as a picture.

A notebook draws a Figure of pyplot twice, as the value of its cell and again at the end of it; any other Figure it
shows as a line of text, until somebody imports pyplot. So pictures are none of pyplot, and know how to be shown.
"""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

from discreet.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """An empty Figure of so many inches.

    >>> figure = new_figure(6, 4)
    >>> figure._repr_png_()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("plots", extra="plot") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    stored = io.BytesIO()
    figure.savefig(stored, format="png")
    return stored.getvalue()
