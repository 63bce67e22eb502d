"""The exact check on the real code, and how it reports."""

from fractions import Fraction
from typing import Any

import pytest

from discreet import stable
from discreet.checking.exact.check import check
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits
from tests.contracts.cases import CASES, Case
from tests.stable.cases import MAPS


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_alarm_on_the_mechanisms(case: Case) -> None:
    report = check(case.mechanism, pairs=case.pairs)
    assert report.ok, str(report)


@pytest.mark.slow
def test_no_alarm_on_the_stable_maps() -> None:
    for name, map_, values, rows in MAPS:
        report = check(map_, values=values, rows=min(rows, 3), most_pairs=600, searches=40)
        assert report.ok, f"{name}\n{report}"


SHORT: dict[str, Any] = {"rows": 2, "most_pairs": 300, "searches": 20}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "options"),
    [
        (stable.sum(bounds=(0, 500)) >> laplace(epsilon="1/3"), {"values": [0, 7, 10**9]}),
        (stable.sum(bounds=(-3, 500)) >> gaussian(rho="1/3"), {"values": [0, 7, 10**9, -5]}),
        (stable.count_by(["a", "b"]) >> gaussian(rho="1/2"), {"values": ["a", "b", "c"]}),
        (
            stable.sequential([stable.count() >> laplace(epsilon=1), stable.sum(bounds=(0, 90)) >> laplace(epsilon=1)]),
            {"values": [0, 7]},
        ),
        (
            stable.parallel({k: stable.count() >> laplace(epsilon=1) for k in "ab"}, neighbours=Neighbours.CHANGE_ONE),
            {"values": ["a", "b", "c"]},
        ),
        ((stable.count() >> laplace(epsilon=1)).then(abs), {"values": [0, 7]}),
    ],
    ids=["laplace", "gaussian", "vector", "sequential", "parallel", "then"],
)
def test_no_alarm_on_releases(release: Any, options: dict[str, Any]) -> None:
    report = check(release, **SHORT, **options)
    assert report.ok, str(report)


class Underpriced:
    """A release at the event of another."""

    def __init__(self, release: Any, cheaper: Any) -> None:
        self.map, self.mechanism, self.draw = release.map, release.mechanism, release.draw
        self.input_metric, self.input_domain = release.input_metric, release.input_domain
        self.event, self.story = cheaper.event, release.story


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "cheaper"),
    [
        (stable.count() >> laplace(epsilon=1), stable.count() >> laplace(epsilon="0.99")),
        (stable.sum(bounds=(0, 500)) >> laplace(epsilon=1), stable.sum(bounds=(0, 499)) >> laplace(scale=500)),
        (stable.sum(bounds=(0, 500)) >> gaussian(rho=1), stable.sum(bounds=(0, 500)) >> gaussian(rho="0.99")),
        (
            stable.count_by(["a", "b"], neighbours=Neighbours.CHANGE_ONE) >> laplace(epsilon=1),
            stable.count_by(["a", "b"]) >> laplace(scale=2),
        ),
    ],
)
def test_a_release_that_is_too_cheap_is_refuted(release: Any, cheaper: Any) -> None:
    report = check(Underpriced(release, cheaper), **SHORT, values=["a", "b", 700])
    assert not report.ok


def keep_or_flip(data: int, bits: Bits) -> int:
    return data if bits.below(4) else 1 - data


def test_a_function_of_bits_is_walked() -> None:
    assert check(keep_or_flip, pairs=[(0, 1)], claim=Pure("1.0987")).ok  # log 3 = 1.09861...
    report = check(keep_or_flip, pairs=[(0, 1)], claim=Pure("1.0986"))
    assert not report.ok
    assert report.smallest is not None
    assert "delta at least" in report.smallest.shown
    assert check(keep_or_flip, pairs=[(0, 1)], claim=ZCDP("0.56")).ok  # log 3 tanh(log(3)/2) = 0.549...
    assert not check(keep_or_flip, pairs=[(0, 1)], claim=ZCDP("0.53")).ok


def test_paths_that_do_not_end_are_no_pass() -> None:
    def endless(data: int, bits: Bits) -> int:
        return data + bits.bits(200)

    with pytest.raises(NoLaw, match="depth"):
        check(endless, pairs=[(0, 1)], claim=Pure(1))


def test_a_mechanism_without_a_law_is_walked_or_refused() -> None:
    class Flip:
        event = events.Pure("1.0987")

        def read(self, value: int) -> int:
            return value

        def draw(self, value: int, bits: Bits) -> int:
            return keep_or_flip(value, bits)

    with pytest.raises(NoLaw):
        check(Flip(), pairs=[(0, 1)])
    assert check(Flip(), pairs=[(0, 1)], depth=20).ok
    assert not check(Flip(), pairs=[(0, 1)], depth=20, claim=Pure(1)).ok


def test_a_failure_on_one_side_is_a_counterexample() -> None:
    class Fussy:
        event = events.Pure(1)

        def read(self, value: int) -> int:
            if value == 7:
                raise ValueError
            return value

        def law(self, _: int) -> Any:
            return {0: (Fraction(1), Fraction(1))}

    assert check(Fussy(), pairs=[(5, 6)]).ok
    report = check(Fussy(), pairs=[(6, 7)])
    assert not report.ok
    assert "raised ValueError" in str(report)


def test_what_cannot_be_checked_is_refused_with_advice() -> None:
    with pytest.raises(BadParameter, match="pairs"):
        check(keep_or_flip)
    with pytest.raises(BadParameter, match="stable map"):
        check(42)
    with pytest.raises(BadParameter, match="pairs"):
        check(laplace(sensitivity="1/2", epsilon=1))
