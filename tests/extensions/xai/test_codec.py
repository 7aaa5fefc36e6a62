"""Differences of xAI from OpenAI: it answers turns by itself."""

import json
from typing import Any

import pytest

from backend.errors import ResponderUnavailable
from backend.extensions.xai.codec import XaiCodec
from backend.responders.base import Briefing, ToolSchema
from backend.responders.codec import Voice
from backend.responders.self_answering import HELD_LIMIT
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose

TOOL = ToolSchema("ask", "Ask a specialist.", {"type": "object"})
SOUND: dict[str, Any] = {"type": "response.output_audio.delta", "response_id": "r1", "item_id": "i", "delta": "AAAA"}
TAKEN: dict[str, Any] = {"type": "input_audio_buffer.committed", "item_id": "u", "previous_item_id": None}
HEARD = ev.ReplyAudio("r1", "i", b"\0\0\0")


@pytest.fixture
def codec() -> XaiCodec:
    made = XaiCodec(Voice("grok-voice-latest", "eve", ""))
    made.brief(Briefing("be kind", (TOOL,)), first=True)
    return made


def begun(reply: str = "r1", request: str | None = None) -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": reply, "metadata": request and {"request": request}}}


def ended(reply: str = "r1", **more: Any) -> dict[str, Any]:
    return {"type": "response.done", "response": {"id": reply, "status": "completed", "output": [], **more}}


def says(codec: XaiCodec, *events: dict[str, Any]) -> list[ev.Event]:
    return [each for event in events for each in codec.decode(json.dumps(event))]


def wish(codec: XaiCodec, request: str, purpose: Purpose = Purpose.ANSWER) -> dict[str, Any] | None:
    sent = codec.messages(do.CreateReply(purpose, request))
    return json.loads(sent[0]) if sent else None


def test_the_answer_to_a_turn_is_awaited_and_not_requested(codec: XaiCodec) -> None:
    says(codec, TAKEN)
    assert wish(codec, "answer-1") is None
    assert says(codec, begun(), SOUND) == [ev.ReplyStarted("r1", "answer-1"), HEARD]
    says(codec, ended())
    assert wish(codec, "answer-2"), "requested again, it is sent: nothing comes by itself"


def test_an_answer_that_comes_early_is_held_until_it_is_wanted(codec: XaiCodec) -> None:
    assert says(codec, TAKEN, begun(), SOUND, ended())[1:] == []
    assert wish(codec, "answer-1") is None
    started, heard, end = codec.released
    assert (started, heard) == (ev.ReplyStarted("r1", "answer-1"), HEARD)
    assert isinstance(end, ev.ReplyFinished) and end.status == "completed"


@pytest.mark.parametrize("other", [do.CreateReply(Purpose.NOTICE, "notice-1"), do.AddUserText("typed")], ids=repr)
def test_an_unwanted_answer_is_dropped(codec: XaiCodec, other: do.CreateReply | do.AddUserText) -> None:
    says(codec, TAKEN, begun(), SOUND)
    assert codec.messages(other)
    assert wish(codec, "answer-2") and codec.released == []


def test_an_unwanted_answer_takes_bounded_room(codec: XaiCodec) -> None:
    says(codec, TAKEN, begun(), *[SOUND] * (HELD_LIMIT + 1))
    assert wish(codec, "answer-1") and codec.released == []


def test_requested_replies_are_known_by_their_metadata(codec: XaiCodec) -> None:
    asked = wish(codec, "result-1", Purpose.RESULT)
    assert asked and asked["response"]["metadata"]["request"] == "result-1"
    assert says(codec, begun(request="result-1")) == [ev.ReplyStarted("r1", "result-1")]


def test_a_reply_that_was_interrupted_ends_though_the_provider_does_not_say_so(codec: XaiCodec) -> None:
    says(codec, TAKEN)
    wish(codec, "answer-1")
    says(codec, begun(), SOUND, {"type": "input_audio_buffer.speech_started", "audio_start_ms": 5})
    stopped = {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 105}
    assert says(codec, stopped) == [ev.ReplyFinished("r1", "cancelled"), ev.SpeechStopped(100)]


def test_a_request_before_the_commit_of_the_turn_is_for_its_answer(codec: XaiCodec) -> None:
    says(codec, {"type": "input_audio_buffer.speech_stopped"})
    assert wish(codec, "answer-1") is None
    assert says(codec, TAKEN, begun()) == [ev.InputCommitted("u", None), ev.ReplyStarted("r1", "answer-1")]
    assert wish(codec, "answer-2"), "none is due now"


def test_a_caller_who_goes_on_is_answered_once(codec: XaiCodec) -> None:
    says(codec, TAKEN)
    wish(codec, "answer-1")
    says(codec, {"type": "input_audio_buffer.speech_started"}, TAKEN)
    assert wish(codec, "answer-2") is None
    assert says(codec, begun("r2")) == [ev.ReplyStarted("r2", "answer-2")]


def test_unfinished_words_are_no_transcript(codec: XaiCodec) -> None:
    done = {"type": "conversation.item.input_audio_transcription.completed", "item_id": "u", "transcript": "hel"}
    assert says(codec, done | {"status": "in_progress"}) == []
    assert says(codec, done | {"status": "completed", "transcript": "hello"}) == [ev.UserTranscribed("u", "hello")]


def test_the_reason_for_the_end_of_a_reply_is_a_word(codec: XaiCodec) -> None:
    [end] = says(codec, ended(status="incomplete", status_details="max_output_tokens"))
    assert isinstance(end, ev.ReplyFinished) and (end.status, end.detail) == ("incomplete", "max_output_tokens")


def test_the_longest_session_ends_in_another_connection(codec: XaiCodec) -> None:
    with pytest.raises(ResponderUnavailable) as over:
        codec.decode(json.dumps({"type": "error", "error": {"type": "max_duration", "message": "over"}}))
    assert over.value.retryable


def test_a_nudge_calls_no_tool_as_far_as_words_can_prevent_it(codec: XaiCodec) -> None:
    asked = wish(codec, "nudge-1", Purpose.NUDGE)
    assert asked and "tool_choice" not in asked["response"]
    assert asked["response"]["instructions"].startswith("be kind") and "tool" in asked["response"]["instructions"]
