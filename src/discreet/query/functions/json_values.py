r"""JSON_VALUE and ->>: a value of a flat JSON object, made of functions of text, so the same on every engine.

A text that is no flat object gives NULL: one that does not begin with {, or has a second {, a [ or a backslash. In what
is left, a key in quotes stands nowhere but as a key or as a whole value, and only a key is followed by a colon. So the
value is what follows the first "key" and colon: up to the next quote if it begins with one, else up to a comma or }.
Three times at most may the key be a value before; texts that are no JSON give some text, as SUBSTRING would.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import accumulate

from discreet.errors import Unsupported
from discreet.query.functions.record import Build, Reading, T
from discreet.query.plan.expressions import Literal

_PATH = re.compile(r"(?:\$\.)?(?:\"([\w][\w \-]*)\"|([\w][\w\-]*))|\$\['([\w][\w \-]*)'\]")
_HINT = "name one key of a flat object, as in JSON_VALUE(x, '$.key')"
_PLACES = (2, 3, 4, 5)


def _key(path: object) -> str:
    text = path.value if isinstance(path, Literal) else None
    parts = _PATH.fullmatch(text) if isinstance(text, str) and len(text) <= 100 else None
    if parts is None:
        raise Unsupported("this path into JSON", _HINT)
    return next(part for part in parts.groups() if part is not None)


def _value(apply: Build[T], x: T, path: object) -> T:
    """What stands after a key."""
    key = _key(path)
    null, mark, quote = Literal(None), Literal(f'"{key}"'), Literal('"')

    def part(text: T, separator: Literal, place: int) -> T:
        return apply("split_part", text, separator, Literal(Fraction(place)))

    def after(text: T) -> T:
        """Without the colon that it begins with: split at the key, an empty rest is a value like it."""
        rest = apply("ltrim", apply("substring", text, Literal(Fraction(2))))
        *_, plain = accumulate((Literal(end) for end in ",}\n\r"), lambda made, end: part(made, end, 1), initial=rest)
        bare = apply("nullif", apply("trim", plain), Literal("null"))
        whole = apply("eq", rest, Literal(""))
        return apply("case", whole, Literal(key), apply("starts_with", rest, quote), part(rest, quote, 2), bare)

    tests: list[T | Literal] = []
    for place in _PLACES:
        here = apply("ltrim", part(x, mark, place))
        tests += [apply("starts_with", here, Literal(":")), after(here)]
    starts = apply("starts_with", apply("ltrim", x), Literal("{"))
    nested = [apply("contains", x, Literal(sign)) for sign in ("[", "\\")]
    second = apply("ne", part(x, Literal("{"), 3), Literal(""))
    return apply("case", apply("not", starts), null, *(item for test in (*nested, second) for item in (test, null)),
                 *tests, null)  # fmt: skip


def _read(word: str, path: str) -> Reading:
    return Reading(f"{word.upper()}(x, '{path}')", "The text of a key of a flat JSON object; also x ->> 'key'.", (2, 2),
                   _value)  # fmt: skip


JSON_READINGS = {
    **{word: _read(word, "$.key") for word in ("json_value", "json_extract_scalar", "json_extract_string",
                                               "get_json_object")},
    "json_extract_path_text": _read("json_extract_path_text", "key"),
}  # fmt: skip
