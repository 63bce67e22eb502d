"""A page for each public name: signature, guarantee, example, errors; all of it read from the code.

Public are the names in ``discreet.__all__``, those of the modules among them, and those of every sub-package that
lists its own ``__all__``.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import discreet
from discreet import errors
from tools.site.examples import Example, find_example
from tools.site.parameters import Parameter, parameters
from tools.site.raised import raised_by

SOURCE = Path(discreet.__file__).resolve().parent
LONGEST = 100  # characters of a signature on one line


@dataclass(frozen=True, slots=True)
class Symbol:
    """A public name, as ``dp.<name>`` or ``discreet.<name>``."""

    module: str  # "" for the top
    name: str
    what: Any

    @property
    def path(self) -> str:
        """As it is written after ``discreet.``."""
        return f"{self.module}.{self.name}" if self.module else self.name

    @property
    def shown(self) -> str:
        """As a reader writes it."""
        top = self.module.split(".")[0] if self.module else self.name
        return f"{'dp' if top in discreet.__all__ else 'discreet'}.{self.path}"

    @property
    def home(self) -> str:
        """The module that defines it."""
        kind = self.what if hasattr(self.what, "__module__") else type(self.what)
        return str(getattr(kind, "__module__", None) or type(self.what).__module__)


def modules() -> dict[str, ModuleType]:
    """The public modules by their name below ``discreet``; "" is the package itself."""
    found = {"": discreet}
    for name in discreet.__all__:
        what = getattr(discreet, name)
        if inspect.ismodule(what):
            found[name] = what
    for entry in pkgutil.iter_modules(discreet.__path__):
        if entry.ispkg and entry.name not in found:
            module = importlib.import_module(f"discreet.{entry.name}")
            if getattr(module, "__all__", None):
                found[entry.name] = module
    return {**found, "errors": errors}


def names_of(module: ModuleType) -> list[str]:
    """What a module lists; without a list, its own classes and functions."""
    listed = getattr(module, "__all__", None)
    own = (
        name
        for name, what in vars(module).items()
        if name[0] != "_" and getattr(what, "__module__", "") == module.__name__ and callable(what)
    )
    return sorted(listed if listed is not None else own)


@cache
def symbols() -> tuple[Symbol, ...]:
    """All public names that are no modules listed elsewhere."""
    known = modules()
    return tuple(
        Symbol(label, name, getattr(module, name))
        for label, module in known.items()
        for name in names_of(module)
        if label or name not in known
    )


@cache
def files() -> dict[str, str]:
    """The page of each name, by its path: no two differ in capitals alone, for file systems that see no difference."""
    found: dict[str, str] = {}
    taken = {f"module-{label}" for label in modules()}
    for symbol in symbols():
        page = symbol.path
        while page.casefold() in taken:
            page += "-"
        taken.add(page.casefold())
        found[symbol.path] = f"{page}.md"
    return found


def first_of(what: object) -> Symbol:
    """The shortest name of an object: the others are the same thing."""
    same = [symbol for symbol in symbols() if symbol.what is what]
    return min(same, key=lambda symbol: len(symbol.path))


def kind_of(what: object) -> str:
    """A word for it."""
    if inspect.ismodule(what):
        return "module"
    if not inspect.isclass(what):
        return "function" if callable(what) else "value"
    if issubclass(what, Exception):
        return "error"
    return "choice" if issubclass(what, Enum) else "class"


def summary(what: object) -> str:
    """The first paragraph of its docstring, on one line."""
    return to_markdown(" ".join(_doc(what).split("\n\n")[0].split()))


def _doc(what: object) -> str:
    return inspect.getdoc(what) or ""


def to_markdown(text: str) -> str:
    """A docstring's own marks in Markdown: names in double backticks."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


@cache
def _import_from(path: str, name: str) -> str:
    """The shortest public module that has a name of an inner one; the inner one, if none has."""
    what = getattr(importlib.import_module(path), name)
    public = [f"discreet.{one.module}".rstrip(".") for one in symbols() if one.what is what and one.name == name]
    return min((module for module in public if importlib.util.find_spec(module)), key=len, default=path)


def public_imports(text: str) -> str:
    """An example whose imports are those that users write: docstrings import from the modules beside them.

    >>> public_imports(">>> from discreet.privacy.promises.measures import GDP, Pure")
    '>>> from discreet import GDP, Pure'
    """

    def rewritten(found: re.Match[str]) -> str:
        names: dict[str, list[str]] = {}
        for name in found[3].split(", "):
            names.setdefault(_import_from(found[2], name), []).append(name)
        return "\n".join(f"{found[1]}from {module} import {', '.join(each)}" for module, each in names.items())

    return re.sub(r"(?m)^( *>>> )from (discreet\.[\w.]+) import (\w+(?:, \w+)*)$", rewritten, text)


def prose(text: str) -> str:
    """A docstring as Markdown: examples become blocks, a guarantee stands out."""
    text = public_imports(text)
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{inspect.cleandoc(part)}\n```")
        elif all(line.startswith("    ") for line in part.split("\n")):
            parts.append(f"```text\n{inspect.cleandoc(part)}\n```")
        elif part.startswith(("Guarantee:", "Promise:")):
            title, _, rest = part.partition(":")
            inside = to_markdown(rest.strip()).replace("\n", "\n    ")
            parts.append(f'!!! success "{title}"\n    {inside}')
        else:
            parts.append(re.sub(r"(?m)^- ", "\n- ", to_markdown(part), count=1))
    return "\n\n".join(parts).replace("```\n\n```pycon\n", "\n")


def signature(shown: str, what: object) -> str:
    """How it is called, one parameter on a line where it is long."""
    try:
        found = inspect.signature(what)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return shown
    parameters = list(found.parameters.values())
    if parameters and parameters[0].name == "self":
        found = found.replace(parameters=parameters[1:])
    if inspect.isclass(what):
        found = found.replace(return_annotation=inspect.Signature.empty)
    text = re.sub(r"<(\w+\.\w+): .*?>", r"\1", str(found)).replace("'", "") if "<" in str(found) else str(found)
    text = re.sub(r": '(.*?)'(?=[,)= ])", r": \1", text)
    text = re.sub(r"-> '(.*)'$", r"-> \1", text)
    text = re.sub(r"<[\w.]+ object at 0x[0-9a-f]+>|<function .*?>", "...", text)
    if len(shown) + len(text) <= LONGEST:
        return shown + text
    inside, closing = text[1:].rsplit(")", 1) if "->" not in text else text[1:].split(") ->", 1)
    tail = f") ->{closing}" if "->" in text else ")"
    lines = "".join(f"    {part},\n" for part in _split(inside))
    return f"{shown}(\n{lines}{tail}"


def _split(parameters: str) -> list[str]:
    """Parameters at commas that stand in no bracket."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(parameters):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            found.append(parameters[start:at].strip())
            start = at + 1
    return [*found, parameters[start:].strip()]


def members(what: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties of a class of ours, in the order of the source."""
    seen = set()
    for kind in what.__mro__:
        if not kind.__module__.startswith("discreet"):
            continue
        for name, member in vars(kind).items():
            plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            is_field = dataclasses.is_dataclass(kind) and name in {field.name for field in dataclasses.fields(kind)}
            if name[0] == "_" or name in seen or is_field:
                continue
            if inspect.isfunction(plain) or isinstance(plain, property):
                seen.add(name)
                if _doc(plain):
                    yield name, plain


def returned(what: object) -> type | None:
    """The class of ours that a function makes, if it says so."""
    hint = getattr(what, "__annotations__", {}).get("return")
    found = getattr(what, "__globals__", {}).get(hint) if isinstance(hint, str) else hint
    return found if inspect.isclass(found) and found.__module__.startswith("discreet") else None


@cache
def makers(what: type) -> frozenset[str]:
    """How the functions and methods that return a class are called: ``dp.name``, ``method()``."""
    functions = {
        symbol.shown for symbol in symbols() if kind_of(symbol.what) == "function" and returned(symbol.what) is what
    }
    classes = {symbol.what for symbol in symbols() if inspect.isclass(symbol.what)}
    methods = {f"{name}()" for each in classes for name, member in members(each) if returned(member) is what}
    return frozenset(functions | methods)


def proof_beside(symbol: Symbol) -> Path | None:
    """The proof of the module that defines it, below ``src/discreet``."""
    where = SOURCE.parent / f"{symbol.home.replace('.', '/')}.md"
    return where.relative_to(SOURCE) if where.exists() else None


def page(symbol: Symbol) -> str:
    """The page of one name."""
    what, shown, first = symbol.what, symbol.shown, first_of(symbol.what)
    group = f"[{'discreet' if not symbol.module else symbol.module}](module-{symbol.module or 'discreet'}.md)"
    head = [f"# {shown}", f"{group} · {kind_of(what)} · `{symbol.home}`"]
    if first.path != symbol.path:
        return "\n\n".join([*head, summary(what), f"The same as [`{first.shown}`]({files()[first.path]}).", ""])
    body = [f"```python\n{signature(shown, what)}\n```"] if callable(what) else [f"```python\n{what!r}\n```"]
    body.append(prose(_doc(what)))
    body += _parameters(symbol)
    made = None if inspect.isclass(what) else returned(what)
    if made is not None and not any(other.what is made for other in symbols()):
        body += [f"## Returns: {made.__name__}", prose(_doc(made))]
    body += _example(symbol, "\n".join(body))
    body += _choices(what) if inspect.isclass(what) and issubclass(what, Enum) else []
    proof = proof_beside(symbol)
    if proof is not None:
        body += ["## Proof", f"[{proof}](../../explanation/proofs/{proof}) is the proof of the code in this module."]
    body += _errors(what)
    owner = what if inspect.isclass(what) else made
    if owner is not None:
        body += _members(shown if inspect.isclass(what) else owner.__name__, owner)
    return "\n\n".join([*head, *body, ""])


def described(symbol: Symbol) -> list[Parameter]:
    """The parameters of a function, or of a class that users make themselves: others come from what returns them."""
    what: Any = symbol.what
    kind = kind_of(what)
    is_made_elsewhere = kind == "class" and symbol.path not in _MADE_BY_USERS and makers(what) - {symbol.shown}
    return [] if kind not in {"function", "class"} or is_made_elsewhere else parameters(symbol.path, what)


_MADE_BY_USERS = frozenset({
    "Approx", "GDP", "Pure", "Renyi", "Session", "ZCDP", "biased.SanthaVazirani", "noise.Grid", "randomness.Replay",
    "synthetic.Domain",
})  # fmt: skip


def _parameters(symbol: Symbol) -> list[str]:
    rows = [
        f"| `{one.name}` | {f'`{one.default}`' if one.default else ''} | {_cell(one.meaning)} |"
        for one in described(symbol)
    ]
    return (
        ["## Parameters", "\n".join(["| parameter | default | what it is |", "|---|---|---|", *rows])] if rows else []
    )


def _example(symbol: Symbol, body: str) -> list[str]:
    """An example of the guides, where the docstring has none."""
    if "```pycon" in body:
        return []
    is_class = inspect.isclass(symbol.what)
    found: Example | None = find_example(
        symbol.shown, symbol.name, is_class, makers(symbol.what) if is_class else frozenset()
    )
    if found is None:
        return []
    return ["## Example", f"From [{found.title}](../../{found.page}):", f"```{found.kind}\n{found.code}\n```"]


def _choices(what: type[Enum]) -> list[str]:
    rows = [f"| `{member.name}` | {member.value} |" for member in what]
    return ["## Choices", "\n".join(["| name | value |", "|---|---|", *rows])]


def _errors(what: object) -> list[str]:
    found = [name for name in raised_by(what) if hasattr(errors, name)]
    if not found:
        return []
    lines = [f"- [`{name}`](errors.{name}.md): {summary(getattr(errors, name))}" for name in found]
    note = "What its code, and the code that it calls, may raise; [what to do about each](../errors.md)."
    return ["## Errors", note, "\n".join(lines)]


def _members(shown: str, owner: type) -> list[str]:
    found = ["## Methods and properties"]
    for name, member in members(owner):
        if isinstance(member, property):
            found += [f"### {name}", f"`{shown}.{name}`", prose(_doc(member))]
        else:
            text = signature(name, member)
            found += [f"### {name}()", f"```python\n{text}\n```", prose(_doc(member))]
    return found if len(found) > 1 else []


def module_page(label: str, module: ModuleType) -> str:
    """The page of a module: what it is for, and a line for each of its names."""
    shown = "discreet" if not label else f"{'dp' if label in discreet.__all__ else 'discreet'}.{label}"
    rows = [
        f"| [`{symbol.name}`]({files()[symbol.path]}) | {kind_of(symbol.what)} | {_cell(summary(symbol.what))} |"
        for symbol in symbols()
        if symbol.module == label
    ]
    table = "\n".join(["| name | kind | what it is |", "|---|---|---|", *rows])
    return "\n\n".join([f"# {shown}", prose(_doc(module)), table, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def module_index() -> str:
    """A table of all modules."""
    rows = [
        f"| [`{label or 'discreet'}`](api/module-{label or 'discreet'}.md) "
        f"| {len(names_of(module))} | {_cell(summary(module))} |"
        for label, module in modules().items()
    ]
    return "\n".join(["| module | names | what it is for |", "|---|---|---|", *rows])


def write(folder: Path) -> None:
    """All pages into a folder."""
    folder.mkdir(parents=True)
    for label, module in modules().items():
        (folder / f"module-{label or 'discreet'}.md").write_text(module_page(label, module))
    for symbol in symbols():
        (folder / files()[symbol.path]).write_text(page(symbol))
