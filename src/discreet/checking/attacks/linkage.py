"""Linkage (Sweeney 1997): medical records without names, joined with a public list that has them.

Both tables are made up. Records keep postal code, date of birth and sex; so does the list of voters. Whoever is alone
with these three is found, and so is the secret of their record. That is how the record of the governor of
Massachusetts was found. Coarser codes make fewer people alone, and promise nothing; a table of counts with noise does:
whoever sees it guesses a fair secret bit with probability at most e^ε/(1 + e^ε), whatever list they hold beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.checking.attacks.guessing import most_guessed
from discreet.checking.attacks.table import AttackTable, Row
from discreet.exact import Number, integer, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.randomness import SystemBits, words

_CODES, _DAYS = 20, 80 * 365


def linkage(*, people: int = 2000, epsilon: Number = 1) -> AttackTable:
    """The secret bit of each of ``people`` voters, from records that are joined by postal code, birthday and sex.

    >>> table = linkage(people=500)
    >>> table.row("names").success > 0.95, table.row("counts").success < 0.85
    (True, True)
    """
    n = integer(people, "people", at_least=8)
    total = positive(epsilon, "epsilon")
    codes, days, sexes, secret = (_draw(n, below) for below in (_CODES, _DAYS, 2, 2))
    fine = (codes * _DAYS + days) * 2 + sexes  # what both tables hold
    coarse = (codes // 5 * 8 + days // (10 * 365)) * 2 + sexes
    noisy = laplace(sensitivity=2, epsilon=total)  # a changed bit moves two counts of the table

    def recovered(keys: Integers, noise: bool) -> float:
        """Each voter is looked up by the key, and guessed to be what most records with it are."""
        cells, place = np.unique(keys, return_inverse=True)
        counts = np.zeros((len(cells), 2), dtype=np.int64)
        np.add.at(counts, (place, secret), 1)
        if noise:
            counts = counts + np.reshape(noisy.noise(counts.size, SystemBits()), counts.shape)
        more = np.sign(counts[:, 1] - counts[:, 0])
        guess = np.where(more == 0, _draw(len(cells), 2), more > 0)
        return float(np.mean(guess[place] == secret))

    alone = float(np.mean(np.unique(fine, return_counts=True)[1] == 1))
    return AttackTable(
        "linkage",
        f"share of {n} secret bits found by joining two tables",
        (
            Row("names taken away; postal code, birthday and sex kept", recovered(fine, noise=False)),
            Row("postal codes and birthdays made coarse", recovered(coarse, noise=False)),
            Row(
                f"counts by all three, with noise of epsilon {total}",
                recovered(fine, noise=True),
                most_guessed(float(total)),
            ),
        ),
        f"{alone:.0%} of the combinations that occur have one person. Half of the bits are found by guessing.",
    )


def _draw(count: int, below: int) -> Integers:
    """Numbers below a bound; the bias of 64 bits is far below what is measured."""
    drawn: NDArray[Any] = words(SystemBits(), count, np.uint64)
    return (drawn % np.uint64(below)).astype(np.int64)
