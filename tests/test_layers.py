"""Who may import whom (docs/contributing): only downwards, never sideways, never inside a function."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"

# From the top to the bottom. Rooms in one row may not import each other, except those joined by "+".
LAYERS: list[list[str]] = [
    ["cli+demo"],
    ["checking", "curator"],
    ["session+paying"],
    ["engines", "local", "continual", "synthetic", "learning"],
    ["table"],
    ["stable+mechanisms"],
    ["answer"],
    ["noise", "privacy"],
    ["randomness"],
    ["errors+exact", "progress"],
]
RANK = {name: row for row, rooms in enumerate(LAYERS) for group in rooms for name in group.split("+")}
GROUP = {name: group for rooms in LAYERS for group in rooms for name in group.split("+")}
# Third-party packages that are extras: only these may be imported inside a function.
OPTIONAL = {"matplotlib", "dp_accounting", "fastapi", "uvicorn", "sqlalchemy", "psycopg", "pyspark", "mbi", "torch",
            "polars", "pandas", "IPython", "sklearn"}  # fmt: skip
# Heavy parts of the core that wait until they are needed, so that the import stays quick.
LATE = {"scipy", "pyarrow", "rich"}
# What is fetched by name when somebody asks for it, though it is above: a session's ledger, which is an extra.
UPWARDS = {("session", "discreet.curator.keeping")}
TOUCH_THE_WORLD = {"engines", "curator", "cli"}
WORLD = {"socket", "subprocess", "shutil", "tempfile", "pathlib", "sqlite3", "urllib", "http"}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> list[tuple[str, bool]]:
    """Every imported module, and whether the import stands inside a function."""
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    found: list[tuple[str, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) in inner) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            found += [(f"{module}.{a.name}" if module == "discreet" else module, id(node) in inner) for a in node.names]
    return found


def complaints(name: str, tree: ast.AST) -> list[str]:
    found = []
    for module, inside in imports(tree):
        head, *rest = module.split(".")
        if head == "discreet":
            if inside:
                found.append(f"{module} is imported inside a function")
            target = rest[0] if rest else ""
            if target not in RANK:
                found.append(f"{module} is in no layer")
            elif target != name and GROUP[target] != GROUP[name] and RANK[target] <= RANK[name]:
                found.append(f"{name} may not import {target}")
        elif inside and head not in OPTIONAL | LATE:
            found.append(f"{module} is imported inside a function, but it is not optional")
        if head in WORLD and name not in TOUCH_THE_WORLD:
            found.append(f"{name} may not touch disk or network through {head}")
    for module in fetched(tree):
        target = module.split(".")[1]
        if target != name and RANK.get(target, RANK[name] + 1) <= RANK[name] and (name, module) not in UPWARDS:
            found.append(f"{name} may not fetch {module}")
    return found


def fetched(tree: ast.AST) -> list[str]:
    """Rooms of ours that are named in a text, as ``import_module`` takes them."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if re.fullmatch(r"discreet(\.[a-z_0-9]+)+", text)]


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_downwards(path: Path) -> None:
    assert not complaints(room(path), ast.parse(path.read_text()))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("noise", "from discreet.privacy import events"),
        ("privacy", "from discreet import noise"),
        ("randomness", "import discreet.noise.coin"),
        ("exact", "from discreet.randomness import Bits"),
        ("noise", "def f():\n    from discreet.exact import number"),
        ("noise", "def f():\n    import json"),
        ("privacy", "import socket"),
        ("noise", "from discreet.nowhere import x"),
        ("engines", "from discreet.curator import store"),
        ("session", 'import_module("discreet.curator.store")'),
    ],
)
def test_a_forbidden_import_is_seen(name: str, code: str) -> None:
    assert complaints(name, ast.parse(code))


def test_every_room_has_a_layer() -> None:
    assert {room(path) for path in FILES} <= set(RANK)
