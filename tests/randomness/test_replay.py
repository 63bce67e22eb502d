"""Tapes play back what was recorded; ``exact_law`` finds the law of small samplers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import bernoulli_exp
from discreet.noise.additive import gaussian, laplace
from discreet.randomness import Bits, Recorder, Replay, SystemBits, exact_law
from discreet.randomness.replay import TapeEnded

asks = st.lists(
    st.one_of(
        st.tuples(st.just("bits"), st.integers(0, 70)),
        st.tuples(st.just("bytes"), st.integers(0, 9)),
        st.tuples(st.just("below"), st.integers(1, 1000)),
    ),
    max_size=20,
)


@pytest.mark.slow
@given(asks)
def test_a_recording_plays_back_the_same(wanted: list[tuple[str, int]]) -> None:
    recorder = Recorder(SystemBits())
    first = [getattr(recorder, what)(n) for what, n in wanted]
    tape = recorder.replay()
    assert [getattr(tape, what)(n) for what, n in wanted] == first
    assert tape.left == 0


@pytest.mark.parametrize("scale", ["1/3", "10", "1000", "1e12"])
@pytest.mark.parametrize("size", [None, 5, 3000])
def test_noise_plays_back_the_same(scale: str, size: int | None) -> None:
    for draw in (laplace, gaussian):
        recorder = Recorder(SystemBits())
        draw(Fraction(scale), 1000, SystemBits())  # so that the table is there both times
        first = draw(Fraction(scale), size, recorder)
        again = draw(Fraction(scale), size, recorder.replay())
        assert (first == again) if size is None else (first == again).all()  # type: ignore[union-attr]


@pytest.mark.slow
@given(st.binary(max_size=40), st.lists(st.integers(0, 30), max_size=20))
def test_bits_come_first_to_last(data: bytes, counts: list[int]) -> None:
    tape = Replay.of_bytes(data)
    text = "".join(f"{byte:08b}" for byte in data)
    at = 0
    for count in counts:
        if at + count > len(text):
            with pytest.raises(TapeEnded) as caught:
                tape.bits(count)
            assert caught.value.missing == at + count - len(text)
            assert tape.left == len(text) - at  # nothing was lost
            break
        assert tape.bits(count) == int(text[at : at + count] or "0", 2)
        at += count


def test_bytes_are_bits() -> None:
    assert Replay.of_bytes(b"ab").bytes(2) == b"ab"
    tape = Replay(value=0b1_01100001, length=9)
    assert (tape.bits(1), tape.bytes(1)) == (1, b"a")


def test_the_law_of_a_bit_and_of_nothing() -> None:
    half, none, one = Fraction(1, 2), Fraction(0), Fraction(1)
    empty: dict[int, Fraction] = {}
    assert exact_law(lambda bits: bits.bits(1), depth=1) == ({0: half, 1: half}, none)
    assert exact_law(lambda bits: "sure", depth=0) == ({"sure": one}, none)
    assert exact_law(lambda bits: bits.bits(2), depth=1) == (empty, one)


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(0, 12))
def test_masses_sum_to_one(n: int, depth: int) -> None:
    law, undecided = exact_law(lambda bits: bits.below(n), depth=depth)
    assert sum(law.values()) + undecided == 1
    assert all(p <= Fraction(1, n) <= p + undecided for p in law.values())


def test_a_biased_sampler_is_seen() -> None:
    """The planted twin: a remainder of three bits by three."""

    def remainder(bits: Bits) -> int:
        return bits.bits(3) % 3

    law, undecided = exact_law(remainder, depth=3)
    assert undecided == 0
    assert law != {i: Fraction(1, 3) for i in range(3)}
    assert law == {0: Fraction(3, 8), 1: Fraction(3, 8), 2: Fraction(2, 8)}


def test_draws_do_not_play_back_by_themselves() -> None:
    """Without a tape two runs differ: 2000 fair coins agree with probability 2^-2000."""
    assert bernoulli_exp("0.6931", 2000).tolist() != bernoulli_exp("0.6931", 2000).tolist()
