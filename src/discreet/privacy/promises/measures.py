"""What can be promised: pure, approximate, zero-concentrated, Rényi and Gaussian differential privacy.

Promise: every value is exact, and ``a <= b`` means that whoever is promised a is promised b.
Believes: exact.py. Both directions of a pair of neighbours are always meant.

In each docstring P and Q are the laws of the output on two neighbouring inputs, in either order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import BITS, Number, exp_down, exp_up, integer, non_negative, number, sqrt_up
from discreet.privacy.promises.record import Record, show

HUGE = 4096
"""An exponent beyond which e^x is never written out: a caller may ask for any ε, and must not fill the memory."""


class Promise(Record, ABC):
    """A privacy guarantee. Promises of one kind are partially ordered by what they cost."""

    __slots__ = ()

    @abstractmethod
    def implies(self, other: Self) -> bool:
        """Whether everything that other promises follows from this promise."""

    def __le__(self, other: Self) -> bool:
        return self.implies(other) if type(self) is type(other) else NotImplemented

    def __ge__(self, other: Self) -> bool:
        return other.implies(self) if type(self) is type(other) else NotImplemented

    def __lt__(self, other: Self) -> bool:
        return (self <= other and not other <= self) if type(self) is type(other) else NotImplemented

    def __gt__(self, other: Self) -> bool:
        return (other <= self and not self <= other) if type(self) is type(other) else NotImplemented


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(Promise):
    """ε-differential privacy: P(S) <= e^ε Q(S) for every set S of outputs.

    >>> Pure("0.1").group(3), str(Pure("0.5"))
    (Pure(epsilon='3/10'), 'epsilon 0.5')
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"))

    def implies(self, other: Self) -> bool:
        """Whether everything that other promises follows from this promise."""
        return self.epsilon <= other.epsilon

    def group(self, k: int) -> Pure:
        """The promise to k units together: kε."""
        return Pure(integer(k, "k", at_least=1) * self.epsilon)

    def __str__(self) -> str:
        return f"epsilon {show(self.epsilon)}"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approx(Promise):
    """(ε, δ)-differential privacy: P(S) <= e^ε Q(S) + δ for every set S of outputs.

    >>> str(Approx("1/2", "1e-6")), Approx(1, 0) <= Approx(1, 1e-6), Approx(1, 0) <= Approx("1/2", 1e-6)
    ('epsilon 0.5, delta 1e-06', True, False)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))

    def implies(self, other: Self) -> bool:
        """Whether everything that other promises follows from this promise, coordinate by coordinate."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def group(self, k: int) -> Approx:
        """The promise to k units together: (kε, δ(1 + e^ε + ... + e^{(k-1)ε})), rounded up.

        Chain the definition k times: P0(S) <= e^ε P1(S) + δ <= e^{2ε} P2(S) + e^ε δ + δ and so on.
        """
        k = integer(k, "k", at_least=1)
        if k == 1:
            return self
        hopeless = self.delta and (k - 1) * self.epsilon > HUGE  # δ has fewer than 4096 bits, so δe^{(k-1)ε} > 1
        delta = self.delta * _geometric_sum_up(self.epsilon, k) if self.delta and not hopeless else Fraction(0)
        if hopeless or delta >= 1:
            raise NotATheorem(f"({self}) promises nothing to a group of {k}: delta would reach 1")
        return Approx(k * self.epsilon, delta)

    def __str__(self) -> str:
        return f"epsilon {show(self.epsilon)}, delta {show(self.delta)}"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Promise):
    """ρ-zero-concentrated differential privacy: D_α(P‖Q) <= ρα for every order α > 1 (Bun and Steinke 2016).

    With δ > 0, δ-approximate: there are events E, F of probability at least 1 - δ under P and under Q such that
    the conditioned laws satisfy D_α(P|E ‖ Q|F) <= ρα and the same the other way round (their Definition 8.1).

    >>> str(ZCDP("1/8")), ZCDP("1/8").group(2)
    ('rho 0.125', ZCDP(rho='1/2', delta=0))
    """

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        self.fill(rho=non_negative(rho, "rho"), delta=small_probability(delta))

    def implies(self, other: Self) -> bool:
        """Whether everything that other promises follows from this promise, coordinate by coordinate."""
        return self.rho <= other.rho and self.delta <= other.delta

    def group(self, k: int) -> ZCDP:
        """The promise to k units together: k²ρ (Bun and Steinke 2016, Proposition 1.9), for δ = 0 only."""
        k = integer(k, "k", at_least=1)
        if self.delta and k > 1:
            raise NotATheorem("group privacy is a theorem for zCDP with delta 0, not for approximate zCDP")
        return ZCDP(k * k * self.rho, self.delta)

    def __str__(self) -> str:
        return f"rho {show(self.rho)}" + (f", delta {show(self.delta)}" if self.delta else "")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Renyi(Promise):
    """Rényi differential privacy: D_α(P‖Q) <= ε for each pair α: ε that is given, all α > 1 (Mironov 2017).

    D_α grows with α, so a bound at one order holds at every lower one.

    >>> promise = Renyi({2: "0.5", 8: 3})
    >>> promise.epsilon(2), promise.epsilon(5), str(promise)
    (Fraction(1, 2), Fraction(3, 1), 'epsilon 0.5 at order 2, 3 at order 8')
    """

    bounds: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, bounds: Mapping[Any, Number]) -> None:
        given: object = bounds
        if not isinstance(given, Mapping) or not given:
            raise BadParameter("bounds", given, "must map at least one order to its epsilon, as in {2: 0.5}")
        pairs = {check_order(order): non_negative(epsilon, "epsilon") for order, epsilon in given.items()}
        self.fill(bounds=tuple(sorted(pairs.items())))

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders at which a bound is given, ascending."""
        return tuple(order for order, _ in self.bounds)

    def epsilon(self, order: Number) -> Fraction:
        """The least bound that holds at this order: the least one given there or above."""
        wanted = check_order(order)
        above = [epsilon for given, epsilon in self.bounds if given >= wanted]
        if not above:
            raise BadParameter("order", order, f"must be at most {show(self.orders[-1])}, the highest that is bounded")
        return min(above)

    def implies(self, other: Self) -> bool:
        """Whether every bound of other follows from this promise."""
        highest = self.orders[-1]
        return all(order <= highest and self.epsilon(order) <= epsilon for order, epsilon in other.bounds)

    def group(self, k: int) -> Renyi:
        """The promise to k units together, by doubling: D_{α/2} <= (α-1)/(α-2) D_α + D_{α-1} for each α > 2.

        This is the weak triangle inequality (Mironov 2017, Proposition 11 with p = q = 2, at order α/2) over a
        path of two steps; k is rounded up to a power of two, which repeats a step between equal inputs.
        """
        result = self
        for _ in range((integer(k, "k", at_least=1) - 1).bit_length()):
            doubled: dict[Fraction, Fraction] = {
                order / 2: (order - 1) / (order - 2) * epsilon + result.epsilon(order - 1)
                for order, epsilon in result.bounds
                if order > 2
            }
            if not doubled:
                raise NotATheorem(f"group privacy of Rényi bounds halves the order: {k} units need a higher one")
            result = Renyi(doubled)
        return result

    def __repr__(self) -> str:
        code = ", ".join(f"{_literal(order)}: {_literal(epsilon)}" for order, epsilon in self.bounds)
        return f"Renyi({{{code}}})"

    def __str__(self) -> str:
        return "epsilon " + ", ".join(f"{show(epsilon)} at order {show(order)}" for order, epsilon in self.bounds)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class GDP(Promise):
    """μ-Gaussian differential privacy: P and Q are as hard to tell apart as N(0, 1) and N(μ, 1) (Dong, Roth, Su 2022).

    The square is kept, since squares add up exactly; ``mu`` is its root, rounded up where it is irrational.

    >>> GDP(3).group(2), GDP(mu_squared=2).mu > GDP("1.414").mu, str(GDP("1/2"))
    (GDP(mu_squared=36), True, 'mu 0.5')
    """

    mu_squared: Fraction

    def __init__(self, mu: Number | None = None, *, mu_squared: Number | None = None) -> None:
        self.fill(mu_squared=square_of("mu", mu, mu_squared, non_negative))

    @property
    def mu(self) -> Fraction:
        """The parameter μ, exact or rounded up."""
        return sqrt_up(self.mu_squared)

    def implies(self, other: Self) -> bool:
        """Whether everything that other promises follows from this promise."""
        return self.mu_squared <= other.mu_squared

    def group(self, k: int) -> GDP:
        """The promise to k units together: kμ (Dong, Roth and Su 2022, Theorem 2.14)."""
        return GDP(mu_squared=integer(k, "k", at_least=1) ** 2 * self.mu_squared)

    def __str__(self) -> str:
        return f"mu {show(self.mu)}"


Measure: TypeAlias = Pure | Approx | ZCDP | Renyi | GDP
"""Any of the promises above."""


# --- reading parameters -------------------------------------------------------------------------------------------


def small_probability(delta: Number, name: str = "delta") -> Fraction:
    """The exact value, which must lie in [0, 1): a promise with δ = 1 promises nothing."""
    result = number(delta, name)
    if not 0 <= result < 1:
        raise BadParameter(name, delta, "must be at least 0 and below 1")
    return result


def check_order(order: Number) -> Fraction:
    """The exact order of a Rényi divergence, which must be above 1."""
    result = number(order, "order")
    if result <= 1:
        raise BadParameter("order", order, "must be above 1")
    return result


def square_of(
    name: str, plain: Number | None, squared: Number | None, check: Callable[[Number, str], Fraction]
) -> Fraction:
    """The exact square of a parameter that is given by itself or squared, one of the two."""
    if plain is not None and squared is None:
        return check(plain, name) ** 2
    if squared is not None and plain is None:
        return check(squared, f"{name}_squared")
    raise BadParameter(name, plain, f"must be given, or {name}_squared in its place, and not both")


def _geometric_sum_up(epsilon: Fraction, k: int) -> Fraction:
    """An upper bound of 1 + e^ε + ... + e^{(k-1)ε}."""
    if not epsilon:
        return Fraction(k)
    bits = BITS + max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length()) + k.bit_length()
    return (exp_up(k * epsilon, bits) - 1) / (exp_down(epsilon, bits) - 1)


def _literal(x: Fraction) -> str:
    return str(x) if x.denominator == 1 else repr(str(x))
