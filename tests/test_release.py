"""The release: notes, fragments, floors and policies. What is installed is tried by ``make release`` and the audit."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

import discreet as dp
from tools import release
from tools.site import symbols
from tools.site.cells import BLOCK

ROOT = release.ROOT
VERSION = str(release.project()["version"])
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project that can be released."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.0 - 2026-11-18\n- All of it.\n")
    (tmp_path / "CITATION.cff").write_text("version: 1.0\n")
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How to.\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


def test_a_clean_tree_with_notes_is_released(tree: Path) -> None:
    assert release.refusals(tree) == []
    assert release.fragment_faults(tree) == []


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("new.py", "x = 1\n", "uncommitted"),
        ("CHANGELOG.md", "# Changelog\n\n## 0.9 - 2026-11-18\n- Old.\n", "no section"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.0 - 2026-11-18\n\n## 0.9 - 2026-01-01\n- Old.\n", "no section"),
        ("changes/+a.fixed.md", "Tables: a fault.\n", "still holds 1 notes, such as +a.fixed.md: raise the version"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.0 - 2026-11-19\n- New.\n\n## 1.0 - 2026-11-18\n- Old.\n", "2 sections"),
        ("CITATION.cff", "version: 0.9\n", "CITATION"),
    ],
)
def test_a_dirty_tree_or_missing_notes_are_refused(tree: Path, file: str, text: str, reason: str) -> None:
    (tree / file).write_text(text)
    assert any("uncommitted" in line for line in release.refusals(tree))
    if reason != "uncommitted":
        git(tree, "add", ".")
        git(tree, "commit", "-q", "-m", "change")
        (line,) = release.refusals(tree)
        assert reason in line


def test_a_fragment_has_a_kind_and_is_short(tree: Path) -> None:
    (tree / "changes" / "+a.improved.md").write_text("Better.\n")
    (tree / "changes" / "+b.fixed.md").write_text("1\n2\n3\n4\n")
    (tree / "changes" / "+c.security.md").write_text("Streams: once.\n")
    assert [line.split(":")[0] for line in release.fragment_faults(tree)] == ["+a.improved.md", "+b.fixed.md"]
    assert release.fragment_faults() == []


def test_the_changelog_has_the_form_of_its_kind() -> None:
    notes = release.notes_of(VERSION, CHANGELOG)
    sections = re.findall(r"^### (\w+)$", notes, re.MULTILINE)
    assert sections == [kind.capitalize() for kind in release.KINDS]
    assert not [line for line in CHANGELOG.splitlines() if len(line) > 120]
    assert "<!-- towncrier release notes start -->" in CHANGELOG


def test_every_advisory_has_its_own_number() -> None:
    security = "".join(re.findall(r"^### Security$(.*?)^##", CHANGELOG, re.MULTILINE | re.DOTALL))
    numbers = sorted(int(number) for number in re.findall(r"^- (\d+) ", security, re.MULTILINE))
    assert numbers == list(range(1, len(numbers) + 1))
    assert not re.findall(r"^- (?!\d+ )", security, re.MULTILINE)


def test_one_version_is_named_everywhere() -> None:
    assert metadata.version("discreet") in {VERSION, "0.1.0"}  # an editable install keeps the name it was made with
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert release.notes_of(VERSION, CHANGELOG)


def test_every_extra_is_tried_and_every_dependency_has_a_floor() -> None:
    about = release.project()
    assert set(release.IMPORTS) == set(about["optional-dependencies"])
    lines = [*about["dependencies"], *(line for group in about["optional-dependencies"].values() for line in group)]
    assert set(release.floors(about)) == {re.split(r"[\[>]", line)[0] for line in lines}


def test_untried_platforms_are_not_claimed() -> None:
    systems = [line for line in release.project()["classifiers"] if line.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    page = (ROOT / "docs" / "reference" / "versions.md").read_text()
    for name in ("macOS", "Windows", "Linux on ARM"):
        assert re.search(rf"^\| {name} \| untried", page, re.MULTILINE), name


@pytest.mark.parametrize("file", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_workflows_use_targets_and_versions_that_exist(file: Path) -> None:
    """`make release` holds them against the schema of their host; here is what no schema knows."""
    flow: dict[str, Any] = yaml.safe_load(file.read_text())
    assert flow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    systems = set()
    for job in flow["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        systems |= {name.split("-")[0] for name in matrix.get("system", [job["runs-on"]])}
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))
            assert set(re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))) <= targets
    assert systems >= {"ubuntu", "macos", "windows"}


NAMES = re.compile(r"\bdp\.((?:[A-Za-z]\w*)(?:\.[A-Za-z]\w*)?)")


def test_the_public_api_is_what_has_a_reference_page() -> None:
    """Every name that a page tells users to write has a page of its own, or belongs to something that has one."""
    pages = set(symbols.files()) | set(symbols.modules())
    used = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for match in BLOCK.finditer(page.read_text()):
            if match["kind"] == "python":
                used |= set(NAMES.findall(match["code"]))
    assert len(used) > 100
    assert not {name for name in used if name not in pages and name.split(".")[0] not in pages}
    assert not [name for name in dp.__all__ if name not in pages]
