import random
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.biased.sources import (
    Biased,
    BlockSource,
    SanthaVazirani,
    WeakSource,
    Xor,
    flat,
    flat_blocks,
    largest_probability,
    tilted,
    worst_against,
)
from discreet.errors import BadParameter, UnsafeRandomness
from discreet.noise.laplace import draw_laplace
from discreet.randomness import Bits, Replay, SystemBits, for_release
from tests.helpers.biased import all_sources, proven_loss


def conditional_biases(law: list[Fraction]) -> list[Fraction]:
    """|2 P(1 | prefix) - 1| at every node that is reached."""
    found = []
    while len(law) > 1:
        parents = [a + b for a, b in zip(law[::2], law[1::2], strict=True)]
        found += [abs(2 * b / p - 1) for b, p in zip(law[1::2], parents, strict=True) if p]
        law = parents
    return found


@pytest.mark.parametrize("gamma", [-1, "-0.1", 1, "1.5", float("nan"), True, "much"])
def test_gamma_must_lie_in_0_to_1(gamma: object) -> None:
    with pytest.raises(BadParameter, match="gamma"):
        SanthaVazirani(gamma)  # type: ignore[arg-type]


def test_models_check_their_entropy() -> None:
    for bits, k in [(0, 0), (4, 5), (4, 0), (4, -1)]:
        with pytest.raises(BadParameter):
            WeakSource(bits, k)
        with pytest.raises(BadParameter):
            BlockSource(bits, k)
    with pytest.raises(BadParameter, match="never changes"):
        _ = BlockSource(2, 1).santha_vazirani
    assert BlockSource(1, 1).santha_vazirani.gamma == 0
    assert abs(SanthaVazirani("0.1").min_entropy_per_bit - Fraction("0.8624964762500651")) < Fraction(1, 10**15)


def test_releases_refuse_every_simulation() -> None:
    biased = Biased(SanthaVazirani("0.1"), lambda prefix, length: 1)
    for source in (biased, Xor(SystemBits(), SystemBits()), flat(WeakSource(3, 2), lambda r: r > 3)):
        with pytest.raises(UnsafeRandomness):
            for_release(source)


def test_a_strategy_cannot_ask_for_more_than_the_model_allows() -> None:
    with pytest.raises(BadParameter, match="strategy"):
        Biased(SanthaVazirani("0.1"), lambda prefix, length: 2).bits(1)


@pytest.mark.slow
def test_biased_bits_have_the_stated_probability() -> None:
    """False-alarm rate 1e-9 (Hoeffding: 20,000 bits stray by 3.3 % with probability 2 exp(-2 n t^2) < 1e-18)."""
    source = Biased(SanthaVazirani("0.5"), lambda prefix, length: 1 if length % 2 == 0 else -1)
    drawn = [source.bits(2) for _ in range(20_000)]
    assert abs(sum(d >> 1 for d in drawn) / 20_000 - 0.75) < 0.033
    assert abs(sum(d & 1 for d in drawn) / 20_000 - 0.25) < 0.033
    source.restart()
    assert len(source.bytes(3)) == 3
    assert 0 <= source.below(10) < 10


@pytest.mark.slow
def test_the_tilted_source_is_a_santha_vazirani_source() -> None:
    """Every set of strings of 5 bits that random choice finds: the weights 1±γ never bias a bit by more than γ."""
    rng = random.Random(1)
    for gamma in (Fraction(1, 10), Fraction(9, 10)):
        worst = Fraction(0)
        for _ in range(300):
            chance = rng.random()
            weights = [1 + gamma if rng.random() < chance else 1 - gamma for _ in range(32)]
            worst = max(worst, *conditional_biases(weights))
        assert worst <= gamma
        assert worst == gamma  # and it is attained


def test_the_twin_with_more_tilt_is_not_one() -> None:
    weights = [1 + Fraction(1, 5), 1 - Fraction(1, 5)] * 16
    assert max(conditional_biases(weights)) > Fraction(1, 10)


def test_tilting_multiplies_the_odds() -> None:
    """3 bits, favours multiples of 3: odds 3/5 become 3/5 * 3. False-alarm rate 1e-9."""
    model, n = SanthaVazirani("0.5"), 4000
    seen = sum(tilted(lambda b: b.bits(3), lambda r: r % 3 == 0, model).bits(3) % 3 == 0 for _ in range(n))
    assert abs(seen / n - 9 / 14) < 0.054  # 2 exp(-2 n t^2) < 1e-9


@pytest.mark.slow
def test_the_parity_attack_breaks_additive_noise() -> None:
    """ε is 1/100, and with bits biased by 0.3 samples prove a loss above a quarter; the noise is not to blame."""
    scale, model, n = Fraction(100), SanthaVazirani("0.3"), 3000

    def draw(bits: Bits) -> int:
        return draw_laplace(scale, bits)

    noises = [draw(tilted(draw, lambda e: e % 2 == 0, model)) for _ in range(2 * n)]
    even_at_0 = sum((0 + e) % 2 == 0 for e in noises[:n])
    even_at_1 = sum((1 + e) % 2 == 0 for e in noises[n:])
    assert proven_loss(even_at_0, even_at_1, n) > 0.25  # 0.38 on average, with a deviation of 0.013
    fair = [draw(SystemBits()) for _ in range(2 * n)]  # the same statistic does not accuse fair bits
    assert proven_loss(sum(e % 2 == 0 for e in fair[:n]), sum(e % 2 for e in fair[n:]), n) < 0.01


def test_worst_against_reaches_the_largest_probability() -> None:
    model, event = SanthaVazirani("0.2"), [(3, 6)]
    strategy = worst_against(event, [], 0, model, depth=3)

    def reached(prefix: int, length: int) -> Fraction:
        if length == 3:
            return Fraction(3 <= prefix < 6)
        one = (1 + model.gamma * strategy(prefix, length)) / 2
        return (1 - one) * reached(2 * prefix, length + 1) + one * reached(2 * prefix + 1, length + 1)

    assert 0 <= largest_probability(event, model, depth=3) - reached(0, 0) < Fraction(1, 1 << 60)


def test_xor_of_independent_sources_multiplies_the_biases() -> None:
    """All pairs of extreme sources on 2 bits, exactly; and the law of the sum is again a Santha-Vazirani law."""
    gamma, other = Fraction(1, 2), Fraction(1, 3)
    worst = Fraction(0)
    for p in all_sources(2, (-1, 1), gamma):
        for q in all_sources(2, (-1, 1), other):
            law = [sum((p[r] * q[r ^ s] for r in range(4)), Fraction(0)) for s in range(4)]
            worst = max(worst, *conditional_biases(law))
    assert worst == gamma * other == SanthaVazirani(gamma).xor(SanthaVazirani(other)).gamma


def test_xor_adds_bit_by_bit() -> None:
    assert Xor(Replay(value=0b1100, length=4), Replay(value=0b1010, length=4)).bits(4) == 0b0110
    assert Xor(Replay.of_bytes(b"\x0f"), Replay.of_bytes(b"\xff")).bytes(1) == b"\xf0"
    assert Xor(SystemBits()).below(3) < 3
    with pytest.raises(BadParameter):
        Xor()


def test_weak_and_block_sources_keep_their_entropy() -> None:
    tape = flat(WeakSource(6, 5), lambda r: r.bit_count() % 2 == 0)
    assert tape.bits(6).bit_count() % 2 == 0
    with pytest.raises(BadParameter, match="2\\^min_entropy"):
        flat(WeakSource(6, 5), lambda r: r < 31)
    with pytest.raises(BadParameter, match="counted"):
        flat(WeakSource(64, 5), lambda r: True)
    rising = flat_blocks(
        BlockSource(3, 1), 4, lambda past: {past[-1] if past else 0, (past[-1] + 1) % 8 if past else 1}
    )
    blocks = [rising.bits(3) for _ in range(4)]
    assert all(b in {a, a + 1} for a, b in pairwise(blocks))
    with pytest.raises(BadParameter):
        flat_blocks(BlockSource(3, 2), 1, lambda past: {0, 1})
    with pytest.raises(BadParameter):
        flat_blocks(BlockSource(3, 1), 1, lambda past: {0, 9})


# --- estimates ------------------------------------------------------------------------------------------------------
