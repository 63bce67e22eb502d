"""Where every picture begins: a matplotlib Figure that a notebook shows once, as a picture.

A notebook draws a Figure of pyplot twice, as the value of its cell and again at the end of it; any other Figure it
shows as a line of text, until somebody imports pyplot. So pictures are none of pyplot, and know how to be shown.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

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


def coloured_boxes(axes: Any, boxes: Sequence[Any], values: Any, least: float, most: float) -> Any:
    """Polygons whose colours say values on a logarithmic scale, added to axes; for the bar of their colours."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    scale = LogNorm(least, most, clip=True)
    return axes.add_collection(
        PolyCollection(boxes, array=values, cmap="cividis_r", norm=scale, edgecolors="white", linewidths=0.4)
    )


def _png(figure: Figure) -> bytes:
    stored = io.BytesIO()
    figure.savefig(stored, format="png")
    return stored.getvalue()
