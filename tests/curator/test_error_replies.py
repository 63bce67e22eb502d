"""The one table of errors: every class of the tree has a row, and comes out at the client as it went in."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import errors
from discreet.curator.error_replies import ERROR_REPLIES, Refusal, rebuilt, reply
from discreet.errors import CuratorRefused, DiscreetError
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.randomness.replay import TapeEnded

TREE = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DiscreetError)]
MADE: dict[type[DiscreetError], DiscreetError] = {
    type(one): one
    for one in (
        errors.BadParameter("scale", -1, "must be above 0"),
        errors.Unsupported("a window function", "aggregate instead"),
        errors.OverBudget(asked=Approx("1/3", "1e-9"), left=ZCDP("1/7")),
        errors.CuratorRefused("Unauthorised", "words"),
        errors.MissingExtra("plots", extra="plot"),
        errors.EngineUnreachable("the PostgreSQL server"),
        errors.EngineFailed(),
        errors.NoEstimate(),
    )
}


def made(kind: type[DiscreetError]) -> DiscreetError:
    return MADE[kind] if kind in MADE else kind("words")


def own_fields(error: DiscreetError) -> set[str]:
    """What its ``__init__`` sets, and what its class declares."""
    declared = {name for base in type(error).__mro__ for name in vars(base).get("__annotations__", {})}
    return {name for name in set(vars(error)) | declared if not name.startswith("_")} - {"FIELDS", "fix"}


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_keeps_its_fields(kind: type[DiscreetError]) -> None:
    assert kind in ERROR_REPLIES
    error = made(kind)
    status, body = reply(error, to_owner=True)
    assert status in (402, 404, 409, 422, 500, 502, 503)
    assert body["error"]["kind"] == kind.__name__
    assert own_fields(error) == set(kind.FIELDS)
    again = rebuilt(body)
    if kind is DiscreetError:
        assert type(again) is CuratorRefused
        return
    assert type(again) is kind
    assert str(again) == str(error)
    for name in kind.FIELDS:
        assert getattr(again, name) == getattr(error, name), name


def test_only_a_status_of_500_says_that_the_service_failed() -> None:
    failed = {kind for kind, how in ERROR_REPLIES.items() if how.status == 500}
    assert failed == {
        DiscreetError, errors.EngineFailed, errors.UnsafeRandomness, errors.UnhealthySource, errors.BeyondRange,
        errors.MissingExtra,
    }  # fmt: skip


def test_an_error_of_another_class_is_sent_like_its_nearest_ancestor() -> None:
    assert reply(TapeEnded(1))[0] == 500

    class Narrow(errors.OverBudget):
        pass

    assert reply(Narrow(asked=Pure(1), left=Pure(0)))[0] == 402


@pytest.mark.parametrize("kind", [kind for kind, how in ERROR_REPLIES.items() if how.private])
def test_what_only_the_owner_may_read_has_no_words_and_no_fields_for_others(kind: type[DiscreetError]) -> None:
    error = MADE.get(kind) or kind("secret words")
    _, body = reply(error)
    assert body["error"]["fields"] == {}
    assert str(error) not in str(body)
    again = rebuilt(body)
    assert type(again) is kind
    assert all(getattr(again, name) is None for name in kind.FIELDS)


def test_fields_say_nothing_that_the_message_does_not_say() -> None:
    for kind in TREE:
        error = made(kind)
        fields = reply(error, to_owner=True)[1]["error"]["fields"]
        texts = [one["text"] if isinstance(one, dict) else one for one in fields.values()]
        hidden = [text for text in texts if text is not None and text not in str(error)]
        assert hidden == (["Unauthorised"] if kind is CuratorRefused else []), kind


def test_a_refusal_of_the_service_is_refused_at_the_client_by_its_kind() -> None:
    status, body = reply(Refusal.unauthorised())
    error = rebuilt(body)
    assert status == 401
    assert isinstance(error, CuratorRefused)
    assert (error.kind, str(error)) == ("Unauthorised", "a valid token is needed here")


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"error": None}, {"error": []}, {"error": {"kind": "os"}}, {"error": {"kind": "DiscreetError"}},
     {"error": {"kind": "OverBudget", "fields": 3}}, {"error": {"kind": "OverBudget", "fields": {"asked": {}}}},
     {"error": {"kind": "OverBudget", "fields": {"asked": {"kind": "Pure", "epsilon": "x"}}}},
     {"error": {"kind": "BadParameter"}}],
)  # fmt: skip
def test_whatever_comes_back_is_an_error_of_the_tree_with_all_its_attributes(body: Any) -> None:
    error = rebuilt(body)
    assert type(error) in ERROR_REPLIES
    assert all(getattr(error, name) is None for name in type(error).FIELDS if name != "kind")


def test_a_server_cannot_steer_a_terminal_by_its_errors() -> None:
    """Escapes stood in the message, and any value in the fields."""
    sent = {"kind": "BadParameter\x1b", "message": "\x1b[2J\u202egone\nline", "fields": {"name": [7], "must": "\x9b1m"}}
    assert str(rebuilt({"error": sent})) == "\ufffd[2J\ufffdgone\nline"
    error = rebuilt({"error": sent | {"kind": "BadParameter"}})
    assert (error.name, error.must) == (None, "\ufffd1m")  # type: ignore[attr-defined]
    assert len(str(rebuilt({"error": {"message": "x" * 1_000_000}}))) == 10_000
    amount = {"kind": "Pure", "epsilon": "1e999999999"}
    over = rebuilt({"error": {"kind": "OverBudget", "message": "m", "fields": {"asked": amount}}})
    assert over.asked is None  # type: ignore[attr-defined]
