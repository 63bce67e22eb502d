"""curator.toml: where the ledger and the data are, what is declared of the data, and what the service allows.

    [server]    data = "data"  ledger = "curator.ledger"  quantum = 0.25  host = "127.0.0.1"  port = 8750
                wire, hosts, proxies, certificate, certificate_key, engines, grid, witness, log, audit
    [sign_on]   issuer, client, secret, redirect, claim, hours: a provider of OpenID Connect
    [limits]    requests_per_second, burst, under_way, body, patience, groups, tables, planning, deadline, memory
    [datasets.hospital]         budget = {epsilon = "2", delta = "1e-9"}  protects = "one patient"
    [datasets.hospital.tables.visits]   as in declarations.py

Promise: what is read is exact (0.1 is one tenth) and complete; what is not understood is refused with its place in the
file. Paths are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from discreet.curator.limits import Limits
from discreet.curator.service import declarations
from discreet.curator.service.identity_provider import check_address
from discreet.curator.service.reply_timing import Steps
from discreet.curator.service.sections import Flag, OptionalText, Section, Text, must, read_section, reads, table_of
from discreet.errors import BadParameter
from discreet.exact import number
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours

PORT = 8750
ENGINES = 5
"""Enough for four short questions beside a long one; a process is started when it is needed."""


def _copies(folder: Path, config: ServerSection) -> Path:
    """Where prepared copies lie: beside the ledger, or its head file."""
    beside = config.head if "://" in config.ledger and config.head is not None else config.ledger
    return (folder / ("" if "://" in beside else beside)).parent / "prepared"


def _quantum(value: Any, place: str) -> Fraction:
    exact = number(value, place)
    if not Fraction(1, 100) <= exact <= 60:
        raise BadParameter(place, exact, "must be between 0.01 and 60 seconds")
    return exact


def _optional_quantum(value: Any, place: str) -> Fraction | None:
    return None if value is None else _quantum(value, place)


def _safe_address(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise BadParameter(place, value, "must be an address")
    return check_address(value, place)


_STEPS = 'must be "geometric", "double" or "even"'
Texts = Annotated[list[Annotated[StrictStr, Field(min_length=1)]], must("must be a list of texts")]


class ConfiguredDataset(Section):
    """A data set of the file, a ``[datasets.NAME]`` table: its declaration, and the budget of the people in it."""

    tables: Annotated[declarations.Dataset, reads(declarations.read_tables)] = Field(None, validate_default=True)
    population: Annotated[str, reads(declarations.read_name)] = ""
    """Its own name, if left out."""
    protects: Text = "one person"
    """Whom the budget protects, in words that analysts see."""
    neighbours: Annotated[Neighbours, reads(declarations.read_neighbours)] = Neighbours.ADD_REMOVE
    rule: Annotated[Rule | None, reads(declarations.read_rule)] = None
    budget: Annotated[Measure | None, reads(declarations.read_promise)] = None
    """None: another data set of the same population has it."""
    decision: OptionalText = None
    """Why its people have a budget of their own, though they look like people who have one already; it is recorded."""
    quantum: Annotated[Fraction | None, reads(_optional_quantum)] = None
    """Of its own grid of time; the server's, if left out."""
    grid: Annotated[Steps | None, must(_STEPS)] = None
    """Of its own grid of time; the server's, if left out."""
    version: OptionalText = None
    """Which data these are, in the owner's words: answers are shared as long as it stays. None: the files tell."""
    answers_apart: Flag = False
    """Whether analysts get their own answers only."""
    prepared: Flag = False
    """Whether questions are answered from private copies of its files, sorted by unit."""

    @property
    def declared(self) -> declarations.Dataset:
        """The data set as it is registered."""
        return replace(self.tables, version=self.version, answers_apart=self.answers_apart)


class SignOnConfig(Section):
    """The ``[sign_on]`` table: who says who somebody is."""

    issuer: Annotated[str, reads(_safe_address)]
    client: Text
    """What the provider calls this service."""
    secret: OptionalText = None
    """The file that holds the client's secret."""
    redirect: Annotated[str, reads(_safe_address)]
    """The address of the page, as the provider knows it."""
    claim: Annotated[Literal["sub", "email"], must('must be "sub" or "email"')] = "sub"
    hours: Annotated[StrictInt, Field(ge=1, le=168), must("must be an integer from 1 to 168")] = 8
    """How long somebody who signed on need not do so again."""

    def read_secret(self) -> str | None:
        """The client's secret, from a file that is its owner's alone."""
        if self.secret is None:
            return None
        file = Path(self.secret)
        try:
            text, mode = file.read_text(encoding="utf-8").strip(), file.stat().st_mode
        except (OSError, UnicodeDecodeError):
            raise BadParameter("sign_on.secret", file.name, "must be a file that can be read") from None
        if mode & 0o077 or not text:
            raise BadParameter(
                "sign_on.secret", file.name, "must hold the secret, and be for its owner alone: chmod 600"
            )
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything in curator.toml."""

    data: Path
    ledger: str | Path
    key: Path | None = None
    head: Path | None = None
    host: str = "127.0.0.1"
    """The address to listen on: this machine alone unless said."""
    port: int = PORT
    """The port to listen on."""
    wire: int | None = None
    """The port for clients of PostgreSQL; none unless said."""
    processes: int = 1
    engines: int = ENGINES
    """Engine processes of each data set, and so questions about it that are computed at the same time."""
    quantum: Fraction = Fraction(1, 4)
    """Replies to questions leave on a grid of time that starts with so many seconds."""
    grid: Steps = "geometric"
    hosts: tuple[str, ...] = ()
    """Names that the service answers to, besides those of this machine."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For is believed."""
    certificate: Path | None = None
    """The certificate for TLS, in PEM; without one, a proxy in front speaks TLS."""
    certificate_key: Path | None = None
    """The key of the certificate."""
    witness: str | Path | None = None
    """A second place that remembers how far the ledger had come."""
    log: str = "text"
    """How the log is written: "text", or "json" for programs."""
    audit: str | Path | None = None
    """Where everything that is recorded goes as JSON lines: a file, "syslog", or "syslog:/a/socket"."""
    copies: Path = Path("prepared")
    """Where prepared copies are kept."""
    sign_on: SignOnConfig | None = None
    """The provider with which people sign on; without one they have tokens."""
    limits: Limits
    datasets: Mapping[str, ConfiguredDataset]


def read_config(path: Path) -> Config:
    """The configuration in a curator.toml; mistakes are named with file, table and key."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadParameter(
            "config", str(path), "must be a file that can be read; write one with discreet init"
        ) from None
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as wrong:
        raise BadParameter("config", str(path), f"must be TOML: {wrong}") from None
    try:
        return config_of(data, path.parent)
    except BadParameter as wrong:
        raise wrong.renamed(wrong.name, f" (in {path})") from None


class ServerSection(Section):
    """The ``[server]`` table."""

    data: Text = "data"
    ledger: Text = "curator.ledger"
    key: OptionalText = None
    head: OptionalText = None
    host: Text = "127.0.0.1"
    port: Annotated[StrictInt, Field(ge=0, le=65535), must("must be an integer up to 65535")] = PORT
    wire: Annotated[StrictInt | None, Field(ge=1, le=65535), must("must be an integer up to 65535")] = None
    processes: Annotated[StrictInt, Field(ge=0, le=64), must("must be an integer up to 64")] = 1
    engines: Annotated[StrictInt, Field(ge=1, le=64), must("must be an integer from 1 to 64")] = ENGINES
    quantum: Annotated[Fraction, reads(_quantum)] = Fraction(1, 4)
    grid: Annotated[Steps, must(_STEPS)] = "geometric"
    hosts: Texts = Field(default_factory=list)
    proxies: Texts = Field(default_factory=list)
    certificate: OptionalText = None
    certificate_key: OptionalText = None
    witness: OptionalText = None
    log: Annotated[Literal["text", "json"], must('must be "text" or "json"')] = "text"
    audit: OptionalText = None


def config_of(data: Mapping[str, Any], folder: Path) -> Config:
    """The configuration that a parsed file holds; paths are relative to ``folder``."""
    file = table_of(dict(data), "config", ("server", "sign_on", "limits", "datasets"))
    server = read_section(ServerSection, file.get("server", {}), "server")
    return Config(
        data=folder / server.data,
        ledger=server.ledger if "://" in server.ledger else folder / server.ledger,
        key=None if server.key is None else folder / server.key,
        head=None if server.head is None else folder / server.head,
        host=server.host,
        port=server.port,
        wire=server.wire,
        processes=server.processes,
        engines=server.engines,
        quantum=server.quantum,
        grid=server.grid,
        hosts=tuple(server.hosts),
        proxies=tuple(server.proxies),
        certificate=None if server.certificate is None else folder / server.certificate,
        certificate_key=None if server.certificate_key is None else folder / server.certificate_key,
        witness=_place(server.witness, folder),
        log=server.log,
        audit=server.audit if _is_syslog(server.audit) else folder / str(server.audit),
        copies=_copies(folder, server),
        sign_on=_sign_on(file.get("sign_on"), folder),
        limits=_limits(file.get("limits", {})),
        datasets=_datasets(file.get("datasets", {})),
    )


def _is_syslog(audit: str | None) -> bool:
    return audit is None or audit.partition(":")[0] == "syslog"


def _sign_on(data: Any, folder: Path) -> SignOnConfig | None:
    if data is None:
        return None
    section = read_section(SignOnConfig, data, "sign_on")
    return section if section.secret is None else section.model_copy(update={"secret": str(folder / section.secret)})


def _place(text: str | None, folder: Path) -> str | Path | None:
    """A file beside curator.toml, or an address."""
    return text if text is None or "://" in text else folder / text


def _datasets(data: Any) -> dict[str, ConfiguredDataset]:
    datasets: dict[str, ConfiguredDataset] = {}
    for name, declared in table_of(data, "datasets").items():
        read = read_section(ConfiguredDataset, declared, f"datasets.{declarations.read_name(name, 'datasets')}")
        datasets[name] = read if read.population else read.model_copy(update={"population": name})
    funded = {declared.population for declared in datasets.values() if declared.budget is not None}
    for name, declared in datasets.items():
        if declared.population not in funded:
            raise BadParameter(
                f"datasets.{name}.budget", None, f"must be given once for the people of {declared.population!r}"
            )
    return datasets


def _limits(data: Any) -> Limits:
    given = table_of(data, "limits", [field.name for field in fields(Limits)])
    try:
        return Limits(**given)
    except BadParameter as wrong:
        raise wrong.renamed(f"limits.{wrong.name}") from None
