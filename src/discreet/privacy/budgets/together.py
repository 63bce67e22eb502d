"""Which charges may be added up: all stated for one relation between neighbours, at most one from biased bits.

Promise: a charge that names another relation than those before it is refused, and so is a second one from biased bits.
A promise, and an event that names no relation, is taken to be about the relation of the budget.

Why not add them: a histogram that costs 1/2 when a row is added costs 1 when a row is changed. Beside another 1/2 that
is stated for changed rows, the sum for changed rows is 3/2, and it is 1 for no relation. A price for added rows can be
restated for changed ones (``restate``: 2ε, 4ρ), and then be added. Nothing leads back.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import NotATheorem
from discreet.privacy.promises.events.base import NO_WEAK_SUM, Event, stated_for, weak_releases
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import RelationName, relation_text


@dataclass(frozen=True, slots=True)
class Together:
    """What the charges so far have in common.

    >>> from discreet.privacy.promises.events import Parallel, Pure
    >>> from discreet.privacy.promises.neighbours import Neighbours
    >>> Together(Neighbours.CHANGE_ONE).plus(Parallel([Pure(1)]))
    Traceback (most recent call last):
        ...
    discreet.errors.NotATheorem: this price is stated for the neighbours 'add or remove one unit', and the ...
    """

    neighbours: RelationName | None = None
    """The relation that all are stated for, as far as they name one."""
    weak: bool = False
    """Whether one of them is a release from biased bits."""

    def plus(self, what: Event | Measure) -> Together:
        """These and one more, or NotATheorem."""
        if not isinstance(what, Event):
            return self
        biased = bool(weak_releases(what))
        if self.weak and biased:
            raise NotATheorem(NO_WEAK_SUM)
        return Together(self.held_for(stated_for(what)).neighbours, self.weak or biased)

    def held_for(self, named: RelationName | None) -> Together:
        """The same, for a relation; refused if they are stated for another."""
        if named is not None and self.neighbours is not None and named != self.neighbours:
            raise NotATheorem(
                f"this price is stated for the neighbours {relation_text(named)!r}, and the budget is held for "
                f"{relation_text(self.neighbours)!r}: their sum would hold for neither; restate the price, or open "
                "another budget"
            )
        return Together(self.neighbours or named, self.weak)
