"""People beside analysts who have a name here: owners, stewards and auditors, and what each of them oversees.

Promise: a name is for one person, for good; what was recorded last of them holds at once, on every server, whatever a
token said when it was issued. Whoever left is nobody from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from discreet.curator.service.declarations import read_name
from discreet.errors import BadParameter, LedgerMismatch, NotRegistered
from discreet.ledger.entries import Broken
from discreet.ledger.owner_acts import check_reason, find_population
from discreet.ledger.record_base import Record
from discreet.ledger.state import Act, State
from discreet.ledger.store import Ledger

OWNER = "owner"
"""The name under which the first owner's acts are recorded."""
MONITOR = "monitor"
R = TypeVar("R", bound=Record)


class Role(Enum):
    """What somebody may be."""

    OWNER = "owner"
    STEWARD = "steward"
    """Decides who may ask, and up to which limit."""
    ANALYST = "analyst"
    AUDITOR = "auditor"
    """Reads what was spent and by whom, and checks it."""
    MONITOR = "monitor"
    """A program that reads the counters, and nothing else."""


NAMED = (Role.OWNER, Role.STEWARD, Role.AUDITOR)
"""The roles that a person here may have; analysts are in the ledger themselves."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, and what they oversee."""

    name: str
    role: Role
    populations: frozenset[str] | None
    """Whose data; None for the whole service."""
    reads_answers: bool
    """Whether they see answers, too: owners always, auditors if an owner allows it."""
    left: bool = False


@dataclass(frozen=True, slots=True)
class PersonRecord(Record):
    """Adds a person, or changes what they are."""

    KIND = "access.person"
    person: str
    role: str
    populations: tuple[str, ...] | None
    reads_answers: bool


@dataclass(frozen=True, slots=True)
class PersonLeftRecord(Record):
    """A person has left."""

    KIND = "access.left"
    person: str
    reason: str


def people_of(state: State) -> Mapping[str, Person]:
    """All people by their names, as the ledger has them."""
    people: dict[str, Person] = {}
    for act in state.acts.get(PersonRecord.KIND, ()):
        person = _person(act)
        people[person.name] = person
    for act in state.acts.get(PersonLeftRecord.KIND, ()):
        name = read_act(PersonLeftRecord, act).person
        people[name] = replace(people[name], left=True)
    return people


class Staff:
    """The people of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def all(self) -> Mapping[str, Person]:
        """All of them by their names, those who left too."""
        return people_of(self._ledger.look())

    def add(
        self, name: str, role: Role, populations: Iterable[str] | None, *, reads_answers: bool = False, by: str
    ) -> int:
        """Add a person; the number of the entry. ``populations`` is whom they oversee, None for the whole service."""
        person = self._checked(read_name(name, "name"), role, populations, reads_answers)

        def check(state: State) -> None:
            check_free(state, name)
            _check_populations(state, person)

        return self._record(person, by, check)

    def change(
        self, name: str, role: Role, populations: Iterable[str] | None, *, reads_answers: bool = False, by: str
    ) -> int:
        """Give a person another role or other populations, from now on and on all servers."""
        person = self._checked(name, role, populations, reads_answers)

        def check(state: State) -> None:
            find_person(state, name)
            _check_populations(state, person)

        return self._record(person, by, check)

    def leave(self, name: str, *, reason: str, by: str) -> int:
        """Take a person's role away for good: none of their tokens is valid from now on."""
        record = PersonLeftRecord(name, check_reason(reason))
        owner = self._ledger.owner
        return owner.record(record.kind, record.body(), by=by, check=lambda state: find_person(state, name)).sequence

    def _record(self, person: PersonRecord, by: str, check: Callable[[State], None]) -> int:
        return self._ledger.owner.record(person.kind, person.body(), by=by, check=check).sequence

    @staticmethod
    def _checked(name: str, role: Role, populations: Iterable[str] | None, reads_answers: bool) -> PersonRecord:
        if role not in NAMED:
            raise BadParameter("role", role.value, f"must be one of {', '.join(role.value for role in NAMED)}")
        if reads_answers and role is Role.STEWARD:
            raise BadParameter("reads_answers", True, "must be left out: a steward sees what is spent, and no answer")
        chosen = None if populations is None else tuple(sorted(set(populations)))
        if chosen == ():
            raise BadParameter("populations", [], "must name one, or be left out for all of them")
        return PersonRecord(name, role.value, chosen, reads_answers or role is Role.OWNER)


def check_free(state: State, name: str) -> None:
    """Refuse a name that somebody has or had."""
    if name.casefold() in (OWNER, MONITOR) or name in state.analysts or name in people_of(state):
        raise BadParameter("name", name, "must be new: a name is for one person, for good")


def find_person(state: State, name: str) -> Person:
    """The person of this name who has not left."""
    person = people_of(state).get(name)
    if person is None or person.left:
        raise NotRegistered("there is no such person")
    return person


def _check_populations(state: State, person: PersonRecord) -> None:
    for name in person.populations or ():
        find_population(state, name)


def _person(act: Act) -> Person:
    record = read_act(PersonRecord, act)
    populations = None if record.populations is None else frozenset(record.populations)
    return Person(record.person, Role(record.role), populations, record.reads_answers)


def read_act(kind: type[R], act: Act) -> R:
    """What an act of this kind says."""
    try:
        return kind.from_body(act.body)
    except Broken as wrong:
        raise LedgerMismatch(f"entry {act.sequence} is bad: {wrong}; {wrong.advice}") from None
