"""``check``: hold a claim against every small neighbour, exactly.

Promise: what is refuted is false, with a counterexample that anyone can follow by hand. What is not refuted was tried
as far as the report says, and no further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.checking.exact.calling import needs_bits
from discreet.checking.exact.interactive import Interactive, check_interactive
from discreet.checking.exact.outputs import additive_in, pair_of
from discreet.checking.exact.privacy_claims import Claim, at_one_step, check_pairs, check_rows, natural_pairs, of_bits
from discreet.checking.exact.queries import check_query
from discreet.checking.exact.report import Report, joined
from discreet.checking.exact.roles import ClaimsPrivacy, DrawsOfRows, HasMap
from discreet.checking.exact.small_data import space_for
from discreet.checking.exact.stability_claims import StableLike, check_stability, check_stability_pairs, name_of
from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.session.query import Query
from discreet.stable.core.domains import Rows
from discreet.stable.core.metrics import ADD_REMOVE, Relation, as_metric

Values = Iterable[Any] | None
Columns = Mapping[str, Sequence[Any]] | None

MOST_PAIRS = 20_000
SEARCHES = 500
SECONDS = 5.0
"""A query is tried for so long, unless it is said on how many tables."""


def check(
    thing: Any,
    *,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    claim: Claim | None = None,
    values: Values = None,
    columns: Columns = None,
    neighbours: Relation = None,
    rows: int = 3,
    most_pairs: int = MOST_PAIRS,
    searches: int | None = None,
    depth: int | None = None,
) -> Report:
    """Hold what a thing claims of itself against small neighbours, exactly.

    - a stable map: its stability, on all data of up to ``rows`` rows of ``values`` (or of all combinations of
      ``columns``; by default, rows that have broken such systems) and all their neighbours, then on random larger data;
      or on ``pairs`` of inputs of any kind that its metrics can measure;
    - a release (a map, then a mechanism): the stability of its map, and both output laws against every price;
    - a mechanism: both output laws on ``pairs`` of neighbouring inputs; on rows where ``values`` are given;
    - a function of data and bits: every bit path of at most ``depth`` bits on ``pairs``, against ``claim``;
    - an ``Interactive`` mechanism: every strategy of a few moves on ``pairs``, against ``claim``;
    - a query of a session: its exact aggregates on ``searches`` made-up tables (unless said: as many as five seconds
      allow) with and without each unit, on the session's own engine, against the noise that was planned
      (``check_query`` has more options).

    ``claim``, an event or a promise such as ``Pure(1)``, takes the place of the thing's own.

    >>> from discreet import stable
    >>> check(stable.count(), rows=2).ok
    True
    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> from discreet.privacy.promises.measures import Pure
    >>> print(check(laplace(sensitivity=1, epsilon=1), claim=Pure("0.9")))
    refuted: Laplace: discrete Laplace noise of scale 1
      claimed: epsilon 0.9
      tried:   1 pairs; the pairs that were given, both ways
      counterexample: 0
        and 1
        are 1 apart; claimed epsilon 0.9; refuted: the exact input of the noise moves by 1 in L1, which costs epsilon 1
    """
    rows, most_pairs = integer(rows, "rows", at_least=0), integer(most_pairs, "most_pairs", at_least=1)
    wanted = SEARCHES if searches is None else integer(searches, "searches", at_least=0)
    effort: dict[str, Any] = {"rows": rows, "most_pairs": most_pairs, "searches": wanted}
    if isinstance(thing, Interactive):
        if pairs is None or claim is None:
            name, given = ("pairs", pairs) if pairs is None else ("claim", claim)
            raise BadParameter(
                name, given, "must be given for an interactive mechanism: check(m, pairs=..., claim=...)"
            )
        return check_interactive(thing, pairs, claim)
    if isinstance(thing, StableLike):
        if pairs is not None:
            return check_stability_pairs(thing, pairs)
        return check_stability(thing, _space(thing, values, columns, neighbours), **effort)
    if isinstance(thing, DrawsOfRows):
        return _check_release(thing, values, columns, neighbours, claim, depth, effort)
    if isinstance(thing, ClaimsPrivacy):
        return _check_mechanism(thing, pairs, values, columns, neighbours, claim, depth, effort)
    if isinstance(thing, Query):
        return check_query(thing, tables=wanted, seconds=SECONDS if searches is None else None)
    if callable(thing):
        return _check_function(thing, pairs, claim, depth)
    raise BadParameter(
        "thing",
        thing,
        "must be a stable map, a release, a mechanism, an interactive one, a query or a function of bits",
    )


def check_all(things: Mapping[str, Any] | Iterable[Any], **options: Any) -> Report:
    """Several checks as one report.

    >>> from discreet import stable
    >>> check_all([stable.count(), stable.count_by(["a"])], rows=1).ok
    True
    """
    listed = things.values() if isinstance(things, Mapping) else things
    return joined("all together", [check(thing, **options) for thing in listed])


def _space(thing: Any, values: Values, columns: Columns, neighbours: Relation) -> Any:
    metric = as_metric(neighbours) or thing.input_metric
    return space_for(getattr(thing, "input_domain", Rows()), metric, values=values, columns=columns)


def _check_release(  # noqa: PLR0917 - the options of ``check``, passed on
    thing: Any,
    values: Values,
    columns: Columns,
    neighbours: Relation,
    claim: Claim | None,
    depth: int | None,
    effort: dict[str, Any],
) -> Report:
    space = _space(thing, values, columns, neighbours)
    parts = []
    if isinstance(thing, HasMap) and isinstance(thing.map, StableLike):
        parts.append(check_stability(thing.map, space, **effort))
    event_at = thing.event if claim is None else at_one_step(claim)
    laws = {**effort, "most_pairs": min(effort["most_pairs"], 2000), "searches": min(effort["searches"], 100)}
    parts.append(check_rows(thing, space, event_at, depth=depth, **laws))
    return joined(name_of(thing), parts) if len(parts) > 1 else parts[0]


def _check_mechanism(  # noqa: PLR0917 - the options of ``check``, passed on
    thing: Any,
    pairs: Iterable[tuple[Any, Any]] | None,
    values: Values,
    columns: Columns,
    neighbours: Relation,
    claim: Claim | None,
    depth: int | None,
    effort: dict[str, Any],
) -> Report:
    promised = thing.event if claim is None else claim
    if values is not None or columns is not None:
        if pairs is not None:
            raise BadParameter("pairs", "given", "must be left out when values or columns are given")
        relation = as_metric(neighbours if neighbours is not None else getattr(thing, "neighbours", None)) or ADD_REMOVE
        space = space_for(Rows(), relation, values=values, columns=columns)
        return check_rows(thing, space, at_one_step(promised), depth=depth, **{**effort, "searches": 0})
    if pairs is None:
        if additive_in(thing) is not thing or getattr(thing, "exponent", None) is not None:
            raise BadParameter("pairs", None, "must be given: pairs of neighbouring inputs, or values= to make rows")
        pairs = natural_pairs(thing)
    return check_pairs(
        lambda a, b: pair_of(thing, a, b, depth=depth, largest_scale=64), pairs, promised, subject=name_of(thing)
    )


def _check_function(
    thing: Any, pairs: Iterable[tuple[Any, Any]] | None, claim: Claim | None, depth: int | None
) -> Report:
    if pairs is None or claim is None:
        name, given = ("pairs", pairs) if pairs is None else ("claim", claim)
        raise BadParameter(name, given, "must be given for a function: check(f, pairs=..., claim=...)")
    needs_bits(thing)
    return check_pairs(of_bits(thing, depth if depth is not None else 24), pairs, claim, subject=name_of(thing))
