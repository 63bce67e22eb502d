"""``%%discreet``: a cell of SQL in a notebook, asked of a session that is there.

    %load_ext discreet
    session = dp.connect("https://curator.example", token)

    %%discreet session --epsilon 0.1 --into answer
    SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic

Promise: without a price, or with ``--preview``, nothing is paid: the cell shows what it would cost. With ``--key`` the
cell pays once, however often it is run.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

from discreet.errors import BadParameter

_PREVIEWED = "0.1"


class Shell(Protocol):
    """What is used of IPython."""

    user_ns: dict[str, Any]

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None:
        """Make a magic known."""


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadParameter("%%discreet", message, "must be such as: %%discreet session --epsilon 0.1")


def _options() -> argparse.ArgumentParser:
    parser = _Options(prog="%%discreet", add_help=False)
    parser.add_argument("session")
    for name in ("epsilon", "delta", "rho", "error", "confidence", "key", "into"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--preview", action="store_true")
    return parser


def ask_cell(line: str, cell: str, names: dict[str, Any]) -> Any:
    """What a cell shows: a preview, or the answer. ``names`` are the variables of the notebook."""
    given = _options().parse_args(shlex.split(line))
    session = names.get(given.session)
    if session is None or not hasattr(session, "sql"):
        raise BadParameter("session", given.session, "must be a variable that holds a session")
    query = session.sql(cell)
    price = _price(given)
    if given.preview or not price:
        return query.preview(**(price or {"epsilon": _PREVIEWED}))
    more = {} if given.key is None else {"key": given.key}
    answer = query.release(**price, **more)
    if given.into is not None:
        names[given.into] = answer
    return answer


def _price(given: argparse.Namespace) -> Mapping[str, Any]:
    named = ("epsilon", "delta", "rho", "error", "confidence")
    options = {name: getattr(given, name) for name in named if getattr(given, name) is not None}
    return options if {"epsilon", "rho", "error"} & set(options) else {}


def load_ipython_extension(shell: Shell) -> None:
    """Called by ``%load_ext``."""

    def discreet(line: str, cell: str) -> Any:
        """Ask a question in SQL of a session."""
        return ask_cell(line, cell, shell.user_ns)

    shell.register_magic_function(discreet, "cell", "discreet")
