"""Sets without cycles: the running intersection property by its definition; rows exist where the order says so."""

from itertools import combinations

import pytest

from discreet.synthetic.hierarchical.cliques import by_level, in_order, largest, row_order, without_cycles

PAIRS = list(combinations(range(4), 2))


@pytest.mark.parametrize("chosen", [c for k in range(1, 7) for c in combinations(PAIRS, k)])
def test_every_graph_of_four_columns(chosen: tuple[tuple[int, int], ...]) -> None:
    found = without_cycles(chosen)
    assert all(any(set(pair) <= one for one in found) for pair in chosen)
    order = in_order(found)
    assert order is not None
    for i, (one, shared) in enumerate(order):
        before = [done for done, _ in order[:i]]
        assert shared == one & frozenset().union(*before)
        assert not i or any(shared <= done for done in before)
    edges_of_forest = len(chosen) == len({c for p in chosen for c in p}) - _parts(chosen)
    assert (found == largest(chosen)) == edges_of_forest  # pairs have no cycle exactly if they are a forest


def _parts(pairs: tuple[tuple[int, int], ...]) -> int:
    parts: list[set[int]] = []
    for pair in pairs:
        touching = [part for part in parts if part & set(pair)]
        parts = [part for part in parts if part not in touching] + [set(pair).union(*touching)]
    return len(parts)


def test_sets_below_lie_in_sets_above() -> None:
    for a in combinations(PAIRS, 3):
        for b in combinations(PAIRS, 2):
            for rows in (False, True):
                upper, lower = by_level([list(a), list(b)], rows=rows)
                assert all(any(one <= other for other in upper) for one in lower)
                assert not rows or row_order([upper, lower]) is not None


def test_a_cycle_through_places_is_seen() -> None:
    upper, lower = [frozenset({0, 2}), frozenset({1, 2})], [frozenset({0}), frozenset({1})]
    assert row_order([upper, lower]) is None
    assert row_order([[frozenset({0, 1})], [frozenset({0})]]) is not None
