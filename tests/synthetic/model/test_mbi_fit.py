"""The same fit by mbi, where it is installed (``pip install 'discreet[synth]'``); a clear refusal where it is not."""

import sys

import numpy as np
import pytest

from discreet.errors import MissingExtra, Unsupported
from discreet.synthetic.model.fit import Measured, fit
from discreet.synthetic.model.mbi_fit import mbi_fit

SIZES = (3, 2, 2)
TRUTH = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(SIZES) * 10_000
MEASURED = [Measured((0, 1), TRUTH.sum(axis=2), 25.0), Measured((1, 2), TRUTH.sum(axis=0), 25.0)]


def test_both_fits_agree() -> None:
    pytest.importorskip("mbi")
    theirs, ours = mbi_fit(SIZES, MEASURED), fit(SIZES, MEASURED)
    assert theirs.total == pytest.approx(ours.total)
    for clique in ((0, 1), (1, 2), (0, 2), (0,)):
        assert np.abs(theirs.model.marginal(clique) - ours.model.marginal(clique)).max() < 1e-3
    with pytest.raises(Unsupported, match="impossible"):
        mbi_fit(SIZES, MEASURED, base={(0,): np.zeros(3)})


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mbi", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtra, match="synth"):
        mbi_fit(SIZES, MEASURED)
