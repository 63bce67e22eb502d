"""The header of a CSV file, which is all that is looked at before a query is paid for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from discreet.engines.csv_lines import LONGEST_HEADER, Header, parse_header, read_header
from discreet.errors import BadData


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (b"a,b;c\n", Header(",", ("a", "b;c"))),
        (b"a;b\r\n", Header(";", ("a", "b"))),
        (b"a\tb", Header("\t", ("a", "b"))),
        (b"a|b", Header("|", ("a", "b"))),
        (b'"a,b";c', Header(";", ("a,b", "c"))),
        (b'"say ""x""",c', Header(",", ('say "x"', "c"))),
        (b"\xef\xbb\xbfa,b", Header(",", ("a", "b"))),
        (b"alone", Header(",", ("alone",))),
    ],
)
def test_headers(line: bytes, right: Header) -> None:
    assert parse_header(line, "t.csv") == right


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"a,\n", b"a,A", b"\xff,b", b'a,"b', b"a,b\0", b"a\rb,c", b"a,b\x1fc", b"a" * LONGEST_HEADER],
)
def test_what_is_no_header_is_refused(line: bytes) -> None:
    with pytest.raises(BadData, match="first line"):
        parse_header(line, "t.csv")


def test_nothing_but_the_first_line_is_read(tmp_path: Path) -> None:
    """Bytes that no reader could decode follow."""
    (tmp_path / "a.tsv").write_bytes(b"u\tv,w\n\xff\xff")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"u,v\n\xff"))
    assert read_header(str(tmp_path / "a.tsv")) == Header("\t", ("u", "v,w"))
    assert read_header(str(tmp_path / "b.csv.gz")).names == ("u", "v")
    for name, held in (("c.csv.gz", b"u,v\n"), ("d.csv.zst", b"u,v\n")):
        (tmp_path / name).write_bytes(held)
        with pytest.raises(BadData, match="can be read"):
            read_header(str(tmp_path / name))
