"""A client's messages as actions on the call, and the answers to them."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from backend.errors import BadRequest
from backend.extensions.rtvi.protocol import RtviProtocol
from backend.sessions.session import LiveCall
from backend.turns import events as ev
from backend.turns.call_options import CallOptions


class Call:
    """Records its requests."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.options: CallOptions | None = None
        self.over = False

    def choose(self, options: CallOptions) -> None:
        self.options = options

    def submit(self, event: ev.Event) -> None:
        self.done.append(event)

    def type_text(self, text: str) -> None:
        if self.over:
            raise BadRequest("This call is over.", hint="Connect again, then type.")
        self.done.append(text)

    def hang_up(self, reason: str) -> None:
        self.done.append(("hang up", reason))


class Client:
    def __init__(self, *, attached: bool = True) -> None:
        self.sent: list[dict[str, Any]] = []
        self.protocol = RtviProtocol(self.sent.append)
        self.call = Call()
        if attached:
            self.protocol.attach(cast(LiveCall, self.call))

    def say(self, kind: str, data: Any = None, message_id: str = "m1") -> list[dict[str, Any]]:
        before = len(self.sent)
        self.protocol.receive(json.dumps({"label": "rtvi-ai", "type": kind, "id": message_id, "data": data}))
        return self.sent[before:]

    def request(self, kind: str, data: Any = None) -> dict[str, Any]:
        (answer,) = self.say("client-message", {"t": kind, "d": data})
        assert answer["id"] == "m1"
        return answer


def test_the_client_is_greeted_once_both_sides_are_there() -> None:
    client = Client()
    assert client.say("client-ready", {"version": "2.1.0", "about": {"library": "x"}}) == []
    client.protocol.follow(ev.CallStarted(), [])
    (ready,) = client.sent
    assert (ready["type"], ready["data"]["version"]) == ("bot-ready", "2.1.0")
    assert client.say("client-ready", {"version": "2.1.0"}) == []


def test_texts_keys_and_context_reach_the_call() -> None:
    client = Client()
    client.say("send-text", {"content": "Hi", "options": {"run_immediately": True, "audio_response": True}})
    client.say("send-text", {"content": "For later", "options": {"run_immediately": False}})
    client.say("dtmf", {"buttons": ["1", "2", "#"]})
    client.say("dtmf", {"button": "5"})
    (result,) = client.say("append-to-context", {"role": "user", "content": "Also", "run_immediately": True})
    assert result["type"] == "append-to-context-result"
    client.say("disconnect-bot")
    assert client.call.done == [
        "Hi",
        ev.MessageAdded("user", "For later"),
        "(The caller pressed these keys: 1 2 #)",
        "(The caller pressed these keys: 5)",
        ev.MessageAdded("user", "Also"),
        ev.ReplyRequested(),
        ("hang up", "disconnected"),
    ]


def test_a_session_takes_instructions_and_functions_and_keeps_them_when_an_update_is_wrong() -> None:
    client = Client()
    tool = {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}}
    answer = client.request("update-session", {"instructions": "Be brief.", "tools": [tool], "thinkers": False})
    assert answer["type"] == "server-response" and answer["data"]["t"] == "update-session"
    assert answer["data"]["d"]["tools"] == [tool]
    options = client.call.options
    assert options is not None and options.is_client_tool("look") and not options.thinkers
    wrongs: list[Any] = [{"voice": "x"}, {"tools": 7}, {"tools": [{"type": "function"}]}, {"thinkers": "no"}, None, []]
    for wrong in wrongs:
        assert client.request("update-session", wrong)["type"] == "error-response", wrong
    assert client.call.options is options


def test_results_ask_for_a_reply_once_the_client_owes_no_others() -> None:
    from backend.turns import commands as do

    client = Client()
    client.request("update-session", {"tools": [{"type": "function", "name": "look", "parameters": {}}]})
    client.protocol.follow(None, [do.RunThinker("1", "look", "{}"), do.RunThinker("2", "look", "{}")])
    for call in ("1", "2"):
        event = ev.ToolAnswered(call, '{"sky": "grey"}')
        client.say("llm-function-call-result", {"tool_call_id": call, "result": {"sky": "grey"}})
        if call == "1":
            client.protocol.follow(event, [])
    assert [type(each).__name__ for each in client.call.done] == ["ToolAnswered", "ToolAnswered"]
    client.protocol.follow(event, [])
    client.say("llm-function-call-result", {"tool_call_id": "2", "result": None})
    assert client.call.done[-1] == ev.ReplyRequested()


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("no-such-type", {}, "not supported"),
        ("send-text", {}, "not valid"),
        ("send-text", {"content": " "}, "empty"),
        ("send-text", {"content": "x" * 64_001}, "longer"),
        ("send-text", {"content": "x", "options": {"audio_response": False}}, "audio_response"),
        ("dtmf", {"buttons": ["x"]}, "digits"),
        ("dtmf", {}, "digits"),
        ("client-message", {"t": "fly"}, "Known are: interrupt, update-session"),
        ("client-message", None, "not valid"),
    ],
)
def test_an_impossible_request_is_answered_with_advice(kind: str, data: Any, words: str) -> None:
    client = Client()
    (answer,) = client.say(kind, data, message_id="mine")
    assert (answer["type"], answer["id"]) == ("error-response", "mine") and words in answer["data"]["error"]
    assert client.call.done == []


@pytest.mark.parametrize(
    "text", ["ping: 17", "{", "[]", '{"type": "signalling", "message": {}}', "[" * 100_000, b"\xff"]
)
def test_an_invalid_message_is_ignored(text: str | bytes) -> None:
    client = Client()
    client.protocol.receive(text)
    assert client.sent == client.call.done == []


def test_a_message_before_the_call_runs_is_refused() -> None:
    client = Client(attached=False)
    (answer,) = client.say("send-text", {"content": "Hi"})
    assert "wait for bot-ready" in answer["data"]["error"]


def test_a_call_that_is_over_says_so() -> None:
    client = Client()
    client.call.over = True
    (answer,) = client.say("send-text", {"content": "Hi"})
    assert "This call is over." in answer["data"]["error"]
