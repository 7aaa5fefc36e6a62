"""Qwen-Omni-Realtime's limits compared with OpenAI. And the strictness of the peer that plays it."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from backend.extensions.qwen.codec import NOTES_KEPT, QwenCodec
from backend.extensions.qwen.scripted import QwenRealtime
from backend.responders.base import Briefing, PastMessage, ToolSchema
from backend.responders.codec import Voice
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose, ResponderCommand

TOOL = ToolSchema("ask", "Ask a specialist.", {"type": "object"})
PEER = QwenRealtime("qwen")
BRIEFING = Briefing("be kind", (TOOL,), purposes={Purpose.FILLER: "say you are looking"})


@pytest.fixture
def codec() -> QwenCodec:
    made = QwenCodec(Voice("qwen3.5-omni-plus-realtime", "Tina", ""))
    made.brief(BRIEFING, first=True)
    return made


def sent(codec: QwenCodec, command: ResponderCommand) -> list[dict[str, Any]]:
    events = [json.loads(each) for each in codec.messages(command)]
    assert [PEER.faults(event) for event in events] == [[]] * len(events)
    return events


def says(codec: QwenCodec, *events: dict[str, Any]) -> list[ev.Event]:
    return [each for event in events for each in codec.decode(json.dumps(event))]


def test_typed_words_notes_and_earlier_words_are_in_the_instructions(codec: QwenCodec) -> None:
    codec.restore([PastMessage("user", "I am Ada."), PastMessage("assistant", "Hello Ada.")])
    sent(codec, do.AddUserText("typed words"))
    [update] = sent(codec, do.AddNote("a note"))
    instructions = update["session"]["instructions"]
    places = [instructions.index(words) for words in ("be kind", "I am Ada.", "Hello Ada.", "typed words", "a note")]
    assert places == sorted(places)
    again = json.loads(codec.brief(Briefing("be brief"), first=False))["session"]["instructions"]
    assert again.startswith("be brief") and "a note" in again


def test_the_oldest_notes_make_room(codec: QwenCodec) -> None:
    for number in range(NOTES_KEPT + 1):
        [update] = sent(codec, do.AddNote(f"note {number}."))
    instructions = update["session"]["instructions"]
    assert "note 0." not in instructions and "note 1." in instructions and f"note {NOTES_KEPT}." in instructions


def test_the_direction_of_one_reply_is_removed_before_the_next(codec: QwenCodec) -> None:
    update, create = sent(codec, do.CreateReply(Purpose.FILLER, "filler-1", "a hint"))
    assert "say you are looking a hint" in update["session"]["instructions"] and update["session"]["tools"] == []
    assert create == {"type": "response.create", "event_id": "filler-1"}
    update, _create = sent(codec, do.CreateReply(Purpose.ANSWER, "answer-2"))
    assert update["session"]["instructions"] == "be kind" and update["session"]["tools"]
    assert len(sent(codec, do.CreateReply(Purpose.ANSWER, "answer-3"))) == 1


def test_replies_belong_to_requests_in_their_order(codec: QwenCodec) -> None:
    for request in ("answer-1", "result-2"):
        sent(codec, do.CreateReply(Purpose.ANSWER, request))
    begun = [{"type": "response.created", "response": {"id": reply}} for reply in ("r1", "r2", "r3")]
    requests = [event.request for event in says(codec, *begun) if isinstance(event, ev.ReplyStarted)]
    assert requests == ["answer-1", "result-2", None]


def test_a_refused_reply_is_recognised_by_the_parameter(codec: QwenCodec) -> None:
    sent(codec, do.CreateReply(Purpose.ANSWER, "answer-1"))
    error = {"type": "invalid_request_error", "code": "invalid_value", "param": "response.create", "message": "busy"}
    [refused] = says(codec, {"type": "error", "error": error})
    assert refused == ev.ReplyRefused("answer-1", "conversation_already_has_active_response", 0.0)
    [begun] = says(codec, {"type": "response.created", "response": {"id": "r1"}})
    assert begun == ev.ReplyStarted("r1", None)


def test_the_beta_names_of_events_are_understood(codec: QwenCodec) -> None:
    at = {"response_id": "r1", "item_id": "i"}
    sound = {"type": "response.audio.delta", "delta": "AAAA", **at}
    words = {"type": "response.audio_transcript.delta", "delta": "Hi", **at}
    assert says(codec, sound, words) == [ev.ReplyAudio("r1", "i", b"\0\0\0"), ev.ReplyText("r1", "i", "Hi")]


def test_a_call_is_found_once_whether_the_end_of_the_reply_repeats_it_or_not(codec: QwenCodec) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "ask", "arguments": "{}"}
    done = {"type": "response.output_item.done", "response_id": "r1", "item": call}
    for output in ([], [call]):
        end = {"type": "response.done", "response": {"id": "r1", "status": "completed", "output": output}}
        called = [event for event in says(codec, done, end) if isinstance(event, ev.ToolCalled)]
        assert called == [ev.ToolCalled("r1", "c1", "ask", "{}")]


def test_speech_is_sent_at_16_khz_whole_and_at_its_pitch(codec: QwenCodec) -> None:
    tone = (8000 * np.sin(2 * np.pi * 440 * np.arange(24_000) / 24_000)).astype("<i2").tobytes()
    messages = [codec.append(tone[start : start + 9600]) for start in range(0, len(tone), 9600)]
    messages += codec.messages(do.CommitInput())
    pieces = [base64.b64decode(event["audio"]) for event in map(json.loads, messages) if "audio" in event]
    heard = np.frombuffer(b"".join(pieces), "<i2").astype(np.float64)
    assert len(heard) == 16_000
    assert int(np.argmax(np.abs(np.fft.rfft(heard)))) == 440
    assert np.abs(heard[100:-100]).max() < 8100
