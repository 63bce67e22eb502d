"""What the parameters of a public function or class mean: the sentence of its docstring that names one; or else what
the name means everywhere, or in one module.

A name means one thing wherever it stands in ``EVERYWHERE``; where a module or a single name differs, ``THERE`` has it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

_NUMBER = 'an integer, a Fraction, a float or a text such as "0.1" or "1/3"'
EVERYWHERE = {
    "bits": "where random bits come from; `None`: the operating system",
    "bounds": "the least and the largest value, from public knowledge; values outside are clamped",
    "budget": 'what all of it together may cost, such as `dp.Approx(1, "1e-6")`',
    "candidates": "the public values among which one is chosen, in order",
    "classes": "the public list of classes",
    "clip": "the largest length of one person's contribution; longer ones are scaled down",
    "column": "the name of a column",
    "confidence": "of the interval: 0.95 means that it holds in at least 95% of releases",
    "delta": "the probability δ that the guarantee of ε may fail",
    "domain": "the public values of each column",
    "dimension": "how many numbers are released together",
    "epsilon": f"the privacy cost ε: {_NUMBER}",
    "failure": "the probability that the statement is wrong",
    "high": "the largest value; larger ones are clamped to it",
    "horizon": "how many steps there will be at most; `None`: any number",
    "key_sets": "which combinations of keys may stand together",
    "low": "the least value; smaller ones are clamped to it",
    "max_rows": "the contribution bound: how many rows of one unit count",
    "monotone": "whether one unit can only raise all scores, or only lower them; then less noise is enough",
    "mu_squared": "the square of μ, in place of μ",
    "name": "how it is called",
    "neighbours": "which data count as neighbours: one unit added or removed, or one changed",
    "nullable": "whether values may be missing",
    "progress": "a function that is called with the state of the work",
    "receipt": "of a filter or ledger that was charged for this release; it is redeemed before data is read",
    "rho": "the privacy cost in zCDP, in place of `epsilon`",
    "rule": "how costs are added up",
    "scale": "of the noise, in place of `epsilon`",
    "sensitivity": "how far the value moves at most between neighbours",
    "sensitivity_squared": "the square of the sensitivity, where that is no fraction",
    "sigma": "the standard deviation of the noise",
    "sigma_squared": "the square of `sigma`, where `sigma` itself is no fraction",
    "step": "the distance of neighbouring candidates or cells",
    "unit": "of each row, whose it is: the rows of one unit together are protected; `None`: each row is a unit",
    "values": "the numbers or categories, one for each row",
    "weight": "how much it matters beside the others",
    "workload": "the questions: marginals, prefixes, ranges or counts",
}
"""Name of a parameter -> its meaning, unless ``THERE`` has another."""

THERE = {
    "agg": {
        "x": "a column, an expression, or SQL as text",
        "y": "the second column",
        "where": "a condition: only rows that pass it count",
        "level": "which part of the rows lies below: 0.5 is the median",
        "keys": "the keys of the grouping sets",
    },
    "biased": {
        "model": "of the weak source: what is assumed of its bits",
        "min_entropy": "how many bits of randomness each block has at least",
        "gamma": "how far each bit may be from fair",
        "base_epsilon": "1 over the scale of the noise",
    },
    "checking": {
        "claim": "the guarantee that is tested",
        "pair": "two neighbouring inputs",
        "confidence": "of the certified lower bound of ε",
        "canaries": "rows of which a random half is put into the data",
    },
    "continual": {
        "steps": "in how many steps one unit counts at most",
        "separation": "how many steps lie at least between two of one unit",
        "method": "the mechanism; `best` has the least error for this horizon",
        "cell": "the grid on which numbers are rounded",
        "record": "a place that keeps the state, so that a stream can be resumed",
        "rate": "by which older steps count less",
        "k": "how many are named",
        "keys": "the public list of keys",
    },
    "engines": {
        "table": "the name of the table",
        "schema": "the schema in which it lies",
        "path": "the file of the database",
        "connect_timeout": "seconds until a server counts as unreachable",
        "session": "a session of Spark",
    },
    "events": {
        "how": "how rows are sampled: each by itself, or a fixed number",
        "rate": "which part of the rows is sampled",
        "event": "what ran",
        "knots": "the points of the trade-off curve, joined by straight lines",
        "noise": "the noise of each score",
    },
    "inference": {
        "groups": "the group of each row",
        "keys": "the public list of groups",
        "x": "the first column",
        "y": "the second column",
        "x_bounds": "value bounds of the first column",
        "y_bounds": "value bounds of the second column",
        "row_keys": "the public list of values of the first column",
        "column_keys": "the public list of values of the second column",
        "rows": "the first column, a category for each row",
        "columns": "the second column, a category for each row",
        "outcomes": "whether it happened, for each row",
        "happened": "whether the event happened, for each row; otherwise the row was censored then",
        "times": "when it happened or was censored, for each row",
        "edges": "the public moments at which the curve is read",
        "shares": "the expected share of each category",
        "bins": "how many public bins the values are counted in",
        "difference": "the difference of means that is to be found",
        "spread": "the standard deviation that is expected in each group",
        "level": "the probability of finding a difference that is not there",
        "power": "the probability of finding a difference of this size",
    },
    "learning": {
        "columns": "the columns, each with its public bounds or categories",
        "rows": "the data, one row for each record",
        "queries": "how many statistical queries may be asked",
        "data": "the rows to train on",
        "target_bounds": "value bounds of what is predicted",
        "n_bins": "how many bins",
        "bins": "how many bins of equal width",
        "edges": "the ends of the bins, in place of `bins`",
        "missing": "whether missing values get a bin of their own",
        "values": "the public list of categories",
        "moves_squared": "how far one unit moves the sums: the square of the L2 length",
        "model": "a fitted model",
        "text": "what `to_json` wrote",
        "loss": "the loss function of torch",
        "epochs": "how often the data is gone through, on average",
        "micro_batch": "how many rows are computed at a time, which changes no result",
        "settings": "the settings to try",
        "run": "one training that was tried",
        "stop": "the probability of stopping after each try",
        "labels": "the class of each row",
        "canary_rows": "made-up rows of which half are put into the data",
        "canary_labels": "their classes",
    },
    "local": {
        "k": "how many values there are; values are 0 to k - 1",
        "people": "how many people report",
        "clients": "how many people report",
        "dropouts": "how many of them may not finish",
        "oracle": "the frequency oracle with which reports were made",
        "payload": "a report",
        "method": "the randomizer; `best` has the least variance in the worst case",
        "places": "of the grid on which numbers are rounded",
        "alphabet": "the letters of which values are made",
        "keep": "how many prefixes are kept in each round",
        "cells": "how many values a hash has; `None`: the number with the least error",
        "messages": "the reports as they came in",
        "one": "the probability of reporting 1 where the permanent bit is 1",
        "zero": "the probability of reporting 1 where the permanent bit is 0",
        "noise": "which share of the permanent bits is random",
        "step": "how many bytes longer prefixes get in each round",
        "n": "how many people report",
        "values": "the estimates",
    },
    "mechanisms": {
        "keys": "the public list of keys",
        "bins": "the ends of public bins, in order",
        "k": "how many are chosen",
        "d": "how many attributes each record has",
        "q": "the level: 0.5 is the median",
        "qs": "the levels",
        "rate": "of the exponential noise, in place of `epsilon`",
        "thresholds": "the public values at which it is read",
        "strategy": "which counts get noise; `best` has the least error",
        "rows": "the data",
        "real": "whether values are real numbers, which are rounded to a grid first",
        "x": "the first column",
        "y": "the second column",
        "threshold": "above which an answer is reported",
        "stop_after": "how many answers above it there may be",
        "rank": "how many records should lie beyond the answer",
        "each": "the mechanism that is run once for each choice",
        "test_epsilon": "the part of ε that tests the distance",
        "release_epsilon": "the part of ε that is spent on the answer",
        "keys_per_unit": "how many keys one unit has at most",
        "count_per_key": "how often one unit counts at each key at most",
        "statistic": "the function whose distance to instability is found",
        "noise": "Laplace, Gumbel or exponential",
        "domain": "the public values of a record",
    },
    "noise": {
        "size": "how many, or the shape of an array; `None`: one number",
        "n": "how many different integers there are",
        "p": "the probability of `True`",
        "weights": "how likely each place is, relative to the others",
        "scores": "the score of each candidate",
        "rate": "by which scores count",
        "scale": "of the noise",
        "exponent": "cells are powers of two with this exponent",
        "centre": "the number that is the cell 0",
        "missing": "what missing values count as",
    },
    "plots": {
        "event": "what runs, once for each point",
        "composition": "events that ran together",
        "deltas": "the values of δ at which ε is drawn",
        "alphas": "the rates of false positives at which the curve is drawn",
    },
    "randomness": {
        "value": "the bits to replay, as an integer",
        "length": "how many of them",
        "source": "where bits come from",
        "kind": "the type of the words, such as `numpy.uint64`",
    },
    "stable": {
        "by": "the field, or a function of a row, that is the key",
        "of": "the field that is summed",
        "missing": "the number between the bounds that missing values count as",
        "keys": "the public list of keys",
        "salt": "of the hash by which rows are chosen; secret",
        "releases": "chains that end in a mechanism",
        "l1": "how far the sum of absolute differences moves at most",
        "l2_squared": "how far the sum of squared differences moves at most",
        "linf": "how far the largest difference moves at most",
        "metric": "how neighbours are measured before the map",
        "to": "the type",
        "function": "a function that you answer for",
        "fill": "what stands in for rows that are not there",
        "f": "a total function of one row",
        "how": "what a changed row is",
        "domain": "which inputs the map accepts",
        "data": "the rows",
    },
    "synthetic": {
        "table": "the rows: a dict of columns, an Arrow table or a frame",
        "columns": "the columns of the table",
        "keys": "the public list of values",
        "values": "the public list of values",
        "bins": "how many bins of equal width, or their ends",
        "size": "the column that says how many persons a household has",
        "households": "the publication, or tables, of households",
        "persons": "the publication, or tables, of persons",
        "publication": "the tables that are wanted",
        "hierarchy": "the places, from `dp.hierarchy`",
        "tables": "the tables that are wanted, each a list of columns",
        "weights": "how much each table matters",
        "plan": "how the budget is spread, from `plans`; `None`: the best",
        "quick": "whether fewer iterations are enough",
        "model_cells": "how many cells the model may have at most",
        "questions": "how many questions there may be",
        "public_totals": "totals that are known and need no noise",
        "what": "marginals, prefixes, ranges or counts",
        "split": "how the budget is shared between levels",
        "edges": "the ends of the bins",
                "cancel": "a function that is asked between steps whether to stop",
        "share": "which part of the budget the households get",
    },
    "ledger": {
        "location": "a file of SQLite or the address of a PostgreSQL database",
        "public_key": "of the ledger, against which signatures are checked",
        "text": "the signed paper, as it was handed out",
        "card": "the release card",
        "answer": "the bytes of the answer, which the card names by their hash",
        "lines": "the exported entries, one JSON object each",
        "patience": "seconds to wait for another process",
        "create": "whether a new ledger may be made",
        "clock": "what tells the time",
        "key": "the file of the signing key",
        "reason": "why; it is recorded",
        "by": "who does it; it is recorded",
        "head": "the file that remembers the last entry",
        "receipts": "receipts whose charges must be in the chain",
    },
    "checking.check_query": {
        "query": "a query of a session",
        "tables": "how many pairs of tables are tried",
        "most_rows": "how many rows a made-up table has at most",
        "engine": "where the tables are queried; `None`: the engine of the session",
        "seed": "of the made-up tables",
    },
    "checking.publish": {"mechanism": "the mechanism to release with", "value": "its exact input"},
    "checking.replay": {
        "pipeline": "a function of the data that makes releases",
        "distance": "how many steps the two inputs are apart",
    },
    "continual.window_accuracy": {"counter": "the counter", "t": "the step at which the window ends"},
    "errors.code_of": {"kind": "a class of errors"},
    "expr": {"given": "an expression, or SQL as text"},
    "learning.ExactSums": {"values": "the sums, in cells"},
    "learning.train": {"model": "the torch module to train"},
    "noise.bernoulli_exp": {"x": "the exponent, at least 0"},
    "synthetic.count": {"where": "a condition in SQL"},
    "synthetic.memory_for": {"rows": "how many rows will be drawn"},
    "synthetic.nest": {"receipt": "what was charged for both"},
    "synthetic.predicate": {"where": "a condition in SQL"},
    "synthetic.private_categories": {"keys_per_unit": "how many categories one unit has at most"},
    "": {
        "source": "rows in memory, a frame, or the name of a file, folder or table",
        "columns": "what is publicly known of columns: `dp.bounds`, `dp.keys` or `dp.unknown_keys`",
        "values": "the public list of values",
        "tables": "the tables by name, as a dict; or give them as keyword arguments",
        "named": "each table under its name",
        "engine": "where the tables lie: `dp.engines.duckdb()` if left out",
        "reserve": "which part of δ is kept for the second account",
        "x": "a column, an expression, or SQL as text",
        "value": "a constant",
        "branches": "pairs of a condition and a value; the first condition that holds counts",
        "tolerance": "how far from the least noise the result may be, as a share of it",
        "thing": "a mechanism, a chain or a claim",
        "claim": "the guarantee that is tested; `None`: the one that is stated",
        "most_pairs": "how many pairs of neighbours are compared at most",
        "pair": "two neighbouring inputs",
        "url": "the address of the curator",
        "token": "the analyst's token",
        "levels": "the columns of the places, the largest first",
        "rate": "of the exponential noise, in place of `epsilon`",
        "first": "an event, several, a mechanism, or the law of the output on one input",
        "second": "the law of the output on the neighbouring input",
        "confidence": "of the certified lower bound of ε",
        "event": "what ran",
        "given": "the events that ran",
        "randomness": "the model of a weak source of bits; `None`: fair bits",
        "real": "whether values are real numbers, which are rounded to a grid first",
    },
}  # fmt: skip
"""Module or single name, as it is written after ``dp.`` -> name of a parameter -> its meaning there."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as its page shows it."""

    name: str
    default: str
    meaning: str


def parameters(path: str, what: Any) -> list[Parameter]:
    """All parameters of a function or class, each with its meaning, or an empty text where nobody wrote one.

    >>> from discreet.noise import uniform_below
    >>> parameters("noise.uniform_below", uniform_below)[0].meaning
    'how many different integers there are'
    """
    try:
        listed = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return []
    docs = [inspect.getdoc(what) or "", inspect.getdoc(what.__init__) or "" if inspect.isclass(what) else ""]
    prose = " ".join(" ".join(re.split(r"(?m)^\s*>>>", doc)[0].split()) for doc in docs)
    shown = (one for one in listed if not one.name.startswith("_") and one.name not in {"self", "args", "kwargs"})
    return [Parameter(_starred(one), _default(one), _meaning(one.name, path, prose)) for one in shown]


def _starred(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    return stars + one.name


def _default(one: inspect.Parameter) -> str:
    if one.default is one.empty:
        return ""
    return re.sub(r"^<(.*?):.*>$|^<.*>$", r"\1", repr(one.default)) or "..."


def _meaning(name: str, path: str, prose: str) -> str:
    for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z`])", prose):
        if re.search(rf"``{name}\b", sentence):
            return re.sub(r"``(.+?)``", r"`\1`", sentence)
    module = path.rpartition(".")[0]
    return THERE.get(path, {}).get(name) or THERE.get(module, {}).get(name) or EVERYWHERE.get(name, "")
