"""Log lines: time, level, request; no trace, nothing that others fill in."""

from __future__ import annotations

import json
import logging
import re
import sys

from discreet.curator.logs import REQUEST, Lines, set_up


def record(logger: str, message: str, *args: object, trace: bool = False) -> logging.LogRecord:
    try:
        raise ValueError("canary")
    except ValueError:
        info = sys.exc_info() if trace else None
    return logging.LogRecord(logger, logging.ERROR, "/secret/path.py", 7, message, args, info)


def test_a_line_has_time_level_and_request() -> None:
    before = REQUEST.set("abc")
    try:
        line = Lines(as_json=False).format(record("discreet.curator", "the engine failed: %s", "IOException"))
        found = json.loads(Lines(as_json=True).format(record("discreet.curator", "x")))
    finally:
        REQUEST.reset(before)
    assert re.fullmatch(
        r"[-0-9]{10}T[0-9:]{8}\.\d{3}\+00:00 error discreet.curator the engine failed: IOException request=abc",
        line,
    )
    assert found["request"] == "abc"


def test_traces_of_others_are_their_type_alone() -> None:
    line = Lines(as_json=True).format(record("uvicorn.error", "Exception in ASGI application\n", trace=True))
    assert json.loads(line)["message"] == "Exception in ASGI application (ValueError)"
    assert "canary" not in line
    assert "path" not in line


def test_what_others_fill_in_is_left_out() -> None:
    line = Lines(as_json=True).format(record("uvicorn.error", '%s:%d - "%s"', "203.0.113.9", 7, "GET /canary"))
    assert "canary" not in line


def test_setting_up_takes_all_loggers() -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        set_up(as_json=True)
        (handler,) = root.handlers
        assert isinstance(handler.formatter, Lines)
        assert logging.getLogger("uvicorn.access").disabled
    finally:
        root.handlers[:], root.level = before, level
        logging.getLogger("uvicorn.access").disabled = False
