"""``make release``: build the wheel and the sdist, try both where nothing else is installed, and write what ships.

    python -m tools.release                 # refuses a dirty tree or missing notes; writes out/release/VERSION
    python -m tools.release try [EXTRA...]  # the same trials without the refusals; of these extras alone
    python -m tools.release floors          # the demo with every dependency at its lowest allowed version
    python -m tools.release notes           # what `make release` would refuse

Tools come from the dependency group ``release``. Nothing is uploaded.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("security", "added", "changed", "deprecated", "removed", "fixed")
IMPORTS = {
    "server": "discreet.curator.http.app",
    "postgres": "discreet.engines.postgres.engine, psycopg",
    "spark": "discreet.engines.spark.engine, pyspark",
    "frames": "pandas, polars",
    "formats": "openpyxl, pyreadstat",
    "plot": "matplotlib.figure",
    "synth": "mbi",
    "learn": "discreet.learning.torch_training, torch",
    "accounting": "dp_accounting",
}
"""What must be there after an extra was installed; a test compares the keys with pyproject.toml."""


def project(root: Path = ROOT) -> dict[str, Any]:
    """The table ``project`` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return table


def notes_of(version: str, changelog: str) -> str:
    r"""The section of one version, or nothing.

    >>> notes_of("1.0", "# Changelog\n## 1.0 - 2026-11-18\n- A change.\n## 0.9 - 2026-01-01\n- Old.\n")
    '- A change.'
    """
    section = re.search(
        rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return section[1].strip() if section else ""


def fragments(root: Path = ROOT) -> list[Path]:
    """The news fragments: ``changes/NAME.KIND.md``."""
    return sorted(path for path in (root / "changes").glob("*.md") if path.name != "README.md")


def fragment_faults(root: Path = ROOT) -> list[str]:
    """Fragments with a wrong name, no text, or more than three lines."""
    faults = []
    for path in fragments(root):
        lines = path.read_text().strip().splitlines()
        if path.suffixes[:1] not in [[f".{kind}"] for kind in KINDS]:
            faults.append(f"{path.name}: name it NAME.KIND.md, KIND one of {', '.join(KINDS)}")
        if not 1 <= len(lines) <= 3:
            faults.append(f"{path.name}: write one to three lines")
    return faults


def refusals(root: Path = ROOT) -> list[str]:
    """Why this tree is not released: uncommitted files, no dated notes, fragments that no section holds yet."""
    version = project(root)["version"]
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)  # noqa: S607
    reasons = ["the tree has uncommitted changes"] if status.stdout.strip() else []
    changelog = (root / "CHANGELOG.md").read_text()
    sections = len(re.findall(rf"^## {re.escape(version)} - ", changelog, re.MULTILINE))
    if not notes_of(version, changelog):
        reasons.append(f"CHANGELOG.md has no section `## {version} - DATE` with text")
    if sections > 1:
        reasons.append(f"CHANGELOG.md has {sections} sections of {version}")
    if left := [path.name for path in fragments(root)]:
        first = f"raise the version, since {version} has its notes; then " if sections else ""
        reasons.append(f"changes/ still holds {len(left)} notes, such as {left[0]}: {first}run `towncrier build`")
    if f"version: {version}\n" not in (root / "CITATION.cff").read_text():
        reasons.append(f"CITATION.cff does not name version {version}")
    return reasons


def floors(about: Mapping[str, Any]) -> dict[str, str]:
    """The lowest allowed version of every dependency, extras included.

    >>> floors({"dependencies": ["numpy>=2.0"], "optional-dependencies": {"db": ["psycopg[binary]>=3.2"]}})
    {'numpy': '2.0', 'psycopg': '3.2'}
    """
    extras = about.get("optional-dependencies", {}).values()
    lines = [*about["dependencies"], *(line for group in extras for line in group)]
    parts = (re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", line) for line in lines)
    return {part[1]: part[2] for part in parts if part}


def _run(*command: object, **options: Any) -> str:
    print("$", *(str(word) for word in command), flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed with {done.returncode}: {' '.join(map(str, command))}")
    return str(done.stdout)


def environment(folder: Path, *requirements: object) -> Path:
    """A new virtual environment with these requirements; its python."""
    _run(sys.executable, "-m", "venv", folder)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--no-compile", *requirements)
    _run(python, "-m", "pip", "check")
    return python


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, with their metadata checked."""
    _run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    names = zipfile.ZipFile(wheel).namelist()
    assert "discreet/py.typed" in names, "the wheel is not typed"  # noqa: S101
    assert not [name for name in names if name.split("/")[0] not in {"discreet", names[-1].split("/")[0]}]  # noqa: S101
    return wheel, sdist


def demo(python: Path, folder: Path) -> None:
    """The demo and the two commands of the README, outside of the tree."""
    command = python.with_name("discreet")
    _run(command, "demo", cwd=folder)
    _run(command, "sample", "hospital", cwd=folder)
    query = ("SELECT COUNT(*) AS n FROM visits", "--unit", "patient_id", "--epsilon", "1")
    shown = _run(command, "ask", "hospital/data/visits.parquet", *query, cwd=folder)
    assert "±" in shown, shown  # noqa: S101


def trials(wheel: Path, sdist: Path, extras: Sequence[str], scratch: Path) -> Path:
    """Both archives alone, then the wheel with each extra; the python of the first."""
    core = environment(scratch / "core", wheel)
    for name, python in (("wheel", core), ("sdist", environment(scratch / "sdist", sdist))):
        (scratch / f"demo-{name}").mkdir()
        demo(python, scratch / f"demo-{name}")
    for extra in extras:
        python = environment(scratch / extra, f"{wheel}[{extra}]")
        _run(python, "-c", f"import discreet, {IMPORTS[extra]}")
        shutil.rmtree(scratch / extra)
    return core


def at_the_floors(wheel: Path, scratch: Path) -> None:
    """The core and the light extras, each dependency at its floor: the demo runs, extras are imported."""
    lowest = floors(project())
    constraints = scratch / "floors.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in lowest.items()))
    light = "frames,formats,plot,postgres,server"
    python = environment(scratch / "floors", "--constraint", constraints, f"{wheel}[{light}]")
    _run(python, "-c", "import discreet; " + "; ".join(f"import {IMPORTS[extra]}" for extra in light.split(",")))
    (scratch / "demo-floors").mkdir()
    demo(python, scratch / "demo-floors")


def write_sums(folder: Path) -> None:
    """``SHA256SUMS`` of every file beside it, as ``sha256sum --check`` reads it."""
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


def main(words: Sequence[str]) -> None:
    """Do what the words say; see the top of this file."""
    about = project()
    task = words[0] if words else "release"
    if task in {"release", "notes"} and (reasons := [*fragment_faults(), *refusals()]):
        sys.exit("not released:\n- " + "\n- ".join(reasons))
    if task == "notes":
        return
    target = ROOT / "out" / "release" / str(about["version"])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        wheel, sdist = build(target)
        if task == "floors":
            at_the_floors(wheel, scratch)
            return
        core = trials(wheel, sdist, words[1:] or list(about["optional-dependencies"]), scratch)
        _run(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON",
             "--pyproject", ROOT / "pyproject.toml", "-o", target / "sbom.cdx.json", core)  # fmt: skip
    (target / "NOTES.md").write_text(notes_of(str(about["version"]), (ROOT / "CHANGELOG.md").read_text()) + "\n")
    write_sums(target)
    print(*sorted(path.name for path in target.iterdir()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
