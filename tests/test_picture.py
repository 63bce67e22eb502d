"""Pictures: every one begins in ``picture.py``, and a notebook shows it once, whoever else uses pyplot."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from IPython.core.formatters import DisplayFormatter
from matplotlib.figure import Figure

from discreet.picture import new_figure

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"
FOR_TYPES = "if TYPE_CHECKING:\n    from matplotlib.figure import Figure\n"


def shown(figure: Any) -> dict[str, Any]:
    """What a notebook gets, by type."""
    formats: Any = DisplayFormatter()
    found: dict[str, Any] = formats.format(figure)[0]
    return found


def test_a_notebook_shows_it_as_a_picture_and_pyplot_does_not_know_it() -> None:
    before = plt.get_fignums()
    figure = new_figure(2, 1)
    assert shown(figure)["image/png"]
    assert plt.get_fignums() == before
    assert "image/png" not in shown(Figure())  # what others are until pyplot is imported


def test_it_can_be_copied_and_kept() -> None:
    figure = new_figure(2, 1)
    figure.subplots().set_title("first")
    for again in (copy.deepcopy(figure), pickle.loads(pickle.dumps(figure))):  # noqa: S301
        again.axes[0].set_title("second")
        assert shown(again)["image/png"] != shown(figure)["image/png"]
    assert figure.axes[0].get_title() == "first"


def test_nothing_else_makes_figures() -> None:
    def uses(text: str) -> bool:
        return bool(re.search(r"^\s*(from|import) matplotlib", text.replace(FOR_TYPES, ""), re.MULTILINE))

    assert uses("    import matplotlib.pyplot as plt\n")
    assert [p.name for p in SOURCE.rglob("*.py") if uses(p.read_text(encoding="utf-8"))] == ["picture.py"]
