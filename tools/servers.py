"""The real parts that tests talk to: PostgreSQL, MariaDB, Java for Spark, Chromium with its driver, nginx.

``python -m tools.servers`` installs from Debian's packages what is missing, and nothing else. Where it cannot (no
apt-get, not root, no network) it says so in one line and ends well: the tests that need the part then fail, by name.
Tests ask ``find`` where a part is. The accessibility checker axe-core comes from the npm registry.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17  # what Spark 4 asks for
APT = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600")
# Read by Debian's postgresql-common: a new server package makes and starts no cluster of its own.
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/discreet-tests.conf")

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"


class Missing(Exception):
    """A part that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Part:
    """A program from outside: what it is, where it is looked for, which Debian packages bring it."""

    name: str
    look: Callable[[], Path | None]
    packages: tuple[str, ...]


def _postgres() -> Path | None:
    """The folder of initdb and postgres; Debian keeps it out of the PATH."""
    homes = [program.parent for program in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    elsewhere = shutil.which("postgres")
    return max(homes, key=lambda home: float(home.parent.name), default=Path(elsewhere).parent if elsewhere else None)


def _mariadb() -> Path | None:
    """The server itself; Debian keeps it where only root's PATH leads."""
    elsewhere = shutil.which("mariadbd")
    return next((path for path in (Path("/usr/sbin/mariadbd"), Path(elsewhere or "")) if path.is_file()), None)


def _nginx() -> Path | None:
    """The server; Debian keeps it where only root's PATH leads."""
    elsewhere = shutil.which("nginx")
    return next((path for path in (Path("/usr/sbin/nginx"), Path(elsewhere or "")) if path.is_file()), None)


def _java() -> Path | None:
    """The first JAVA_HOME that is new enough."""
    on_path = shutil.which("java")
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += [Path(on_path).resolve().parent.parent] if on_path else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    return next((home for home in homes if (home / "bin/java").exists() and _java_version(home) >= OLDEST_JAVA), None)


def _java_version(home: Path) -> int:
    release = home / "release"
    found = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.MULTILINE) if release.exists() else None
    return int(found[1]) if found else 0


def _program(name: str) -> Callable[[], Path | None]:
    def look() -> Path | None:
        path = shutil.which(name)
        return Path(path) if path else None

    return look


POSTGRES = Part("PostgreSQL", _postgres, ("postgresql",))
MARIADB = Part("MariaDB", _mariadb, ("mariadb-server-core",))
JAVA = Part(f"Java {OLDEST_JAVA} or newer", _java, ("default-jre-headless",))
CHROMIUM = Part("Chromium", _program("chromium"), ("chromium",))
CHROMEDRIVER = Part("ChromeDriver", _program("chromedriver"), ("chromium-driver",))
NGINX = Part("nginx", _nginx, ("nginx-light",))
NPM = Part("npm", _program("npm"), ("npm",))
PARTS = (POSTGRES, MARIADB, JAVA, CHROMIUM, CHROMEDRIVER, NGINX, NPM)


def find(part: Part) -> Path:
    """Where a part is; raises ``Missing`` if it is not there."""
    place = part.look()
    if place is None:
        packages = " ".join(part.packages)
        raise Missing(f"{part.name} is not on this machine; on Debian, `make setup` as root installs it ({packages})")
    return place


def obstacle(missing: Sequence[Part], *, apt: bool, root: bool) -> str | None:
    """Why the missing parts cannot be installed here, in one line; None if nothing stands in the way."""
    if not missing or (apt and root):
        return None
    why = "no apt-get to install it with" if not apt else "only root may install it"
    return f"no {_names(missing)}, and {why}: install it yourself, or the tests that need it will fail"


def _names(parts: Sequence[Part]) -> str:
    return ", ".join(part.name for part in parts)


def install(missing: Sequence[Part]) -> str | None:
    """Install the parts from Debian's packages; what went wrong, in one line, or None."""
    packages = [package for part in missing for package in part.packages]
    add = (*APT, "install", "-y", "--no-install-recommends", *packages)
    said = ""
    with no_cluster():
        # The lists of packages may be absent or old: refreshed only if the first try fails. One more for the network.
        for steps in ((add,), ((*APT, "update"), add), ((*APT, "update"), add)):
            for step in steps:
                done = subprocess.run(
                    step,
                    env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
            if done.returncode == 0:
                return None
            said = (done.stdout.strip().splitlines() or ["no reason given"])[-1]
    return f"apt-get could not install {' '.join(packages)}: {said}"


@contextmanager
def no_cluster() -> Iterator[None]:
    """While this lasts, a new PostgreSQL package starts no server; afterwards the machine is as it was."""
    NO_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
    NO_CLUSTER.write_text("create_main_cluster = false\n")
    try:
        yield
    finally:
        NO_CLUSTER.unlink()


def add_axe() -> str | None:
    """Install the accessibility checker axe-core beside the environment, by npm; what went wrong, or None."""
    npm = NPM.look()
    if AXE.is_file() or npm is None:
        return None if AXE.is_file() else "no npm, so the tests of accessibility will fail"
    options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(AXE.parents[2]))
    for _ in range(2):  # once more for the network
        done = subprocess.run((npm, "install", *options, "axe-core"), stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return None
    return "npm could not install axe-core: the tests of accessibility will fail"


def main() -> None:
    """Install what is missing, and say what could not be."""
    missing = [part for part in PARTS if part.look() is None]
    trouble = obstacle(missing, apt=shutil.which("apt-get") is not None, root=os.geteuid() == 0)
    if missing and trouble is None:
        print(f"servers: installing {_names(missing)}")
        trouble = install(missing)
    for line in filter(None, (trouble, add_axe())):
        print(f"servers: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
