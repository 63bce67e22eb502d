"""The mechanism that survives: exact law, certified price under adversarial bits, certified error, refusals."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.biased.bit_tree import Steps, best
from discreet.biased.certify import Pair, certify_laplace, depth_for, laplace_cell
from discreet.biased.cover import Boxes
from discreet.biased.laplace import BiasedLaplace, biased_laplace
from discreet.biased.sources import Biased, SanthaVazirani, Strategy, largest_probability, tilted, worst_against
from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits, Replay, SystemBits, exact_law
from tests.helpers.biased import law_under, proven_loss

UNIT = 1 << 80


@pytest.fixture(scope="module")
def mechanism() -> BiasedLaplace:
    return biased_laplace(sensitivity=1, epsilon=1, gamma="0.1")


def pair_of(m: BiasedLaplace, q: int, other: int, z: int) -> Pair:
    """The strings that lead to z on the two inputs."""
    depth = depth_for(m.model.gamma, (abs(z) + abs(q) + abs(other) + 2 * m.grid) / m.scale)
    cells = [
        laplace_cell((z - m.grid / 2 - x) / m.scale, (z + m.grid / 2 - x) / m.scale, depth) for x in (q, other)
    ]  # fmt: skip
    return Pair(cells[0], cells[1], depth)


def draws(m: BiasedLaplace, value: int) -> Callable[[Bits], int | float]:
    return lambda bits: m.draw(Fraction(value), bits)


def worst(m: BiasedLaplace) -> tuple[Fraction, int, int, int]:
    """The largest proven loss among small inputs and outputs, and where it is."""
    choices = [(q, q + d) for q in range(int(m.grid)) for d in (-1, 1)]
    outputs = [int(j * m.grid) for j in range(-4, 5)]
    return max((pair_of(m, q, r, z).bound(m.model.gamma, 16)[0], q, r, z) for q, r in choices for z in outputs)


def adversary(m: BiasedLaplace, q: int, other: int, z: int, loss: Fraction) -> Strategy:
    pair = pair_of(m, q, other, z)
    return worst_against(pair.first[1], pair.second[0], math.exp(loss), m.model, depth=pair.depth)


# --- the law -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, 3, -4])
def test_the_law_on_every_bit_path(mechanism: BiasedLaplace, value: int) -> None:
    exact = mechanism.read(value)
    law, undecided = exact_law(lambda bits: mechanism.draw(exact, bits), depth=18)
    truth = mechanism.law(exact)
    assert sum(low for low, _ in truth.values()) <= 1 <= sum(high for _, high in truth.values()) + Fraction(1, 1 << 100)
    assert undecided < Fraction(1, 1000)
    for z, p in law.items():
        low, high = truth[z]
        assert p <= high
        assert low <= p + undecided


@pytest.mark.slow
def test_the_law_is_the_rounded_laplace_law(mechanism: BiasedLaplace) -> None:
    def cdf(x: float) -> float:
        return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2

    b, g = float(mechanism.scale), float(mechanism.grid)
    for z, (low, high) in mechanism.law(Fraction(3)).items():
        truth = cdf((z + g / 2 - 3) / b) - cdf((z - g / 2 - 3) / b)
        assert float(low) - 1e-12 <= truth <= float(high) + 1e-12


@pytest.mark.slow
def test_the_output_is_monotone_in_the_bits_and_decided_as_early_as_it_can_be(mechanism: BiasedLaplace) -> None:
    told = [mechanism.draw(Fraction(0), Replay(value=u << 200, length=209)) for u in range(1, 512)]
    assert told == sorted(told)
    tape = Replay(value=0b11 << 200, length=202)
    mechanism.draw(Fraction(0), tape)
    assert tape.left > 190  # a bit at a time, and no more than it takes


@pytest.mark.slow
def test_reals_and_large_values() -> None:
    m = biased_laplace(sensitivity="0.5", epsilon=1, gamma="0.05")
    value = m.release(3.7).value
    assert isinstance(value, float)
    assert Fraction(value) % m.grid == 0
    assert math.isfinite(m.draw(m.read(1.7976931348623157e308), SystemBits()))
    whole = biased_laplace(sensitivity=1, epsilon=1, gamma="0.1")
    assert whole.draw(whole.read(10**3000), SystemBits()) > 10**2999


@pytest.mark.parametrize("value", [True, "3", None, 1.5, float("nan"), [1]])
def test_whole_mechanisms_read_whole_numbers_only(mechanism: BiasedLaplace, value: object) -> None:
    with pytest.raises(BadData):
        mechanism.read(value)


@pytest.mark.slow
@pytest.mark.parametrize("value", [True, "3", float("nan"), float("inf"), 1j])
def test_real_mechanisms_read_finite_numbers_only(value: object) -> None:
    with pytest.raises(BadData):
        biased_laplace(sensitivity="0.5", epsilon=1, gamma="0.05").read(value)


# --- the price ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "gamma"),
    [(1, 1, "0.1"), (1, "0.1", "0.1"), ("0.5", 1, "0.05")],
)
def test_the_certifier_agrees(sensitivity: object, epsilon: object, gamma: object) -> None:
    m = biased_laplace(sensitivity, epsilon, gamma)  # type: ignore[arg-type]
    found = certify_laplace(1 / m.scale, m.grid, m.model.gamma, sensitivity=m.sensitivity)
    assert found.lower <= m.epsilon
    assert found.lower > 0.9 * float(m.epsilon)  # and little is wasted


def test_event_price_and_story(mechanism: BiasedLaplace) -> None:
    assert mechanism.event == events.Biased(1)
    answer = mechanism.release(42)
    assert (answer.event, answer.cost) == (events.Biased(1), "epsilon 1")
    assert "gamma 0.1" in answer.explain()
    assert answer.error_at("0.95") == mechanism.error_at("0.95")


def test_a_receipt_for_something_else_is_refused(mechanism: BiasedLaplace) -> None:
    with pytest.raises(ReceiptRefused):
        mechanism.release(42, Receipt(events.Pure(2), number=1))


@pytest.mark.slow
def test_the_price_holds_under_the_worst_source(mechanism: BiasedLaplace) -> None:
    """The exact law on the source that was made to break it: the loss comes close to ε and never exceeds it."""
    loss, q, other, z = worst(mechanism)
    strategy, gamma = adversary(mechanism, q, other, z, loss), mechanism.model.gamma
    laws = [law_under(draws(mechanism, x), strategy, gamma, depth=16) for x in (q, other)]
    (p, open_p), (r, open_r) = laws
    for output in p:
        assert math.log(p[output] / (r.get(output, Fraction(0)) + open_r)) <= mechanism.epsilon
        assert math.log(r.get(output, Fraction(1, 1 << 999)) / (p[output] + open_p)) <= mechanism.epsilon
    assert math.log(p[z] / (r[z] + open_r)) > 0.85 * float(mechanism.epsilon)


@pytest.mark.slow
def test_samples_under_the_worst_source_prove_no_more_than_the_price(mechanism: BiasedLaplace) -> None:
    """Clopper-Pearson at 1e-9: what the audit proves stays below the certificate."""
    loss, q, other, z = worst(mechanism)
    source, n = Biased(mechanism.model, adversary(mechanism, q, other, z, loss)), 4000
    seen = []
    for value in (q, other):
        count = 0
        for _ in range(n):
            source.restart()
            count += mechanism.draw(Fraction(value), source) == z
        seen.append(count)
    assert proven_loss(seen[0], seen[1], n) <= mechanism.epsilon


@pytest.mark.slow
def test_the_ordinary_grid_is_refuted_by_the_same_audit() -> None:
    """Noise of the ordinary mechanism at ε = 0.1, integer answers, γ = 0.5: samples prove a loss far above ε."""
    twin = BiasedLaplace(Fraction(10), Fraction(1), SanthaVazirani("0.5"), Fraction(1), Fraction(1, 10))
    loss, z = max((pair_of(twin, 0, 1, z).bound(Fraction(1, 2), 12)[0], z) for z in range(-6, 7))
    source, n = Biased(twin.model, adversary(twin, 0, 1, z, loss)), 3000
    seen = []
    for value in (0, 1):
        count = 0
        for _ in range(n):
            source.restart()
            count += twin.draw(Fraction(value), source) == z
        seen.append(count)
    assert proven_loss(seen[0], seen[1], n) > 10 * twin.epsilon


@pytest.mark.slow
def test_the_parity_attack_finds_nothing_here(mechanism: BiasedLaplace) -> None:
    """The source that breaks additive noise favours every second output; neighbours still agree within ε."""
    n, half = 2500, 2 * int(mechanism.grid)

    def favoured(z: float) -> bool:
        return z % half == 0

    seen = []
    for value in (Fraction(0), Fraction(1)):
        tapes = (tilted(lambda b: mechanism.draw(Fraction(0), b), favoured, mechanism.model) for _ in range(n))
        seen.append(sum(favoured(mechanism.draw(value, Then(tape))) for tape in tapes))
    assert proven_loss(seen[0], seen[1], n) <= mechanism.epsilon
    assert proven_loss(n - seen[1], n - seen[0], n) <= mechanism.epsilon


class Then:
    """A tape, and fair bits behind it: what the tilted source gives after the bits that its outcome needed."""

    def __init__(self, tape: Replay) -> None:
        self._tape = tape

    def bits(self, count: int) -> int:
        return self._tape.bits(count) if self._tape.left else SystemBits().bits(count)

    def bytes(self, count: int) -> bytes:
        raise AssertionError("bits one by one")

    def below(self, n: int) -> int:
        raise AssertionError("bits one by one")


@pytest.mark.slow
def test_prices_do_not_add_up_on_one_adversarial_stream(mechanism: BiasedLaplace) -> None:
    """A second release, of a constant, from the same stream: the source tells through it what the first bits were.

    Pays A = max P(z2) on strings of the first output that only q has, a = min P(z2) on the others. The joint loss
    exceeds 2ε: composition needs releases whose bits are independent (biased_laplace.md, part 5).
    """
    loss, q, other, z = worst(mechanism)
    pair, gamma = pair_of(mechanism, q, other, z), mechanism.model.gamma
    far = pair_of(mechanism, 0, 0, 15 * int(mechanism.grid))
    most = largest_probability(far.first[1], mechanism.model, depth=far.depth)
    whole = 1 << far.depth
    (low, high) = far.first[0][0]
    least = 1 - largest_probability([(0, low), (high, whole)], mechanism.model, depth=far.depth)
    tilt = most / max(least, Fraction(1, UNIT))
    assert tilt > 100
    factor = Fraction(math.exp(2 * mechanism.epsilon))
    first, second = pair.first[0][0], pair.second[1][0]
    ends = sorted({*first, *second})
    payoffs = []
    for at in (0, *ends):
        mine, theirs = first[0] <= at < first[1], second[0] <= at < second[1]
        payoffs.append(int(UNIT * ((tilt if mine and not theirs else mine) - factor * theirs)))
    assert best(Steps(ends, payoffs, pair.depth), gamma, up=False) > 0
    assert loss <= mechanism.epsilon


# --- the error ---------------------------------------------------------------------------------------------------


def outward(prefix: int, length: int) -> int:
    """Pushes every bit but the first away from the middle: the most error."""
    return 1 if length == 0 or prefix >> (length - 1) else -1


@pytest.mark.slow
@pytest.mark.parametrize("gamma", ["0.1", "0.4"])
def test_the_expected_error_holds_and_is_close(gamma: str) -> None:
    m = biased_laplace(sensitivity=1, epsilon=2, gamma=gamma)
    worst_seen = 0.0
    for value in range(int(m.grid)):
        exact = Fraction(value)
        law, undecided = law_under(draws(m, value), outward, m.model.gamma, depth=24)
        mean = sum(p * abs(z - value) for z, p in law.items())
        assert undecided < 0.1
        assert mean <= m.expected_error
        worst_seen = max(worst_seen, float(mean))
        fair = sum((low + high) / 2 * abs(z - value) for z, (low, high) in m.law(exact).items())
        assert float(fair) <= m.expected_error_fair * (1 + 1e-9)
    assert worst_seen > 0.8 * m.expected_error
    assert m.expected_error_fair < m.expected_error


@pytest.mark.slow
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_the_error_bar_holds_under_the_worst_source(mechanism: BiasedLaplace, confidence: str) -> None:
    error = mechanism.error_at(confidence)
    for value in range(int(mechanism.grid)):
        law, _ = law_under(draws(mechanism, value), outward, mechanism.model.gamma, depth=16)
        missed = sum(p for z, p in law.items() if abs(z - value) > error)
        assert missed <= 1 - Fraction(confidence)
    assert mechanism.interval(confidence) == (-error, error)


@pytest.mark.slow
def test_wide_grids_and_boxes_of_offsets() -> None:
    m = biased_laplace(sensitivity=1, epsilon="0.1", gamma="0.1")
    assert m.grid > 8
    for value in (0, int(m.grid) // 2, int(m.grid) // 3):
        law, _ = law_under(draws(m, value), outward, m.model.gamma, depth=16)
        mean = sum(p * abs(z - value) for z, p in law.items())
        assert 0.6 * m.expected_error < mean <= m.expected_error


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["-0.1", 1, 2])
def test_gamma_outside_its_range(gamma: object) -> None:
    with pytest.raises(BadParameter, match="gamma"):
        biased_laplace(1, 1, gamma)  # type: ignore[arg-type]


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0, 1), (-1, 1), (1, 0), (1, -1), (f"{1 << 1000}", 1)])
def test_other_bad_parameters(sensitivity: object, epsilon: object) -> None:
    with pytest.raises(BadParameter):
        biased_laplace(sensitivity, epsilon, "0.1")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_grid_that_cannot_reach_epsilon_says_what_it_can() -> None:
    with pytest.raises(BadParameter, match=r"at least about 0\.9\d* on a grid of 1 with gamma 0\.1") as told:
        biased_laplace(1, "0.5", "0.1", grid=1)
    assert "coarser grid" in str(told.value)
    assert biased_laplace(1, 1, "0.1", grid=5).grid == 5


@pytest.mark.slow
def test_an_epsilon_that_no_grid_reaches_says_what_is_reachable() -> None:
    with pytest.raises(BadParameter, match="must be at least about"):
        biased_laplace(1, "0.1", "0.9")


@pytest.mark.slow
def test_whole_answers_need_whole_parameters() -> None:
    with pytest.raises(BadParameter, match="whole"):
        biased_laplace("0.5", 1, "0.1", real=False)
    with pytest.raises(BadParameter, match="whole"):
        biased_laplace(1, 1, "0.1", grid="2.5")
    assert not biased_laplace(1, 1, "0.1", grid="2.5", real=True).whole


def test_points_and_spreads_round_outwards() -> None:
    third = Boxes.points([Fraction(1, 3)], Fraction(1, 3))
    assert Fraction(third.s_low[0]) < Fraction(1, 3) < Fraction(third.s_high[0])
