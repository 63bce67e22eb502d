"""The page about the curator knows every route, setting and limit."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from discreet.commands.app import app
from discreet.commands.sample_hospital import write_hospital
from discreet.curator.http.app import create_app
from discreet.curator.limits import Limits
from discreet.curator.service.access import TABLE
from discreet.curator.service.config import Config, ConfiguredDataset, read_config
from discreet.curator.service.declarations import CAPS
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from tests.helpers.curator.town import Clock, Town, on_a_socket

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "curator.md").read_text()


def test_every_route_is_there() -> None:
    assert not [f"{method} {path}" for method, path in TABLE if f"`{method} {path}`" not in PAGE]


def test_every_setting_is_there() -> None:
    named = [*ConfiguredDataset.model_fields, *(field.name for kind in (Config, Limits) for field in fields(kind))]
    missing = [name for name in (*named, *CAPS) if name not in PAGE]
    assert missing == []


def block(holding: str) -> str:
    """The one block of the page that holds this."""
    (found,) = [code for code in re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if holding in code]
    return str(found)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of the sample hospital on a real socket, and the token of an analyst."""
    with serve_hospital(tmp_path_factory.mktemp("hospital")) as found:
        yield found


@contextmanager
def serve_hospital(folder: Path) -> Iterator[tuple[str, str]]:
    config = read_config(write_hospital(folder, people=3000))
    curator = open_curator(config, create=True)
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "hospital")
    token = curator.access.issue("ann", Role.ANALYST)
    with TestClient(create_app(curator), "http://localhost") as http:
        town = Town(folder, config, curator, http, Clock(), "", token, "")
        with on_a_socket(town) as url:
            yield url, token


@pytest.mark.slow
def test_the_lines_of_python_run(hospital: tuple[str, str]) -> None:
    url, token = hospital
    code = block("dp.connect(")
    assert "https://curator.example" in code
    names = {"token": token}
    exec(compile(code.replace("https://curator.example", url), "curator.md", "exec"), names)  # noqa: S102 - our own page


@pytest.mark.slow
def test_the_drivers_are_answered(hospital: tuple[str, str]) -> None:
    url, token = hospital
    code = block("dbapi.connect(").replace("https://curator.example", url)
    code = code.replace("discreet://curator.example/hospital", f"discreet{url.removeprefix('http')}/hospital?plain=1")
    exec(compile(code, "curator.md", "exec"), {"token": token})  # noqa: S102 - our own page


@pytest.mark.slow
def test_the_commands_to_a_service_are_answered(hospital: tuple[str, str]) -> None:
    url, token = hospital
    lines = [line for line in block("discreet history").splitlines() if "https://curator.example" in line]
    assert len(lines) == 5
    for line in lines:
        _, *words = shlex.split(line.replace("https://curator.example", url), comments=True)
        done = CliRunner().invoke(app, words, env={"DISCREET_TOKEN": token})
        assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_the_line_of_curl_is_answered(hospital: tuple[str, str]) -> None:
    """What curl would send: its words are read as a shell reads them."""
    url, token = hospital
    command, address, *options = shlex.split(block("curl ").replace("\\\n", "").replace("$TOKEN", token))
    assert command == "curl"
    given = list(zip(options[::2], options[1::2], strict=True))
    headers = dict(value.split(": ", 1) for option, value in given if option == "-H")
    (body,) = [value for option, value in given if option == "-d"]
    for path in (address, address.replace("/questions", "/preview")):
        sent = json.loads(body)
        if path != address:
            del sent["key"]
        asked = Request(path.replace("https://curator.example", url), json.dumps(sent).encode(), headers)  # noqa: S310
        with urlopen(asked) as reply:  # noqa: S310 - http to this machine
            said = json.loads(reply.read())
        assert said["answer" if path == address else "columns"]
