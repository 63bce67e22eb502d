"""Case files: a question, the plan it becomes, how far one unit reaches, and the SQL of each dialect, as text.

A file holds sections, each under a line "-- name". ``-- ask`` is written by hand; everything else can be written by
``python -m tests.cases --write`` and is then read by a person and by the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from discreet.engines.experimental.dialects import BIGQUERY, MYSQL, SNOWFLAKE
from discreet.engines.experimental.sqlserver import SQLSERVER
from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.errors import BadQuestion, Unsupported
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.prepare import Job, Part, jobs, prepare
from discreet.query.estimate.statistics import Bins, Distinct, QuantileCells, Rows, Statistic, Units
from discreet.query.front.sql.parse import question
from discreet.query.lower.lower import lower_question
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Filter, Join, Measure, PerUnit, Project, Question, Relation, Scan, UnionAll
from discreet.query.plan.schema import Schema
from discreet.query.run import Quote, quote
from tests.helpers.shop import schemas

FOLDER = Path(__file__).resolve().parent.parent / "cases"
DIALECTS: tuple[Dialect, ...] = (DUCKDB, POSTGRES, SPARK)
WAREHOUSES: tuple[Dialect, ...] = (BIGQUERY, SNOWFLAKE, MYSQL, SQLSERVER)
"""Experimental; Databricks says what Spark says, and MariaDB what MySQL says in another collation."""
ALLOWANCE = Approx(1, Fraction(1, 10**8))
SALT = "salt"


@dataclass(frozen=True)
class Case:
    """A file of cases, by its sections."""

    name: str
    sections: Mapping[str, str]

    @property
    def ask(self) -> str:
        """The question."""
        return self.sections["ask"]

    def text(self) -> str:
        """The file."""
        return "\n".join(f"-- {name}\n{body}\n" for name, body in self.sections.items())


@cache
def cases() -> dict[str, Case]:
    """All cases, by the name of their file."""
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.txt"))}


@cache
def warehouse_cases() -> dict[str, Case]:
    """Some of the same questions in the experimental dialects, by the name of their file."""
    return {path.stem: read(path) for path in sorted((FOLDER / "warehouses").glob("*.txt"))}


def answered() -> dict[str, Case]:
    """The cases that are not refused."""
    return {name: case for name, case in cases().items() if "refused" not in case.sections}


def read(path: Path) -> Case:
    """A file by its sections."""
    parts = re.split(
        r"^-- (ask|plan|refused|sensitivity|sql \w+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    names, bodies = parts[1::2], parts[2::2]
    assert not parts[0].strip(), path
    assert len(set(names)) == len(names), path
    return Case(path.stem, {name: body.strip("\n") for name, body in zip(names, bodies, strict=True)})


def written(case: Case) -> Case:
    """The case as it is now: all sections follow from the question."""
    found = {"ask": case.ask}
    try:
        asked = question(case.ask, {name: schema.fields for name, schema in schemas().items()})
        found["plan"] = "\n".join(plan(asked))
        priced = priced_question(asked, schemas())
    except BadQuestion as refusal:
        return Case(case.name, found | {"refused": f"{type(refusal).__name__}: {refusal}"})
    found["sensitivity"] = "\n".join(sensitivity(priced))
    for dialect in DIALECTS:
        found[f"sql {dialect.name}"] = ";\n\n".join(laid_out(text) for text in texts(priced, dialect))
    return Case(case.name, found)


def texts(priced: Quote, dialect: Dialect) -> list[str]:
    """The SQL of every work of a question."""
    origins = {name: Origin(dialect.identifier(name), schema.stored) for name, schema in schemas().items()}
    return [emit(job.work, dialect, origins).sql for job, _ in todo(priced)]


def written_for_warehouses(case: Case) -> Case:
    """The case in the experimental dialects; what one of them refuses, by name."""
    asked = question(case.ask, {name: schema.fields for name, schema in schemas().items()})
    priced, found = priced_question(asked, schemas()), {"ask": case.ask}
    for dialect in WAREHOUSES:
        try:
            found[f"sql {dialect.name}"] = ";\n\n".join(laid_out(text) for text in texts(priced, dialect))
        except Unsupported as refusal:
            found[f"sql {dialect.name}"] = f"refused: {refusal}"
    return Case(case.name, found)


# --- from a question to works ----------------------------------------------------------------------------------------


def priced_question(asked: Question, tables: Mapping[str, Schema]) -> Quote:
    """The question with its noise, at one price for all cases."""
    return quote([prepare(lower_question(asked, tables))], ALLOWANCE, Neighbours.ADD_REMOVE)


def todo(priced: Quote) -> Iterator[tuple[Job, Mapping[Statistic, Noised]]]:
    """Every work of the question, and the noise of its statistics."""
    for part, noised, selection in zip(priced.parts, priced.plan.sets, priced.plan.selections, strict=True):
        for job in jobs(part, noised, selection, SALT):
            yield job, noised


# --- plans as text ---------------------------------------------------------------------------------------------------


def expression(e: Expression) -> str:
    """gt(amount, 10)."""
    match e:
        case Column(name):
            return name if re.fullmatch(r"\w+", name) else f'"{name}"'
        case Literal(str() as value):
            return f"'{value}'"
        case Literal(value):
            return "NULL" if value is None else str(value)
        case Call(function, arguments):
            return f"{function}({', '.join(map(expression, arguments))})"


def relation(node: Relation, depth: int = 0) -> Iterator[str]:
    """One line for each node, what it reads from below it."""
    indent = "  " * depth
    match node:
        case Scan(table):
            yield f"{indent}scan {table}"
        case Filter(source, predicate):
            yield f"{indent}filter {expression(predicate)}"
            yield from relation(source, depth + 1)
        case Project(source, columns):
            yield f"{indent}project {_named(columns)}"
            yield from relation(source, depth + 1)
        case Join(left, right, on, how):
            yield f"{indent}join {how.value} on {', '.join(f'{a} = {b}' for a, b in on) or 'nothing'}"
            yield from relation(left, depth + 1)
            yield from relation(right, depth + 1)
        case UnionAll(parts):
            yield f"{indent}union all"
            for part in parts:
                yield from relation(part, depth + 1)
        case PerUnit(source, keys, measures):
            yield f"{indent}per unit {_named(keys)}: {', '.join(map(measure, measures))}"
            yield from relation(source, depth + 1)


def _named(columns: tuple[tuple[str, Expression], ...]) -> str:
    return ", ".join(name if e == Column(name) else f"{name} = {expression(e)}" for name, e in columns) or "nothing"


def measure(m: Measure) -> str:
    """n = count(x) where ..."""
    level = "" if m.level is None else f" at {m.level}"
    where = "" if m.where is None else f" where {expression(m.where)}"
    return f"{m.name} = {m.aggregate.value}({', '.join(map(expression, m.arguments))}){level}{where}"


def plan(asked: Question) -> Iterator[str]:
    """The whole question, from the released rows down to the tables."""
    out = asked.outcome
    yield f"select {_named(out.columns)}"
    if out.having is not None:
        yield f"having {expression(out.having)}"
    if out.order:
        by = (expression(o.expression) + (" descending" if o.descending else "") for o in out.order)
        yield f"order by {', '.join(by)}"
    if out.limit is not None:
        yield f"limit {out.limit}"
    for names in asked.sets:
        yield f"group by {', '.join(names) or 'nothing'}"
    for key in asked.keys:
        yield f"key {key.name} = {expression(key.expression)}"
    for m in asked.measures:
        yield f"measure {measure(m)}"
    yield from relation(asked.source)


# --- how far one unit reaches ----------------------------------------------------------------------------------------


def sensitivity(priced: Quote) -> Iterator[str]:
    """For each grouping set what is counted and summed, and how far one unit moves all of it."""
    for part, noised, selection in zip(priced.parts, priced.plan.sets, priced.plan.selections, strict=True):
        yield f"group by {', '.join(key.name for key in part.keys) or 'nothing'}: {_groups(part)}"
        if selection is not None:
            yield f"  a unit names at most {selection.most_keys} keys; named if {selection.threshold} or more"
        for one in noised.values():
            yield f"  {_statistic(one.statistic)}; {_weights(one)}; one unit moves {claim(one)}"


def _groups(part: Part) -> str:
    domain = part.domain()
    return "keys are selected" if domain is None else f"{len(domain)} groups"


def _statistic(statistic: Statistic) -> str:
    match statistic:
        case Rows(value, bound, step):
            return f"sum of {expression(value)}, at most {bound} steps of {step}"
        case Units():
            return "units"
        case Distinct(value):
            return f"different values of {expression(value)}"
        case Bins(value, bins):
            return f"rows in {bins} bins of {expression(value)}"
        case QuantileCells(bins, levels):
            near = ", ".join(map(str, levels))
            return f"rows in cells of {bins.bins} bins of {expression(bins.value)}, near {near}"


def _weights(one: Noised) -> str:
    if one.reach is None:
        return "by hash"
    w = one.weights
    return f"{w.form.name} cap {w.cap}{'' if w.per_group is None else f' per group {w.per_group}'} scale {w.scale}"


def claim(one: Noised) -> str:
    """What the noise is made for."""
    noise = one.noise
    if isinstance(noise, Gaussian):
        return f"L2 squared {noise.moves_squared}"
    return f"L1 {noise.moves}"


# --- SQL as text -----------------------------------------------------------------------------------------------------

_WORDS = ("FROM", "WHERE", "GROUP BY", "HAVING", "JOIN", "LEFT JOIN", "UNION ALL")
_TOKEN = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\(|\)|\n|\b(?:" + "|".join(_WORDS) + r")\b")


def laid_out(sql: str) -> str:
    """The same statement with line breaks where a SELECT goes on; nothing but white space changes."""
    out, depth, last = [], 0, 0
    opened: list[bool] = []
    for token in _TOKEN.finditer(sql):
        text = token.group()
        out.append(sql[last : token.start()])
        last = token.end()
        if text == "(":
            nested = sql[last:].lstrip().startswith(("SELECT", "WITH"))
            opened.append(nested)
            depth += nested
            out.append("(\n" + "  " * depth if nested else "(")
        elif text == ")":
            depth -= opened.pop()
            out.append(")")
        elif text in _WORDS and not (text == "FROM" and opened and not opened[-1]):  # trim(BOTH ' ' FROM x) stays
            out.append("\n" + "  " * depth + text)
        else:
            out.append(text)
    text = "".join(out) + sql[last:]
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
