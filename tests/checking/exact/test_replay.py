"""Record and replay: what a pipeline does on two inputs with the same releases."""

from typing import Any

import pytest

from discreet import stable
from discreet.checking.exact.replay import Tape, publish, replay
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.privacy.promises.measures import ZCDP, Approx, Pure

ONE = laplace(sensitivity=1, epsilon=1)
WIDE = gaussian(sensitivity=1, sigma=1000)
CHOOSE = permute_and_flip(sensitivity=1, epsilon=1)
RELEASE = stable.count() >> laplace(epsilon=1)


def adaptive(rows: Any, release: Any) -> Any:
    best = release(CHOOSE, [sum(x == key for x in rows) for key in "abc"])
    return best, release(ONE, sum(x == "abc"[best] for x in rows))


@pytest.mark.slow
def test_an_adaptive_pipeline_that_follows_its_releases_is_fine() -> None:
    for _ in range(20):
        assert replay(adaptive, (["a", "a", "b"], ["a", "b"]), claim=Pure(2)).ok
    assert not replay(adaptive, (["a"], []), claim=Pure("1.9")).ok


def test_scores_that_move_too_far_are_caught_by_their_laws() -> None:
    def fourfold(rows: Any, release: Any) -> Any:
        return release(CHOOSE, [4 * sum(x == key for x in rows) for key in "ab"])

    assert not replay(fourfold, (["a", "a"], ["a"])).ok


@pytest.mark.slow
def test_noise_that_is_too_wide_to_write_down_is_compared_by_its_move() -> None:
    def run(rows: Any, release: Any) -> Any:
        return release(WIDE, sum(rows))

    assert replay(run, ([1, 1], [1])).ok
    report = replay(run, ([1, 2], [1]))
    assert report.smallest is not None
    assert "moves by √4 in L2" in report.smallest.shown


@pytest.mark.slow
def test_releases_of_rows_are_primitives_too() -> None:
    def run(rows: Any, release: Any) -> Any:
        return release(RELEASE, [x for x in rows for _ in range(2)])  # every row twice

    report = replay(run, ([1, 2], [1]))
    assert not report.ok
    assert replay(lambda rows, release: release(RELEASE, rows), ([1, 2], [1])).ok


def test_failures_must_agree() -> None:
    def run(rows: Any, release: Any) -> Any:
        noisy = release(ONE, len(rows))
        return noisy / (len(rows) - 1)

    report = replay(run, ([1], [1, 1]))
    assert report.smallest is not None
    assert "raised ZeroDivisionError" in report.smallest.shown


def test_one_release_more_is_seen_and_not_made() -> None:
    drawn: list[int] = []

    def run(rows: Any, release: Any) -> Any:
        drawn.extend(release(ONE, row) for row in rows)

    report = replay(run, ([1], [1, 1]))
    assert report.smallest is not None
    assert "1 releases on the first, and 2 or more on the second" in report.smallest.shown


@pytest.mark.slow
def test_costs_are_compared_in_their_own_kind() -> None:
    run = lambda rows, release: release(WIDE, len(rows))  # noqa: E731
    assert replay(run, ([1], []), claim=ZCDP(1)).ok
    assert not replay(run, ([1], []), claim=ZCDP("1e-9")).ok
    with pytest.raises(BadParameter, match="claim"):
        replay(run, ([1], []), claim=Approx(1, "1e-6"))
    assert replay(run, ([1], []), claim=WIDE.event).ok


def test_outside_of_a_check_it_is_a_release() -> None:
    assert isinstance(publish(ONE, 3), int)
    assert isinstance(publish(RELEASE, [1, 2]), int)
    tape = Tape()
    assert tape.release(ONE, 3) == tape.steps[0].released


def test_what_has_no_law_is_said_out_loud() -> None:
    class Silent:
        event = ONE.event

        def read(self, value: Any) -> Any:
            return ("read", value)

        def draw(self, value: Any, bits: Any) -> Any:
            return bits.below(2) + 0 * len(value)

    with pytest.raises(NoLaw, match="release of"):
        replay(lambda rows, release: release(Silent(), len(rows)), ([1], []))
    assert replay(lambda rows, release: release(Silent(), len(rows)), ([1], []), depth=10).ok
