"""Who may import whom (CONTRIBUTING.md): only downwards, never sideways, never inside a function, never by string."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "discreet"

# From the top to the bottom. A module belongs to the longest name here that it starts with. Names in one row may not
# import each other, except those joined by "+". A package by its own name is its __init__ and what no row names.
LAYERS = """
    commands
    checking
    checking.attacks
    checking.sampling
    checking.exact
    curator.wire
    curator curator.client curator.http
    curator.service
    curator.planning
    curator.engine_process
    curator.limits curator.public_schema curator.parquet
    curator.error_replies
    curator.amounts curator.logs curator.parquet curator.malformed
    agg session
    continual local synthetic learning
    learning.torch_training
    synthetic.tables
    synthetic.model
    synthetic.predicate+synthetic.domain+synthetic.columns+synthetic.binning
    engines ledger
    engines.duckdb engines.postgres engines.spark engines.experimental
    engines.unchanged
    engines.memory engines.sql
    engines.labelled_files engines.workbooks
    engines.sources engines.data_paths engines.csv_lines
    query.profile
    query.answer
    query.passes
    query.run+query.key_selection+query.choose
    query.estimate
    query.front
    query.front.sql
    query.lower
    query.typing
    query.resolve
    query.functions
    query.engine
    query.plan
    query
    stable
    stable.maps
    stable.core
    biased
    mechanisms
    mechanisms.statistics
    mechanisms.selection
    mechanisms.additive
    mechanisms.base
    answer
    noise privacy.attacker
    privacy.budgets
    privacy.accountants
    privacy.pld
    privacy.promises
    privacy.numerics
    privacy
    randomness
    progress picture unit_id shown
    errors+exact+messages arrays
"""
GROUPS = [(row, group) for row, line in enumerate(LAYERS.split("\n")) for group in line.split()]
PLACE = {name: (row, group) for row, group in GROUPS for name in group.split("+")}

# Third-party packages that are extras: these may be imported inside a function, and so may our modules that need them.
OPTIONAL = {"matplotlib", "dp_accounting", "fastapi", "starlette", "pydantic", "uvicorn", "sqlalchemy", "psycopg",
            "pyspark", "polars", "pandas", "IPython", "mbi", "jax", "torch", "sklearn",
            "openpyxl", "pyreadstat"}  # fmt: skip
# Heavy parts of the core that wait until they are needed, so that the import stays quick.
LATE = {"scipy", "pyarrow", "rich", "importlib"}
# Only these touch disk or network. query.answer.export writes the file that the user named,
# picture into memory.
TOUCH_THE_WORLD = (
    "engines",
    "ledger",
    "curator",
    "commands",
    "session.local_ledger",
    "session.ledger_budget",
    "query.answer.export",
    "picture",
)
WORLD = {"socket", "subprocess", "shutil", "tempfile", "pathlib", "sqlite3", "urllib", "http", "io", "ftplib"}
HARMLESS = {"PathLike", "getpid", "urandom", "cpu_count", "fspath"}  # of ``os``
# What may not even be seen below: noise knows nothing of privacy, engines nothing of noise or budgets, and so on.
NEVER = {
    "noise": ("privacy",),
    "privacy": ("noise", "randomness"),
    "engines": ("noise", "privacy", "mechanisms", "ledger"),
    "ledger": ("noise", "mechanisms", "query", "engines", "stable"),
    "query": ("engines", "ledger"),
}


def name_of(path: Path) -> str:
    """The dotted name below ``discreet``; of a package, the package's."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def place(name: str) -> tuple[int, str] | None:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        if ".".join(parts[:cut]) in PLACE:
            return PLACE[".".join(parts[:cut])]
    return None


FILES = {name_of(path): path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"}


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text())


@cache
def imports(tree: ast.AST) -> list[tuple[str, bool]]:
    """Every imported module, and whether the import stands inside a function."""
    found: list[tuple[str, bool]] = []
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.Import):
            found += [(alias.name, inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                ours = full.removeprefix("discreet.") in FILES or node.module == "discreet"
                found.append((full if ours else node.module or "", inside))
        elif not isinstance(node, ast.expr):  # no import stands in an expression
            inner = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            waiting += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found


@cache
def needs_an_extra(name: str) -> bool:
    """Whether a module of ours cannot be imported without an optional package."""
    outer = [module for module, inside in imports(tree_of(name)) if not inside]
    ours = [module.removeprefix("discreet.") for module in outer if module.startswith("discreet.")]
    return any(module.split(".")[0] in OPTIONAL for module in outer) or any(
        needs_an_extra(one) for one in ours if one in FILES and one != name
    )


_DOTTED = re.compile(r"discreet(\.\w+)+")


def complaints(name: str, tree: ast.AST) -> list[str]:
    found = []
    here = place(name)
    assert here is not None, name
    for module, inside in imports(tree):
        head, _, rest = module.partition(".")
        if head == "discreet":
            if inside and not (rest in FILES and needs_an_extra(rest)):
                found.append(f"{module} is imported inside a function")
            there = place(rest)
            if there is None or rest.split(".")[0] not in {one.split(".")[0] for one in FILES}:
                found.append(f"{module} is in no layer")
            elif there[1] != here[1] and there[0] <= here[0]:
                found.append(f"{name} may not import {module}")
            if rest.startswith(NEVER.get(name.split(".", maxsplit=1)[0], ())):
                found.append(f"{name} may not know of {module}")
        elif inside and head not in OPTIONAL | LATE:
            found.append(f"{module} is imported inside a function, but it is not optional")
        if head in WORLD and not name.startswith(TOUCH_THE_WORLD):
            found.append(f"{name} may not touch disk or network through {head}")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant | ast.Attribute | ast.Call):
            continue
        match node:
            case ast.Constant(value=str(text)) if text.startswith("discreet.") and _DOTTED.fullmatch(text):
                if text.removeprefix("discreet.") in FILES and not _names_no_import(tree, node) and name not in BY_NAME:
                    found.append(f"{name} names {text} in a string")
            case ast.Attribute(value=ast.Name(id="os"), attr=used) if used not in HARMLESS:
                if not name.startswith(TOUCH_THE_WORLD):
                    found.append(f"{name} may not use os.{used}")
            case ast.Call(func=ast.Name(id="open")) if not name.startswith(TOUCH_THE_WORLD):
                found.append(f"{name} may not open files")
            case ast.Call(func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module")):
                if name not in BY_NAME:
                    found.append(f"{name} imports by string")
    return found


# What imports modules that a user or a cluster names, the one __init__ that waits with what needs an extra, and the
# command line, which imports the one command that is used.
BY_NAME = {"commands.app", "commands.check", "engines.spark.noise", "ledger"}


def _names_no_import(tree: ast.AST, text: ast.Constant) -> bool:
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call))
    named = (getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls if text in call.args)
    return any(one in {"getLogger", "files"} for one in named)


@pytest.mark.slow
def test_imports_go_downwards() -> None:
    assert [one for name in sorted(FILES) for one in complaints(name, tree_of(name))] == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("noise.coin", "from discreet.privacy.promises import events"),
        ("privacy.accountants.zcdp", "from discreet import noise"),
        ("privacy.promises.events", "from discreet.privacy.accountants import basic"),
        ("query.plan.nodes", "from discreet.query.run import release"),
        ("engines.duckdb.engine", "from discreet.engines.postgres.source import postgres_table"),
        ("randomness.source", "import discreet.noise.coin"),
        ("exact", "from discreet.randomness import Bits"),
        ("mechanisms.additive.laplace", "from discreet.biased.laplace import biased_laplace"),
        ("ledger.store", "from discreet.session.session import Session"),
        ("noise.coin", "def f():\n    from discreet.exact import number"),
        ("session.session", "def f():\n    from discreet.query.plan.schema import table"),
        ("noise.coin", "def f():\n    import json"),
        ("privacy.budgets.filters", "import socket"),
        ("query.run", "import os\nos.remove(name)"),
        ("query.run", "import io"),
        ("mechanisms.base.mechanism", "open('secrets.txt')"),
        ("noise.coin", "from discreet.nowhere import x"),
        ("engines.sql.emit", "from discreet.ledger import store"),
        ("session.session", 'import_module("discreet.curator.client.client")'),
        ("session.session", 'NAME = "discreet.curator.client.client"'),
        ("session.session", "importlib.import_module(NAME)"),
    ],
)
def test_a_forbidden_import_is_seen(name: str, code: str) -> None:
    assert complaints(name, ast.parse(code))


def test_a_module_that_needs_an_extra_may_wait_until_it_is_used() -> None:
    assert not complaints("session.session", ast.parse("def f():\n    from discreet.session.local_ledger import keep"))


def test_every_layer_exists_and_every_module_has_one() -> None:
    assert all(place(name) for name in FILES)
    packages = {".".join(name.split(".")[:cut]) for name in FILES for cut in range(1, name.count(".") + 2)}
    assert set(PLACE) <= packages


@pytest.mark.slow
def test_no_module_imports_itself_through_others() -> None:
    ours = {
        name: {m.removeprefix("discreet.") for m, inside in imports(tree_of(name)) if not inside} & set(FILES)
        for name in FILES
    }
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above, name])
        if name not in done:
            for one in ours[name]:
                walk(one, (*above, name))
            done.add(name)

    for name in sorted(FILES):
        walk(name, ())


# --- private names ----------------------------------------------------------------------------------------------------


def package(name: str) -> str:
    """The folder of a module."""
    return name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]


@cache
def private_names(folder: str) -> frozenset[str]:
    """The names with an underscore that the modules of a folder define."""
    found: set[str] = set()
    for node in (node for name in FILES if package(name) == folder for node in ast.walk(tree_of(name))):
        match node:
            case ast.FunctionDef(name=defined) | ast.AsyncFunctionDef(name=defined) | ast.ClassDef(name=defined):
                found.add(defined)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=defined, ctx=ast.Store()):
                found.add(defined)
            case ast.Name(id=defined, ctx=ast.Store()):
                found.add(defined)
    return frozenset(one for one in found if is_private(one))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


NOT_OURS = {"os._exit", "torch._int_mm", "figure._repr_png_"}  # they have no public name
NOT_OURS_OF_ANY = ("._asdict", "._version")  # of a named tuple, of a tensor


def foreign_privates(name: str, tree: ast.AST) -> list[str]:
    """Uses of private names that are not of the module's own folder."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names) if module is not None and module.startswith("discreet"):
                found += [f"{module}.{one.name}" for one in names if is_private(one.name)]
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=used) if is_private(used) and used not in private_names(package(name)):
                found.append(ast.unparse(node))
    return [one for one in found if one not in NOT_OURS and not one.endswith(NOT_OURS_OF_ANY)]


@pytest.mark.slow
def test_private_names_stay_in_their_package() -> None:
    assert [(name, found) for name in sorted(FILES) if (found := foreign_privates(name, tree_of(name)))] == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("curator.service.service", "def f(session): return session._terms.budget"),
        ("curator.service.questions", "def f(query): return query._prepared"),
        ("checking.exact.queries", "def f(query): return query.session._schemas"),
        ("commands.ask", "from discreet.session.price import _wanted"),
        ("session.session", "def f(engine): return engine._connection"),
    ],
)
def test_a_foreign_private_name_is_seen(name: str, code: str) -> None:
    assert foreign_privates(name, ast.parse(code))
