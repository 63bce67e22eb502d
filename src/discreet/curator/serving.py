"""Starting the HTTP server: one process or several, with logs that hold no request and replies that tell no time."""

from __future__ import annotations

from typing import Any

from discreet.errors import MissingExtra

try:
    import uvicorn
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

APP = "discreet.curator.app:from_environment"


def options(host: str, port: int) -> dict[str, Any]:
    """How the server is set up, wherever it is started."""
    return {
        "host": host,
        "port": port,
        "server_header": False,
        "date_header": False,
        "access_log": False,
        "log_level": "warning",
        "timeout_keep_alive": 20,
        "h11_max_incomplete_event_size": 1 << 16,
        "limit_concurrency": 500,
        "proxy_headers": False,
    }


def run(host: str, port: int, processes: int = 1) -> None:
    """Serve until stopped; the environment says where curator.toml is."""
    uvicorn.run(APP, factory=True, workers=processes if processes > 1 else None, **options(host, port))
