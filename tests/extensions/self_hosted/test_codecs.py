"""Differences of self-hosted servers from OpenAI."""

import json
from typing import Any

import pytest

from backend.extensions.self_hosted.codecs import CODECS, WORKING
from backend.responders.base import Briefing, ToolSchema
from backend.responders.codec import RealtimeCodec, Voice
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose

TOOL = ToolSchema("ask", "Ask a specialist.", {"type": "object"})
CALL = {"type": "function_call", "call_id": "c1", "name": "ask", "arguments": "{}", "status": "completed"}
TAKEN = {"type": "input_audio_buffer.committed", "item_id": "u", "previous_item_id": None}


def made(server: str) -> RealtimeCodec:
    codec = CODECS[server](Voice("ours", "", ""))
    codec.brief(Briefing("be kind", (TOOL,)), first=True)
    return codec


def begun(reply: str, request: str | None = None) -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": reply, "metadata": request and {"request": request}}}


def ended(reply: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.done", "response": {"id": reply, "status": "completed", **more}}


def says(codec: RealtimeCodec, *events: dict[str, Any]) -> list[ev.Event]:
    return [each for event in events for each in codec.decode(json.dumps(event))]


def sent(codec: RealtimeCodec, command: Any) -> list[dict[str, Any]]:
    return [json.loads(message) for message in codec.messages(command)]


def test_the_words_of_a_message_that_come_whole_are_reported_once() -> None:
    codec = made("speech_to_speech")
    done = {"type": "response.output_audio_transcript.done", "response_id": "r1", "item_id": "i1", "transcript": "Hi."}
    piece = {"type": "response.output_audio_transcript.delta", "response_id": "r1", "item_id": "i2", "delta": "Ho."}
    [_, first, second] = says(codec, begun("r1", "answer-1"), done, piece)
    assert (first, second) == (ev.ReplyText("r1", "i1", "Hi."), ev.ReplyText("r1", "i2", "Ho."))
    assert says(codec, done | {"item_id": "i2", "transcript": "Ho."}) == []


@pytest.mark.parametrize("server", CODECS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_call_is_reported_once_whether_it_comes_beside_the_end_or_in_it(server: str, whole: bool) -> None:
    codec = made(server)
    sent(codec, do.CreateReply(Purpose.ANSWER, "answer-1"))
    beside = {"type": "response.output_item.done", "response_id": "r1", "item": CALL}
    last = ended("r1", output=[CALL] if whole else [])
    events = says(codec, begun("r1", "answer-1"), beside, last)
    assert [each for each in events if isinstance(each, ev.ToolCalled)] == [ev.ToolCalled("r1", "c1", "ask", "{}")]
    again = says(codec, begun("r2"), beside | {"response_id": "r2"}, ended("r2", status="cancelled"))
    assert not [each for each in again if isinstance(each, ev.ToolCalled)], "a cancelled reply calls nothing"


def test_speech_to_speech_gets_a_late_answer_as_a_message_after_a_filler_result() -> None:
    codec = made("speech_to_speech")
    sent(codec, do.CreateReply(Purpose.ANSWER, "answer-1"))
    says(codec, begun("r1", "answer-1"), ended("r1", output=[CALL]))
    early, filler = sent(codec, do.CreateReply(Purpose.FILLER, "filler-2"))
    assert early["item"] == {"type": "function_call_output", "call_id": "c1", "output": WORKING}
    assert filler["type"] == "response.create"
    [late] = sent(codec, do.SubmitResult("c1", '{"answer": "4"}'))
    assert late["item"]["role"] == "system" and '{"answer": "4"}' in late["item"]["content"][0]["text"]
    assert len(sent(codec, do.CreateReply(Purpose.RESULT, "result-3"))) == 1


def test_speech_to_speech_gets_a_timely_result_as_one() -> None:
    codec = made("speech_to_speech")
    says(codec, begun("r1", "answer-1"), ended("r1", output=[CALL]))
    [result] = sent(codec, do.SubmitResult("c1", "4"))
    assert result["item"]["type"] == "function_call_output"
    assert len(sent(codec, do.CreateReply(Purpose.RESULT, "result-2"))) == 1


def test_localai_names_no_request_so_the_next_reply_is_the_requested_one() -> None:
    codec = made("localai")
    assert sent(codec, do.CreateReply(Purpose.GREETING, "greeting-1"))
    assert says(codec, begun("r1")) == [ev.ReplyStarted("r1", "greeting-1")]
    says(codec, ended("r1"), TAKEN)
    assert not sent(codec, do.CreateReply(Purpose.ANSWER, "answer-2")), "that comes by itself"
    assert says(codec, begun("r2")) == [ev.ReplyStarted("r2", "answer-2")]


@pytest.mark.parametrize("code", ["inference_failed", "tts_error"])
def test_an_error_of_localai_that_ends_a_reply_is_its_end(code: str) -> None:
    codec = made("localai")
    sent(codec, do.CreateReply(Purpose.ANSWER, "answer-1"))
    says(codec, begun("r1"))
    [end] = says(codec, {"type": "error", "error": {"type": "invalid_request_error", "code": code, "message": "m"}})
    assert isinstance(end, ev.ReplyFinished) and (end.reply, end.status, end.detail) == ("r1", "failed", code)


def test_an_empty_commit_is_a_race_at_vllm_omni_too() -> None:
    error = {"type": "invalid_request_error", "code": "invalid_request_error", "message": "Input audio buffer is empty"}
    assert says(made("vllm_omni"), {"type": "error", "error": error}) == []
