"""Logs of the service: each line has its time, its level and the request that it belongs to; as text or as JSON.

Promise: no line holds the body or the query of a request, a token, a value of the data, or the message and the places
of an error that is not ours: of those only the type is kept. How long an answer took is in no line.
"""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

REQUEST: ContextVar[str] = ContextVar("discreet.request", default="")
"""The identity of the request that is being answered."""
_OWN = "discreet"


class Lines(logging.Formatter):
    """One line for each record.

    >>> record = logging.LogRecord("discreet.curator", logging.INFO, "", 0, "started", (), None)
    >>> line = Lines(as_json=True).format(record)
    >>> sorted(json.loads(line))
    ['level', 'logger', 'message', 'time']
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The record, without traces."""
        message = record.getMessage() if record.name.startswith(_OWN) else _first_line(record)
        failed = record.exc_info[0] if record.exc_info else None
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message if failed is None else f"{message} ({failed.__name__})",
        }
        if REQUEST.get():
            fields["request"] = REQUEST.get()
        fields |= getattr(record, "fields", {})
        if self._as_json:
            return json.dumps(fields)
        time, level, logger, text = (fields.pop(name) for name in ("time", "level", "logger", "message"))
        return f"{time} {level} {logger} {text}" + "".join(f" {name}={value}" for name, value in fields.items())


def _first_line(record: logging.LogRecord) -> str:
    """What others say: their own constant text, without what they fill in, which may come from a request."""
    return str(record.msg).partition("\n")[0].partition("%")[0].strip()[:200]


def set_up(*, as_json: bool = False, level: int = logging.INFO) -> None:
    """Send all logs of this process to standard error, in our form."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines(as_json=as_json))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(_OWN).setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True
