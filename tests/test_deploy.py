"""What is deployed, as far as one machine can try it: the unit, the container file, nginx with TLS in front."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.curator.http.test_serving import self_signed
from tests.helpers.curator.servers import QUESTION, Server, Village
from tests.helpers.processes import free_port, kill_tree, launch, until
from tools.servers import NGINX, find

ROOT = Path(__file__).resolve().parent.parent
DEPLOY, PAGE = ROOT / "deploy", ROOT / "docs" / "how-to" / "deploy.md"
PROGRAM = Path(sys.executable).with_name("discreet")


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unit, for the program of this environment."""
    text = (DEPLOY / "discreet.service").read_text()
    assert text.count("/opt/discreet/bin/discreet ") == 1
    path = tmp_path_factory.mktemp("unit") / "discreet.service"
    path.write_text(text.replace("/opt/discreet/bin/discreet ", f"{PROGRAM} "))
    return path


def analyzed(*arguments: object) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("no systemd on this machine")
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_systemd_has_nothing_to_say_about_the_unit(unit: Path) -> None:
    done = analyzed("verify", unit)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    wrong = unit.with_name("wrong.service")
    wrong.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSistem=strict"))
    assert "ProtectSistem" in analyzed("verify", wrong).stderr


@pytest.mark.slow
def test_systemd_finds_the_unit_well_closed(unit: Path) -> None:
    assert analyzed("security", "--offline=true", "--threshold=20", unit).returncode == 0
    open_unit = unit.with_name("open.service")
    open_unit.write_text("[Service]\nExecStart=/bin/true\n")
    assert analyzed("security", "--offline=true", "--threshold=20", open_unit).returncode != 0


def hadolint(text: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("hadolint")
    return subprocess.run([program, "-"], input=text, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_linter_has_nothing_to_say_about_the_container_file() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    done = hadolint(text)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert "DL3002" in hadolint(f"{text}USER root\n").stdout


# --- nginx in front ---------------------------------------------------------------------------------------------------


def nginx_block() -> str:
    """What the page says to write."""
    (block,) = re.findall(r"```text\n(server \{.*?\n\})\n```", PAGE.read_text(), re.DOTALL)
    return str(block)


@contextmanager
def proxied(folder: Path, port_of_service: int) -> Iterator[tuple[int, Path]]:
    """nginx as the page has it, with TLS, in front of a service; its port and certificate."""
    certificate, key = self_signed(folder, "curator.example")
    port, block = free_port(), nginx_block()
    for there, here in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/ssl/curator.pem", str(certificate)),
        ("/etc/ssl/curator.key", str(key)),
        ("http://127.0.0.1:8750;", f"http://127.0.0.1:{port_of_service};"),
    ):
        assert block.count(there) == 1
        block = block.replace(there, here)
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {folder}/{name};\n" for name in names)
    text = (
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{block}\n}}\n"
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(text)
    command: list[str | Path] = [find(NGINX), "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    process = launch(command, log=folder / "nginx.log", folder=folder)
    try:
        until(
            lambda: answered(port, certificate, "GET", "/healthz")[0] == 200, process=process, log=folder / "nginx.log"
        )
        yield port, certificate
    finally:
        kill_tree(process)


def answered(
    port: int, certificate: Path, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Status and JSON over TLS, whose certificate and name are checked; 0 while nobody listens."""
    line = http.client.HTTPSConnection("127.0.0.1", port, timeout=60)
    try:
        line.sock = _tls(port, certificate)
        sent = None if body is None else json.dumps(body)
        line.request(method, path, sent, {"host": "curator.example", "content-type": "application/json", **headers})
        reply = line.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text.startswith(b"{") else {}
    except ConnectionError:
        return 0, {}
    finally:
        line.close()


def _tls(port: int, certificate: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(certificate))
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="curator.example")


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Village, Server, int, Path]]:
    folder = tmp_path_factory.mktemp("proxy")
    village = Village(folder)
    own = '[server]\nhosts = ["curator.example"]\nproxies = ["127.0.0.1"]'
    village.path.write_text(village.path.read_text().replace("[server]", own))
    with village.server() as server, proxied(folder, server.port) as (port, certificate):
        yield village, server, port, certificate


@pytest.mark.slow
def test_nginx_as_the_page_has_it_speaks_tls_in_front(behind: tuple[Village, Server, int, Path]) -> None:
    village, _, port, certificate = behind
    token = {"authorization": f"Bearer {village.tokens[0]}"}
    assert answered(port, certificate, "GET", "/readyz")[0] == 200
    assert answered(port, certificate, "GET", "/api/me")[0] == 401
    status, reply = answered(
        port, certificate, "POST", "/api/datasets/other/questions", {**QUESTION, "key": "k"}, **token
    )
    assert status == 200
    assert reply["answer"]["rows"]
    large = {"sql": "x" * (1 << 17), "epsilon": "1"}
    assert answered(port, certificate, "POST", "/api/datasets/other/preview", large, **token)[0] == 413


@pytest.mark.slow
def test_the_proxy_names_the_sender_and_other_names_are_refused(behind: tuple[Village, Server, int, Path]) -> None:
    """Strangers are counted by the address that nginx saw: what they claim themselves is not believed."""
    _, server, port, certificate = behind
    assert answered(port, certificate, "GET", "/healthz", host="evil.example")[0] in (400, 403, 421)
    line = http.client.HTTPSConnection("127.0.0.1", port, timeout=60)
    line.sock = _tls(port, certificate)
    for i in range(2_000):  # 60 at once, then 10 in a second
        line.request("GET", "/api/key", headers={"host": "curator.example", "x-forwarded-for": f"10.0.0.{i % 250}"})
        reply = line.getresponse()
        reply.read()
        if reply.status == 429:
            break
    line.close()
    assert reply.status == 429
    assert server.ask_for("GET", "/healthz", None, None)[0] == 200
