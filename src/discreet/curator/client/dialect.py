"""SQLAlchemy: text queries to a curator, such as those of pandas ``read_sql``.

    engine = create_engine("discreet://curator.example/hospital?epsilon=0.1", connect_args={"token": token})
    with engine.connect() as connection:
        asked = text("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
        rows = connection.execute(asked.execution_options(epsilon="0.3", key="daily")).all()

Promise: as in dbapi.py. ``epsilon``, ``delta`` and ``key`` are execution options; a statement without a price is
refused. Addresses mean https; ``?plain=1`` is for a curator on this machine.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from discreet.curator.client import dbapi
from discreet.errors import MissingExtra

try:
    from sqlalchemy import URL
    from sqlalchemy.dialects import registry
    from sqlalchemy.engine import default
except ImportError as missing:
    raise MissingExtra("SQLAlchemy", extra="server") from missing


class DiscreetDialect(default.DefaultDialect):
    """Sends texts as they are, with the price of their execution options."""

    name = "discreet"
    driver = "discreet"
    supports_statement_cache = False
    supports_native_boolean = True
    default_paramstyle = "qmark"

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The driver."""
        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """What the driver is called with; the token is in ``connect_args``, or in DISCREET_TOKEN."""
        more = dict(url.query)
        scheme = "http" if more.pop("plain", "") else "https"
        port = "" if url.port is None else f":{url.port}"
        given: dict[str, Any] = {name: more[name] for name in ("epsilon", "delta", "dialect") if name in more}
        given |= {"url": f"{scheme}://{url.host}{port}", "token": os.environ.get("DISCREET_TOKEN", "")}
        return [], given | {"dataset": url.database or None}

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Pay for a statement and hold its answer."""
        options = {} if context is None else context.execution_options
        cursor.execute(statement, parameters, **{n: options[n] for n in ("epsilon", "delta", "key") if n in options})

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether it is open; nothing is asked."""
        return dbapi_connection.session is not None

    def initialize(self, connection: Any) -> None:
        """Nothing: every statement would cost."""


def register() -> None:
    """Let ``create_engine`` know of ``discreet://``, where the package was not installed with its entry points."""
    registry.impls["discreet"] = lambda: DiscreetDialect
