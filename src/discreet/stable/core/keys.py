"""Public keys: a list that the caller writes down, the same whatever the data hold.

Promise: no key comes from data. A row belongs to the key that its value equals in Python, or to none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from discreet.errors import BadParameter
from discreet.mechanisms.base.inputs import can_be_looked_up
from discreet.stable.core.total import attempt


def check_keys(keys: Sequence[Hashable], name: str = "keys") -> tuple[Hashable, ...]:
    """The keys, which must be some, and all different.

    >>> check_keys(["a", "b"])
    ('a', 'b')
    """
    given: object = keys
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (list, tuple, range)) or not given:
        raise BadParameter(name, given, "must be a list of public values, at least one")
    for key in given:
        if not attempt(can_be_looked_up, key, False):
            raise BadParameter(name, "a list with a key that equals nothing", "must hold keys that can be looked up")
    if len(set(given)) != len(given):
        raise BadParameter(name, given, "must be all different (1, 1.0 and True are one key in Python)")
    return tuple(given)
