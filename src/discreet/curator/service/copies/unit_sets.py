"""Fingerprints of unit sets: whether a new data set is about people who have a budget already.

Promise: when a data set is registered under a population, its units are compared with those of every data set under
another population; if at least half of the units of either are those of the other, or if they cannot be compared, that
takes the owner's recorded decision (AlreadyProtected without one, and nothing is recorded). So the same people in
another encoding (gzip, CSV, a column or a row less) or on another server are noticed, which marks of files cannot
recognise.
What is kept are at most ``MOST`` units of a data set, each as a hash under the ledger's key: nobody without the key
file can test a guess, and only the owner reads it. No question and no price depends on it.
What it cannot see: units that are written differently (1 and "0001", names and numbers), a ledger whose key was
replaced since, data that grew after they were registered, and another curator's ledger. Units that are merely numbered
alike (1, 2, 3, ...) look the same; the decision then says so.

Units are chosen by an unkeyed hash, the smallest ones: a sample of the same units from either set. Of two sets, those
units are compared whose hash begins with so many zeros that both samples have all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.curator.error_replies import log
from discreet.errors import AlreadyProtected, DiscreetError
from discreet.ledger.state import State
from discreet.ledger.store import Ledger

KIND = "curator.units"
MOST = 256
_BITS = 128
_HALF = 50


@dataclass(frozen=True, slots=True)
class UnitSet:
    """A sample of the units of a data set: hidden hashes, each with the zeros that its hash begins with."""

    units: dict[str, int]
    all_from: int
    """Every unit whose hash begins with so many zeros is in the sample."""

    @classmethod
    def of(cls, hashes: Sequence[str], ledger: Ledger) -> UnitSet:
        """The sample that the smallest hashes of a data set make."""
        zeros = {ledger.owner.hidden(f"unit {digest}")[:16]: _BITS - int(digest, 16).bit_length() for digest in hashes}
        return cls(zeros, min(zeros.values()) + 1 if len(hashes) >= MOST else 0)

    def shared(self, other: UnitSet) -> int:
        """How many of a hundred units of the smaller set are in the other one.

        >>> some, all_of_them = UnitSet({"a": 3, "b": 1, "c": 0}, 0), UnitSet({"a": 3, "b": 1}, 1)
        >>> some.shared(all_of_them)
        100
        """
        start = max(self.all_from, other.all_from)
        mine, theirs = ({name for name, zeros in units.units.items() if zeros >= start} for units in (self, other))
        return 100 * len(mine & theirs) // max(1, min(len(mine), len(theirs)))


def check_units(ledger: Ledger, dataset: str, population: str, hashes: Iterable[str]) -> None:
    """AlreadyProtected if the units of a data set are those of another population.

    ``hashes`` are the smallest hashes of units; ``MOST`` of them are compared.
    """
    like = _like(ledger, dataset, population, UnitSet.of(sorted(hashes)[:MOST], ledger))
    if like:
        raise AlreadyProtected(
            f"about {like[0]['percent']} % of the units of {dataset!r} or of {like[0]['dataset']!r} are units of the "
            f"other, whose people have the budget of {like[0]['population']!r}: register it there, or give a decision "
            "that says why they have a second one (such as: other people, who are numbered alike)"
        )


def keep_units(ledger: Ledger, dataset: str, population: str, hashes: Iterable[str], *, decided: bool, by: str) -> None:
    """Record the units of a data set, and whose units of other populations they are: by the owner's decision or not."""
    own = UnitSet.of(sorted(hashes)[:MOST], ledger)
    like = _like(ledger, dataset, population, own)
    body = {
        "dataset": dataset,
        "population": population,
        "key": ledger.public_key,
        "all_from": own.all_from,
        "units": [[name, zeros] for name, zeros in sorted(own.units.items())],
        "like": [] if decided else like,
        "decided": sorted({alike["population"] for alike in like}) if decided else [],
    }
    ledger.owner.record(KIND, body, by=by)


def _like(ledger: Ledger, dataset: str, population: str, own: UnitSet) -> list[dict[str, Any]]:
    """The data sets of other populations whose units these are, but for populations that the owner decided about."""
    state = ledger.look()
    decided = _decided(state)
    like = []
    for name, other in _latest(state, ledger.public_key).items():
        dataset_there = state.datasets.get(name)
        if dataset_there is None or name == dataset or {dataset_there.population, population} in decided:
            continue
        share = own.shared(other)
        if share >= _HALF:
            like.append({"dataset": name, "population": dataset_there.population, "percent": share})
    return like


def unit_cautions(state: State) -> list[str]:
    """What was found when the data sets were registered that are still asked."""
    latest = {str(act.body["dataset"]): act.body["like"] for act in state.acts.get(KIND, ())}

    def is_asked_for(name: str) -> bool:
        return name in state.datasets and not state.datasets[name].retired

    return [
        _caution(name, alike)
        for name, like in latest.items()
        for alike in like
        if is_asked_for(name)
        and is_asked_for(alike["dataset"])
        and state.datasets[name].population != alike["population"]
    ]


def smallest_of(
    ledger: Ledger, dataset: str, population: str, tables: Iterable[Callable[[], list[str]]], *, decided: bool
) -> set[str]:
    """The hashes that an engine finds in each table.

    If it cannot, nothing is known of these people: AlreadyProtected where others have a budget, unless the owner
    decided, so that no failing engine opens a second one.
    """
    try:
        return {digest for hashes in tables for digest in hashes()}
    except DiscreetError as error:
        log.error("the units of %s were not compared with those of others: %s", dataset, type(error).__name__)
        if not decided and any(other.population != population for other in ledger.look().datasets.values()):
            raise AlreadyProtected(
                f"the units of {dataset!r} could not be compared with those of other data sets, so they may have a "
                "budget already: try again, or give a decision that says why they have one of their own"
            ) from None
        return set()


def _latest(state: State, key: str) -> dict[str, UnitSet]:
    """By data set: its units as they were registered last, where they were hidden under the key of today."""
    return {
        str(act.body["dataset"]): UnitSet(dict(act.body["units"]), act.body["all_from"])
        for act in state.acts.get(KIND, ())
        if act.body["key"] == key
    }


def _decided(state: State) -> list[set[str]]:
    """Pairs of populations that may share units, as the owner knows; each with itself, too."""
    acts = [act.body for act in state.acts.get(KIND, ())]
    return [
        *({name} for name in state.populations),
        *({body["population"], other} for body in acts for other in body.get("decided", ())),
    ]


def _caution(dataset: str, like: dict[str, Any]) -> str:
    return (
        f"about {like['percent']} % of the units of {dataset!r} or of {like['dataset']!r} are units of the other: if "
        f"they are the same people, they have two budgets. Register {dataset!r} under {like['population']!r}, or leave "
        "it so if they are only numbered alike"
    )
