"""Lines of CSV files that are hostile, and a reader of fields that shares no code with the engines."""

from __future__ import annotations

HOSTILE: dict[str, tuple[bytes, list[str]]] = {
    "fits": (b"7,x", ["x"]),
    "open quote": (b'7,"x', []),
    "open quote at the end": (b'7,x"', []),
    "stray quote": (b'7,a"b', []),
    "text after quotes": (b'7,"a"b', []),
    "three quotes": (b'7,"a"b"', []),
    "only quotes": (b'7,""""', ['"']),
    "line break in quotes": (b'7,"a\nb"', []),
    "line break and a row in quotes": (b'7,"a\n8,b"', []),
    "too many": (b"7,a,b", []),
    "too few": (b"7", []),
    "nothing": (b"", []),
    "many empty lines": (b"\n" * 5000, []),
    "no UTF-8": (b"7,\xff\xfe", []),
    "half a character": (b"7,\xe2\x82", []),
    "zero": (b"7,a\0b", ["a\0b"]),
    "separator of ours": (b"7,a\x1fb", ["a"]),
    "separator of ours before the delimiter": (b"7\x1f,a", []),
    "old Mac": (b"7,a\rb", ["a"]),
    "comment": (b"#7,a", ["a"]),
    "long": (b"7," + b"x" * (3 << 20), []),
    "long and quoted": (b'7,"' + b"x" * (3 << 20), []),
    "longer than a buffer": (b"7," + b"x" * (40 << 20), []),
    "many quotes": (b'7,"' + b'""' * 100_000 + b'"', ['"' * 100_000]),
    "many commas": (b"7" + b"," * 100_000, []),
}
"""Lines, and which texts of the second column are read of each, beside the first."""


def fields_by_hand(line: str) -> list[str | None] | None:
    """RFC 4180, one character after the other; None where a line breaks its rules."""
    fields: list[str | None] = []
    rest = line
    while True:
        if rest.startswith('"'):
            text, rest = "", rest[1:]
            while True:
                before, quote, rest = rest.partition('"')
                if not quote:
                    return None
                text += before
                if not rest.startswith('"'):
                    break
                text, rest = f'{text}"', rest[1:]
            fields.append(text)
        else:
            end = rest.find(",") if "," in rest else len(rest)
            if '"' in rest[:end]:
                return None
            fields.append(rest[:end] or None)
            rest = rest[end:]
        if not rest:
            return fields
        if not rest.startswith(","):
            return None
        rest = rest[1:]
