"""``dp.connect``: the same interface from afar, over a real socket."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from discreet.curator import verify_card, verify_receipt
from discreet.curator.client import Remote, connect
from discreet.errors import (
    BadParameter,
    BadQuestion,
    KeyReused,
    LedgerUnavailable,
    NotRegistered,
    OverBudget,
    Unsupported,
)
from tests.curator.service.land import CITIES
from tests.curator.service.town import Town

COUNT = "SELECT city, COUNT(*) AS n, AVG(pay) AS pay FROM people GROUP BY city"


def test_it_is_like_a_session(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    assert (session.dataset, session.tables) == ("town", ("people", "trips"))
    query = session.sql(COUNT)
    preview = query.preview(epsilon="1")
    assert preview.affordable
    assert preview.error("n") > 0
    assert "n: ±" in str(preview)
    before = session._standing()["spent"]
    answer = query.release(epsilon="1")
    assert session._standing()["spent"] != before
    assert "rho" in session.remaining
    assert session.budget == "epsilon 1000000.0, delta 1e-18"
    assert answer.columns == ("city", "n", "pay")
    assert answer["city"] == list(CITIES)
    assert len(answer) == 3
    assert [set(row) for row in answer] == [{"city", "n", "pay"}] * 3
    assert answer.errors()["n"][0] == pytest.approx(preview.error("n"), rel=0.01)
    assert answer.errors("0.95") == answer.errors()
    with pytest.raises(BadParameter):
        answer.errors("0.5")
    with pytest.raises(BadParameter):
        answer["nothing"]
    low, high = answer.intervals()["n"][0] or (0, 0)
    assert low < answer["n"][0] < high
    assert answer.to_arrow().column_names == ["city", "n", "n_error", "pay", "pay_error"]
    assert list(answer.to_pandas(errors=False)) == ["city", "n", "pay"]
    assert answer.to_polars().height == 3
    assert "spent" in answer.explain()
    assert "Aton" in str(answer)
    verify_receipt(answer.receipt, session.public_key)
    verify_card(answer.card, session.public_key)
    assert session.answer(answer.number).rows == answer.rows
    assert session.answers()[-1]["number"] == answer.number
    assert session.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1000).value == pytest.approx(120, abs=5)
    assert (query.release(error={"n": 30, "pay": 100}).errors()["n"][0] or 99) <= 30


def test_the_same_key_gives_the_same_answer(served: tuple[Town, str]) -> None:
    town, url = served
    query = connect(url, town.ann).sql(COUNT)
    assert query.release(epsilon="1/3", key="k").said == query.release(epsilon="1/3", key="k").said
    with pytest.raises(KeyReused):
        query.release(epsilon="1/2", key="k")
    assert query.release(epsilon="1/3").number != query.release(epsilon="1/3").number


def test_errors_are_those_of_the_tree(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    with pytest.raises(Unsupported, match="SELECT"):
        session.sql("SELECT * FROM people").release(epsilon=1)
    with pytest.raises(BadQuestion):
        session.sql("SELECT secret, COUNT(*) FROM people GROUP BY secret").preview(epsilon=1)
    with pytest.raises(BadParameter):
        session.sql(COUNT).release()
    with pytest.raises(OverBudget):
        session.sql(COUNT).release(epsilon=10_000_000)
    with pytest.raises(Remote) as found:
        connect(url, "discreet_0_0")
    assert found.value.kind == "Unauthorised"
    with pytest.raises(BadParameter):
        connect(url, town.ann, "other")
    with pytest.raises(BadParameter, match="town"):
        connect(url, town.owner)  # the owner sees two
    with pytest.raises(BadParameter):
        connect("ftp://somewhere", town.ann)
    with pytest.raises(NotRegistered):
        session._line.get("/api/datasets/nowhere")


def test_a_broken_line_is_tried_again_and_charged_once(served: tuple[Town, str], tmp_path: Path) -> None:
    """Between client and server stands one who lets the first question through and throws the answer away."""
    town, url = served
    host, port = url.removeprefix("http://").split(":")
    door = socket.create_server(("127.0.0.1", 0))
    torn: list[bytes] = []

    def pass_on() -> None:
        while True:
            try:
                here, _ = door.accept()
            except OSError:
                return
            there = socket.create_connection((host, int(port)))
            asked = here.recv(1 << 16)
            while b"questions" in asked and not asked.endswith(b"}"):
                asked += here.recv(1 << 16)
            there.sendall(asked)
            answer = there.recv(1 << 20)
            if b"questions" in asked and not torn:
                torn.append(asked)
            else:
                here.sendall(answer)
                here.settimeout(0.2)
                while True:
                    more = there.recv(1 << 20) if len(answer) > 100_000 else b""
                    if not more:
                        break
                    here.sendall(more)
            here.close()
            there.close()

    thread = threading.Thread(target=pass_on)
    thread.start()
    before = len(town.curator.ledger.entries(kind="charge"))
    session = connect(f"http://127.0.0.1:{door.getsockname()[1]}", town.ann)
    answer = session.sql("SELECT COUNT(*) AS n FROM people").release(epsilon=1)
    assert torn
    assert len(answer) == 1
    assert len(town.curator.ledger.entries(kind="charge")) == before + 1
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    thread.join()


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        connect("http://127.0.0.1:1", "discreet_0_0")
