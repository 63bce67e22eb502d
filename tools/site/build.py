"""From the staged pages to HTML: zensical renders them; what it would load from elsewhere is replaced by files of ours.

Promise: the site needs no network, neither while it is built nor while it is read, and no server: opened as files it is
the same, search included.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.site import search_index
from tools.site.navigation import Entry, navigation
from tools.site.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
OUT = ROOT / "out" / "docs"
FOREIGN = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
SHIM = "assets/worker.js"


def build(out: Path = OUT) -> Path:
    """The folder of the finished site."""
    shutil.rmtree(out, ignore_errors=True)
    stage = Stage(out / "pages")
    stage.fill()
    (out / "zensical.toml").write_text(configuration())
    command = [sys.executable, "-m", "zensical", "build", "--config-file", str(out / "zensical.toml")]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    site = out / "site"
    make_offline(site)
    search_index.rewrite(site)
    return site


def configuration() -> str:
    """zensical.toml: how the site looks, and its navigation."""
    text = (HERE / "zensical.toml").read_text()
    return text.replace("nav = []", f"nav = {_written(navigation())}")


def _written(entries: list[Entry]) -> str:
    parts = []
    for entry in entries:
        if isinstance(entry, str):
            parts.append(json.dumps(re.sub(r"README\.md$", "index.md", entry)))
        else:
            parts.append(f"{{{json.dumps(entry[0])} = {_written(entry[1])}}}")
    return f"[{', '.join(parts)}]"


def make_offline(site: Path) -> None:
    """Replace the one script that would be loaded from elsewhere: the one that lets search run without a server."""
    (site / "404.html").unlink()  # it is for servers, and knows no folder but their root
    shutil.copyfile(HERE / "worker.js", site / SHIM)
    for path in site.rglob("*.html"):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        path.write_text(FOREIGN.sub(f'<script src="{up}{SHIM}"></script>', path.read_text()))
