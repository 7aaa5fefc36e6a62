"""A client's events as actions on a call, and a call's steps as events for the client, without a server."""

import base64
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend import page_events as page
from backend.extensions.realtime_endpoint.protocol import HANDLERS, ClientProtocol
from backend.realtime.client_events import CLIENT_EVENTS
from backend.sessions.client_session import ClientSession
from backend.sessions.session import LiveCall
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.call_options import CallOptions
from backend.turns.commands import Purpose
from tests.support.examples import examples
from tests.support.realtime_events import check_server_event

Json = dict[str, Any]


class Call:
    """A call that records its requests and its audio."""

    def __init__(self) -> None:
        self.submitted: list[ev.Event] = []
        self.corrected: list[do.Command] = []
        self.interruptions: list[bool] = []
        self.sent: list[Json] = []
        session = ClientSession("sess_1", "gpt-realtime", voice="marin", transcription="whisper-1")
        self.protocol = ClientProtocol(session, self._send, self)
        self.protocol.attach(cast(LiveCall, self))

    def _send(self, event: Json) -> None:
        shown = json.loads(json.dumps(event, default=lambda audio: base64.b64encode(audio).decode()))
        check_server_event(shown)
        self.sent.append(shown)

    def tell(self, kind: str, **fields: Any) -> list[Json]:
        """Receive an event; return the answers to it."""
        return self.take(json.dumps({"type": kind, "event_id": "mine"} | fields))

    def take(self, text: str) -> list[Json]:
        before = len(self.sent)
        self.protocol.receive(text)
        return self.sent[before:]

    def step(self, event: ev.Event | None, *commands: do.Command) -> list[Json]:
        """Take a step of the call; return the events for the client."""
        before = len(self.sent)
        self.protocol.follow(event, commands)
        return self.sent[before:]

    def append(self, audio: bytes) -> int:
        return len(audio)

    def drop(self) -> None:
        """Nothing is kept."""

    def choose(self, options: CallOptions) -> None:
        """The session shows them."""

    def submit(self, event: ev.Event) -> None:
        self.submitted.append(event)

    def correct(self, command: do.TruncateItem | do.DeleteItem | do.CancelReply) -> None:
        self.corrected.append(command)

    def allow_interruptions(self, allowed: bool) -> None:
        self.interruptions.append(allowed)


def types(sent: list[Json]) -> list[str]:
    return [event["type"] for event in sent]


def message(text: str = "Hi", **fields: Any) -> Json:
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content} | fields


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "invalid_json"),
        ("[" * 5000, "invalid_json"),
        ("[]", "invalid_event"),
        ("{}", "invalid_event"),
        ('{"type": "no.such.event"}', "invalid_value"),
        ('{"type": "session.update", "session": {"type": "realtime", "tools": 7}}', "invalid_type"),
        ('{"type": "session.update", "session": {"type": "realtime", "thinkers": "no"}}', "invalid_type"),
        ('{"type": "session.update", "session": {"type": "transcription"}}', "invalid_value"),
        ('{"type": "conversation.item.delete", "item_id": "nobody"}', "item_delete_invalid_item_id"),
        ('{"type": "conversation.item.retrieve", "item_id": "nobody"}', "item_retrieve_invalid_item_id"),
        ('{"type": "response.cancel"}', "response_cancel_not_active"),
        ('{"type": "input_audio_buffer.commit"}', "input_audio_buffer_commit_empty"),
        ('{"type": "response.create", "response": {"input": [{"type": "item_reference"}]}}', "invalid_value"),
    ],
)
def test_a_wrong_event_gets_an_error_and_the_session_goes_on(text: str, code: str) -> None:
    call = Call()
    assert [event["error"]["code"] for event in call.take(text)] == [code]
    call.tell("response.create")
    assert call.submitted == [ev.ReplyRequested("")]


FIELDS = ("audio", "session", "item", "item_id", "content_index", "audio_end_ms", "response", "response_id")
VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner) | st.lists(inner)
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(sorted(CLIENT_EVENTS))}, optional=dict.fromkeys(FIELDS, VALUES | st.just(message()))
)


@given(st.lists(EVENTS | VALUES, max_size=8))
@examples(100)
def test_any_event_of_a_client_is_answered_and_the_session_goes_on(sent: list[object]) -> None:
    call = Call()
    for event in sent:
        call.take(json.dumps(event))
    [updated] = call.tell("session.update", session={"type": "realtime"})
    assert updated["type"] == "session.updated"


def test_an_error_names_the_event_it_answers() -> None:
    [error] = Call().tell("conversation.item.retrieve", item_id="nobody")
    assert error["error"]["event_id"] == "mine"


def test_every_client_event_of_the_api_is_handled() -> None:
    assert HANDLERS.keys() == CLIENT_EVENTS.keys()


def test_unknown_fields_are_ignored() -> None:
    [updated] = Call().tell("session.update", session={"type": "realtime", "from_the_future": 1, "thinkers": False})
    assert updated["session"]["thinkers"] is False and "from_the_future" not in updated["session"]


def test_a_message_is_shown_and_put_into_the_call() -> None:
    call = Call()
    added, done = call.tell("conversation.item.create", item=message(id="hi"))
    assert (added["type"], done["type"]) == ("conversation.item.added", "conversation.item.done")
    assert added["item"]["content"] == [{"type": "input_text", "text": "Hi"}]
    assert call.submitted == [ev.MessageAdded("user", "Hi", (), "hi")]
    [error] = call.tell("conversation.item.create", item=message(id="hi"))
    assert error["error"]["code"] == "item_create_duplicate_item_id"


def test_a_recording_counts_by_its_transcript() -> None:
    call = Call()
    call.tell("conversation.item.create", item=message(content=[{"type": "input_audio", "transcript": "Hello"}]))
    [error] = call.tell("conversation.item.create", item=message(content=[{"type": "input_audio", "audio": "AAAA"}]))
    assert error["error"]["param"] == "item.content[0]"
    [added] = call.submitted
    assert isinstance(added, ev.MessageAdded) and added.text == "Hello"


def test_a_client_may_forbid_interruptions_and_allow_them_again() -> None:
    call = Call()
    for wanted in (False, False, True):
        audio = {"input": {"turn_detection": {"type": "server_vad", "interrupt_response": wanted}}}
        call.tell("session.update", session={"type": "realtime", "audio": audio})
    assert call.interruptions == [False, True]


def test_a_commit_without_speech_is_shown_without_words() -> None:
    call = Call()
    call.protocol.count_audio(48 * 200)
    assert call.tell("input_audio_buffer.commit") == []
    assert call.submitted == [ev.InputCommitWanted()]
    shown = call.step(ev.InputCommitWanted())
    assert types(shown)[0] == "input_audio_buffer.committed" and shown[-1]["transcript"] == ""
    assert types(call.step(ev.InputCommitWanted(), do.CommitInput())) == []


def test_a_reply_is_shown_from_its_first_words_to_its_end() -> None:
    call = Call()
    call.tell("session.update", session={"type": "realtime", "output_modalities": ["text"]})
    call.tell("response.create", response={"metadata": {"mine": "yes"}})
    call.step(ev.ReplyRequested(""), do.CreateReply(Purpose.ANSWER, "answer-1"))
    call.step(ev.ReplyStarted("resp_1", "answer-1"))
    said = call.step(None, do.Publish(page.TranscriptDelta("assistant", "item_1", "Hello.")))
    said += call.step(ev.ReplyFinished("resp_1", "completed"))
    assert types(said) == [
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    response = said[-1]["response"]
    assert response["metadata"] == {"mine": "yes"}
    assert response["output"][0]["content"] == [{"type": "output_text", "text": "Hello."}]


def test_a_cut_reply_is_incomplete_and_its_response_cancelled() -> None:
    call = Call()
    call.step(None, do.CreateReply(Purpose.ANSWER, "answer-1"))
    call.step(ev.ReplyStarted("resp_1", "answer-1"))
    call.step(None, do.Play("item_1", bytes(960)))
    cut = call.step(None, do.FlushPlayback())
    done = cut[-1]["response"]
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    assert (done["status"], done["output"][0]["status"]) == ("cancelled", "incomplete")


def test_the_responder_gets_the_heard_part_if_it_is_less_than_before() -> None:
    call = Call()
    call.step(ev.ReplyStarted("resp_1", None))
    call.step(None, do.Publish(page.TranscriptDelta("assistant", "item_1", "Hello.")))
    for heard_ms in (400, 500, 300):
        [shown] = call.tell("conversation.item.truncate", item_id="item_1", content_index=0, audio_end_ms=heard_ms)
        assert shown["audio_end_ms"] == heard_ms
    assert call.corrected == [do.TruncateItem("item_1", 400), do.TruncateItem("item_1", 300)]


def test_a_client_may_truncate_a_reply_that_an_interruption_has_just_deleted() -> None:
    call = Call()
    call.step(ev.ReplyStarted("resp_1", None))
    call.step(None, do.Publish(page.TranscriptDelta("assistant", "item_1", "Hello.")))
    call.step(None, do.DeleteItem("item_1"))
    sent = call.tell("conversation.item.truncate", item_id="item_1", content_index=0, audio_end_ms=20)
    assert types(sent) == ["conversation.item.truncated"] and not call.corrected
