"""Tables with tiny words, walked through every bit path, and full tables at their most dangerous words."""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.noise.gaussian import GaussianLaw
from discreet.noise.laplace import LaplaceLaw
from discreet.noise.table import UNDECIDED, Table
from discreet.randomness import Bits, SystemBits, exact_law
from discreet.randomness.replay import Replay, TapeEnded
from tests.helpers.gates import distance
from tests.helpers.tapes import NoBits, Prefix, Tape, near_words
from tests.helpers.truth import BlockTruth, assert_law, gaussian_blocks, laplace_blocks


def laws(*kinds: tuple[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("kind", "parameter"), kinds, ids=[" ".join(kind) for kind in kinds])


def law_of(kind: str, parameter: str) -> tuple[Any, BlockTruth]:
    value = Fraction(parameter)
    if kind == "gaussian":
        gauss = GaussianLaw(value)
        return gauss, gaussian_blocks(gauss)
    law = LaplaceLaw(value, one_sided=kind == "geometric")
    return law, laplace_blocks(law)


def table_of(law: Any, **sizes: int) -> Table:
    return Table(lru_cache(maxsize=None)(law.thresholds), endless=law.wrap is None, **sizes)


SMALL = [
    ("laplace", "1"), ("laplace", "1/3"), ("laplace", "7/2"), ("laplace", "1/10"), ("laplace", "100"),
    ("geometric", "1"), ("geometric", "1/3"), ("geometric", "7/2"), ("geometric", "1/10"), ("geometric", "100"),
    ("gaussian", "1"), ("gaussian", "1/4"), ("gaussian", "9"), ("gaussian", "0.37"), ("gaussian", "22500"),
]  # fmt: skip
LARGE = [
    ("laplace", "3/10"), ("laplace", "1"), ("laplace", "10"), ("laplace", "1000"), ("laplace", "1e6"),
    ("laplace", "1e12"), ("geometric", "1000"), ("gaussian", "1/4"), ("gaussian", "1"), ("gaussian", "100"),
    ("gaussian", "1e6"), ("gaussian", "1e12"), ("gaussian", "1e24"),
]  # fmt: skip


@pytest.mark.slow
@laws(*SMALL)
def test_tiny_words_have_the_law(kind: str, parameter: str) -> None:
    """4 bits of guide, 8 of word, then 4 at a time up to 20: every path."""
    law, truth = law_of(kind, parameter)
    table = table_of(law, guide_bits=4, word_bits=8, step=4)
    found, undecided = exact_law(table.index, depth=20)
    assert_law(found, undecided, dict(enumerate(truth.probabilities)))
    assert undecided <= Fraction(3 * min(len(truth.thresholds), 4000) + 3, 1 << 20)


@pytest.mark.slow
@laws(*SMALL)
def test_tiny_words_in_an_array_agree_with_the_truth(kind: str, parameter: str) -> None:
    """All 256 words: a word is answered only if its whole interval has one index, and by that index."""
    law, truth = law_of(kind, parameter)
    table = table_of(law, guide_bits=4, word_bits=8, step=4)
    answered = 0
    for word in range(256):
        try:
            (j,) = table.indices_from(np.array([word], dtype=np.uint64), Replay(value=0, length=0))
        except TapeEnded:
            continue
        answered += 1
        assert truth.index_at_start(word, 8) == j == truth.index_at_end(word, 8)
    assert answered >= 256 - 3 * len(truth.thresholds)


def redraw(table: Table, bits: Bits) -> int:
    """The planted bug: an undecided word is thrown away and drawn again."""
    while True:
        try:
            word = bits.bits(table.word_bits)
            return int(table.indices_from(np.array([word], dtype=np.uint64), Replay(value=0, length=0))[0])
        except TapeEnded as ended:
            if ended.missing == table.word_bits:  # the enumeration's own tape ended, not the word
                raise


@pytest.mark.slow
@laws(("laplace", "1"), ("laplace", "7/2"), ("gaussian", "1"), ("gaussian", "9"))
def test_redrawing_instead_of_continuing_is_caught(kind: str, parameter: str) -> None:
    law, truth = law_of(kind, parameter)
    table = table_of(law, guide_bits=4, word_bits=8, step=4)
    found, undecided = exact_law(lambda bits: redraw(table, bits), depth=16)
    with pytest.raises(AssertionError, match="outcome"):
        assert_law(found, undecided, dict(enumerate(truth.probabilities)))


@pytest.mark.slow
def test_redrawing_instead_of_continuing_fails_the_chi_square_gate() -> None:
    """False alarm 1e-9. The same 1e5 draws of the real table pass."""
    law, truth = law_of("laplace", "7/2")
    table = table_of(law, guide_bits=4, word_bits=8, step=4)
    probabilities = [float(p) for p in truth.probabilities]
    bits = SystemBits()

    def counts(draws: list[int]) -> list[int]:
        return [int(n) for n in np.bincount(draws, minlength=len(probabilities))]

    assert distance(counts([table.index(bits) for _ in range(100_000)]), probabilities) < 1
    assert distance(counts([redraw(table, bits) for _ in range(100_000)]), probabilities) > 1


@pytest.mark.slow
@laws(*LARGE)
def test_guide_cells_decide_only_what_is_certain(kind: str, parameter: str) -> None:
    law, truth = law_of(kind, parameter)
    guide = table_of(law).guide
    cells = range(1 << 16)
    start = np.array([truth.index_at_start(cell, 16) for cell in cells])
    end = np.array([truth.index_at_end(cell, 16) for cell in cells])
    if law.wrap is None:
        end[-1] += 1  # a law without end has more thresholds in its last cell
    decided = guide != UNDECIDED
    assert (start == end)[decided].all()
    assert (guide == start)[decided].all()
    assert np.count_nonzero(~decided) <= 2 * np.count_nonzero(start != end) + 2


@pytest.mark.slow
@laws(*LARGE)
def test_words_beside_thresholds_are_right_at_both_ends(kind: str, parameter: str) -> None:
    """Zeros for ever and ones for ever are the two ends of a word. Where no more bits are asked for, one answer must
    be right at both ends; the index grows with U, so it is then right for every continuation."""
    law, truth = law_of(kind, parameter)
    table = table_of(law)
    words = near_words(truth.floors(64), 64, range(2, 50, 3))[:-1]  # all ones for ever would be U = 1
    at_start = table.indices_from(words, Tape(then=0))
    at_end = table.indices_from(words, Tape(then=0xFF))
    expected = words.tolist()
    assert at_start.tolist() == [truth.index_at_start(w, 64) for w in expected]
    assert at_end.tolist() == [truth.index_at_end(w, 64) for w in expected]


@pytest.mark.slow
@laws(*LARGE)
def test_single_draws_beside_thresholds_are_right_at_both_ends(kind: str, parameter: str) -> None:
    law, truth = law_of(kind, parameter)
    table = table_of(law)
    words = near_words(truth.floors(64)[::13], 64, range(3, 50, 11))[:-1].tolist()
    for w in words:
        assert table.index(Prefix(w, 64, then=0)) == truth.index_at_start(w, 64)
        assert table.index(Prefix(w, 64, then=1)) == truth.index_at_end(w, 64)


@laws(("laplace", "10"), ("gaussian", "100"))
def test_words_away_from_thresholds_need_no_more_bits(kind: str, parameter: str) -> None:
    law, truth = law_of(kind, parameter)
    floors = truth.floors(64)
    words = np.array([(a + b) // 2 for a, b in pairwise(floors[:60])], dtype=np.uint64)
    table_of(law).indices_from(words, NoBits())


def test_a_table_that_forgets_a_unit_is_caught() -> None:
    """The planted twin of the words beside thresholds: bounds that claim a unit more than they know."""
    law, truth = law_of("laplace", "10")

    def forgetful(n: int) -> tuple[list[int], list[int]]:
        low, _ = law.thresholds(n)
        return [x + 1 for x in low], [x + 1 for x in low]

    table = Table(forgetful, endless=False)
    words = near_words(truth.floors(64), 64, range(2, 50, 3))[:-1]
    at_end = table.indices_from(words, Tape(then=0xFF))
    assert at_end.tolist() != [truth.index_at_end(w, 64) for w in words.tolist()]
