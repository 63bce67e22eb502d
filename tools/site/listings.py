"""Reference pages that are listed from the code: commands, HTTP routes, settings, errors."""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer

from discreet import errors
from discreet.commands.app import app as command_line
from discreet.commands.sample_hospital import write_hospital
from discreet.curator.error_replies import ERROR_REPLIES
from discreet.curator.http.app import create_app
from discreet.curator.limits import Limits
from discreet.curator.service.config import Config, ConfiguredDataset, read_config
from discreet.curator.service.opening import open_curator
from tools.site.symbols import summary, to_markdown

ROOT = Path(__file__).resolve().parents[2]


def _table(head: str, rows: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * columns, *rows])


def _cell(text: str) -> str:
    return to_markdown(" ".join(text.split())).replace("|", "\\|")


# --- commands -----------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its words: ``discreet ledger verify``."""
    yield from _below("discreet", typer.main.get_command(command_line))


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        yield from _below(f"{words} {name}", command.get_command(None, name))


def commands_page() -> str:
    """All commands with their arguments and options."""
    found = ["# Commands", "Every command prints this with `--help`. Errors are one line, and the exit status is 1."]
    for words, command in sorted(commands()):
        arguments = [one for one in command.params if isinstance(one.name, str) and one.param_type_name == "argument"]
        options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
        usage = " ".join([words, *(_place(one) for one in arguments)])
        found += [f"## {words}", f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```"]
        found.append(to_markdown(inspect.cleandoc(command.help or "")))
        if command.params:
            rows = [_option(one) for one in (*arguments, *options)]
            found.append(_table("| argument or option | unless said | what it is |", rows))
    return "\n\n".join([*found, ""])


def _place(one: Any) -> str:
    name = f"{one.name.upper()}{'...' if one.nargs == -1 else ''}"
    return name if one.required else f"[{name}]"


def _option(one: Any) -> str:
    shown = ", ".join(f"`{text}`" for text in (*one.opts, *one.secondary_opts))
    default = "required" if one.required else "" if one.default in (None, False, (), [], "") else f"`{one.default}`"
    return f"| {shown} | {default if '<' not in default else ''} | {_cell(getattr(one, 'help', None) or '')} |"


# --- HTTP ---------------------------------------------------------------------------------------------------------


def openapi() -> dict[str, Any]:
    """The service's own description of its routes."""
    with tempfile.TemporaryDirectory() as folder:
        curator = open_curator(read_config(write_hospital(Path(folder) / "sample", people=20)), create=True)
        try:
            found: dict[str, Any] = create_app(curator).openapi()
        finally:
            curator.close()
    return found


def http_page(described: dict[str, Any]) -> str:
    """All routes, and the shapes of requests and replies."""
    found = [
        "# HTTP routes",
        "From the service's own OpenAPI description, which is at `/api/openapi.json` of a running curator. Who may use "
        "which route is in [the curator](curator.md).",
    ]
    for path, methods in sorted(described["paths"].items()):
        for method, route in methods.items():
            found += [f"## {method.upper()} {path}", to_markdown(route.get("description") or route.get("summary", ""))]
            found += _parameters(route)
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            found += [f"Body: {_type(body)}"] if body else []
            reply = route["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
            found += [f"Reply: {_type(reply)}"] if reply else []
    found.append("## Shapes")
    for name, shape in sorted(described["components"]["schemas"].items()):
        rows = [
            f"| `{field}` | {_type(kind)} | {'yes' if field in shape.get('required', ()) else ''} "
            f"| {_cell(kind.get('description', ''))} |"
            for field, kind in shape.get("properties", {}).items()
        ]
        found += [f"### {name}", to_markdown(shape.get("description", ""))]
        found += [_table("| field | type | required | what it is |", rows)] if rows else []
    return "\n\n".join([*(part for part in found if part), ""])


def _parameters(route: dict[str, Any]) -> list[str]:
    rows = [
        f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} | {'yes' if one.get('required') else ''} |"
        for one in route.get("parameters", ())
    ]
    return [_table("| parameter | in | type | required |", rows)] if rows else []


def _type(shape: dict[str, Any] | None) -> str:
    """A schema in a few words; a named shape links to its table."""
    if not shape:
        return "anything"
    if "$ref" in shape:
        name = shape["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in shape:
        return " or ".join(_type(one) for one in shape["anyOf"])
    if "enum" in shape:
        return " or ".join(f'`"{one}"`' for one in shape["enum"])
    if shape.get("type") == "array":
        return f"list of {_type(shape.get('items'))}"
    return str(shape.get("type") or shape.get("title") or "anything")


# --- settings -----------------------------------------------------------------------------------------------------


def attribute_docs(kind: type) -> dict[str, str]:
    """The texts below the fields of a class."""
    (tree,) = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(kind))))  # type: ignore[arg-type]
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[field.target.id] = str(text.value.value)
    return found


def _remarks() -> dict[str, str]:
    """What the example file in the page about the curator says beside a setting."""
    text = (ROOT / "docs" / "reference" / "curator.md").read_text()
    found: dict[str, str] = {}
    for name, remark in re.findall(r"^(?:# )?(\w+) = [^#\n]*# +(.+)$", text, re.MULTILINE):
        found.setdefault(name, remark)
    return found


def settings_page() -> str:
    """Every setting of curator.toml."""
    remarks = _remarks()
    found = ["# Settings of curator.toml", "[The curator](curator.md) has a whole file as an example."]
    server = [
        (field.name, "" if field.default is MISSING else str(field.default))
        for field in fields(Config)
        if field.name not in {"limits", "datasets", "copies"}
    ]
    limits = [(field.name, str(field.default)) for field in fields(Limits)]
    dataset = [
        (name, "" if one.default is None else str(getattr(one.default, "name", one.default)).lower())
        for name, one in ConfiguredDataset.model_fields.items()
        if name != "tables"
    ]
    parts: list[tuple[str, type, list[tuple[str, str]]]] = [
        ("[server]", Config, server),
        ("[limits]", Limits, limits),
        ("[datasets.NAME]", ConfiguredDataset, dataset),
    ]
    for title, kind, settings in parts:
        documented = attribute_docs(kind)
        rows = [
            f"| `{name}` | {f'`{default}`' if default not in {'', 'None', '()'} else ''} "
            f"| {_cell(documented.get(name) or remarks.get(name, ''))} |"
            for name, default in settings
        ]
        found += [f"## {title}", summary(kind), _table("| setting | unless said | what it is |", rows)]
    return "\n\n".join([*found, ""])


# --- errors -------------------------------------------------------------------------------------------------------


def error_tree() -> str:
    """The error tree as it is drawn in errors.py, and what each error is over HTTP."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("\n\n")[1]
    rows = []
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.DiscreetError):
            reply = ERROR_REPLIES.get(kind)
            rows.append(
                f"| [`{name}`](api/errors.{name}.md) | {reply.status if reply else ''} "
                f"| {', '.join(f'`{field}`' for field in kind.FIELDS) if reply else ''} | {_cell(summary(kind))} |"
            )
    table = _table("| error | HTTP status | fields | what it says |", rows)
    return f"```text\n{inspect.cleandoc(tree)}\n```\n\n{table}"
