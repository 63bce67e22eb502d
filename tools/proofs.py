"""Proof files and the code they prove.

A proof file opens with lines such as

    proves: discreet.noise.laplace.draw_laplace 3f5a9c0d1e2b4a67

The second word is a function or class; the third is the hash of its syntax tree, without docstrings, so that comments,
formatting and wording do not move it and a change of meaning does. ``tests/test_proofs.py`` compares the two. After
re-reading a proof against changed code, ``make proofs FILES=...`` records the new hashes of that proof alone.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
CLAIM = re.compile(r"^proves: (?P<name>[\w.]+)(?: (?P<hash>\S*))?$", re.MULTILINE)


def proof_files() -> list[Path]:
    """All proof files, beside the code."""
    return sorted(SOURCE.rglob("*.md"))


def fingerprint(name: str) -> str:
    """The hash of the syntax tree of a function or class, given by its dotted name."""
    return hashlib.sha256(_shape(_find(name)).encode()).hexdigest()[:16]


def _find(name: str) -> ast.AST:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        base = SOURCE.joinpath(*parts[:cut])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.exists():
                node: ast.AST = ast.parse(path.read_text())
                for part in parts[cut:]:
                    node = _child(node, part, name)
                return node
    raise LookupError(f"no module for {name}")


def _child(node: ast.AST, part: str, name: str) -> ast.AST:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name == part and not _is_overload(child):
            return child
    raise LookupError(f"no {part} in {name}")


def _is_overload(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)


def _shape(node: object) -> str:
    """A text of the tree that does not change between Python versions: empty fields and docstrings are left out."""
    if isinstance(node, list):
        return "[" + ",".join(_shape(item) for item in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for field, value in ast.iter_fields(node):
        kept = _without_docstring(value) if field == "body" and isinstance(value, list) else value
        if kept is not None and kept != [] and field not in {"ctx", "kind", "type_comment"}:
            fields.append(f"{field}={_shape(kept)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _without_docstring(body: list[ast.AST]) -> list[ast.AST]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def stale() -> list[Path]:
    """The proof files whose code has changed since they were recorded."""
    return [
        path
        for path in proof_files()
        if any(fingerprint(claim["name"]) != claim["hash"] for claim in CLAIM.finditer(path.read_text()))
    ]


def record(path: Path) -> None:
    """Write the hashes of today into one proof file: whoever does this has read the proof against the code."""
    text = path.read_text()
    path.write_text(CLAIM.sub(lambda found: f"proves: {found['name']} {fingerprint(found['name'])}", text))
    print(f"recorded {path.resolve().relative_to(ROOT)}")


def main() -> None:
    """Record the proofs that are named; without names, list those that must be read again."""
    for name in sys.argv[1:]:
        record(Path(name))
    for path in stale():
        print(f"read again: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
