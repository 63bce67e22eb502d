"""``python -m tools.site`` builds the site; with ``serve``, it is then shown at http://127.0.0.1:8000."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from tools.site.absent import stand_in
from tools.site.build import build
from tools.site.check import problems

PORT = 8000


def main(words: list[str]) -> int:
    """Build, check, and serve if asked to."""
    stand_in()
    site = build()
    found = problems(site)
    print("\n".join([*found, f"{site}/index.html"]))
    if found:
        return 1
    if words == ["serve"]:
        print(f"http://127.0.0.1:{PORT} until Ctrl-C")
        ThreadingHTTPServer(("127.0.0.1", PORT), partial(SimpleHTTPRequestHandler, directory=site)).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
