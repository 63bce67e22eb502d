"""Released rows as Parquet files."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pyarrow.parquet as pq

from discreet.curator.parquet import write_parquet
from tests.helpers.curator.town import COUNT, Town


def read(content: bytes) -> list[dict[str, Any]]:
    return pq.read_table(BytesIO(content)).to_pylist()  # type: ignore[no-any-return]


def test_every_value_and_its_error() -> None:
    made = write_parquet(
        ["k", "n", "n_error", "big"],
        [["a", 1, None, 2**70], [None, 2.5, True, None]],
        {"n": [0.5, None], "big": [1, 2]},
    )
    assert read(made) == [
        {"k": "a", "n": 1.0, "n_error": None, "big": str(2**70), "n_error_": 0.5, "big_error": 1.0},
        {"k": None, "n": 2.5, "n_error": True, "big": None, "n_error_": None, "big_error": 2.0},
    ]
    assert read(write_parquet(["k", "n"], [], {"n": []})) == []
    assert read(write_parquet(["m"], [[1], ["x"]], {})) == [{"m": "1"}, {"m": "x"}]


def test_a_stored_answer_is_downloaded_by_all_who_may_ask(town: Town) -> None:
    answer = town.ask(COUNT).json()
    path = f"/api/answers/{answer['number']}/parquet"
    reply = town.get(path, town.ann)
    assert reply.headers["content-type"] == "application/vnd.apache.parquet"
    found = read(reply.content)
    assert [[row["city"], row["n"]] for row in found] == answer["answer"]["rows"]
    assert [row["n_error"] for row in found] == answer["answer"]["errors"]["n"]
    assert town.get(path, town.owner).content == reply.content
    assert town.get(f"{path}?part=2", town.ann).status_code == 404
    assert town.get(path, town.bob).content == reply.content
    assert town.get(path, "discreet_0_nobody").status_code == 401
