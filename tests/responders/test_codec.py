"""The types of the `openai` package accept every message we send, and we understand every message they allow."""

import json
from base64 import b64encode
from typing import Any

import pytest
from openai.types.realtime import RealtimeClientEvent, RealtimeResponseUsage
from pydantic import TypeAdapter

from backend.errors import ResponderRejected
from backend.responders.base import Briefing, ToolSchema
from backend.responders.codec import RealtimeCodec, Voice
from backend.responders.limits_and_usage import UNNAMED_WAIT_S
from backend.testing.offline.strict import faults
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose

CLIENT_EVENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)
TOOL = ToolSchema("route_to_thinker", "ask", {"type": "object"})
VOICE = Voice("gpt-realtime-2", "shimmer", "gpt-4o-mini-transcribe")


def codec(briefing: Briefing | None = None) -> RealtimeCodec:
    made = RealtimeCodec(VOICE)
    made.brief(briefing or Briefing("be kind", (TOOL,), purposes={Purpose.FILLER: "say you are looking"}), first=True)
    return made


def sent(text: bytes) -> dict[str, Any]:
    """The message, after the openai package has accepted it."""
    message: dict[str, Any] = json.loads(text)
    CLIENT_EVENT.validate_python(message)
    assert message["event_id"]
    return message


def decoded(**event: Any) -> list[Any]:
    return codec().decode(json.dumps(event))


def test_local_endpointing_switches_the_providers_off_with_an_explicit_null() -> None:
    update = sent(RealtimeCodec(VOICE).brief(Briefing("x"), first=True))
    assert update["session"]["audio"]["input"]["turn_detection"] is None
    assert "turn_detection" in update["session"]["audio"]["input"]


@pytest.mark.document("001", "local VAD")
def test_provider_endpointing_leaves_replies_and_interruptions_to_us() -> None:
    update = sent(RealtimeCodec(VOICE).brief(Briefing("x", endpointing="provider"), first=True))
    detection = update["session"]["audio"]["input"]["turn_detection"]
    assert detection == {"type": "semantic_vad", "create_response": False, "interrupt_response": False}


def test_a_reasoning_model_gets_an_effort_and_an_older_one_does_not() -> None:
    for model, reasons in (("gpt-realtime-2", True), ("gpt-realtime-1.5", False), ("gpt-realtime-2025-08-28", False)):
        voice = Voice(model, "shimmer", "t", effort="low")
        session = sent(RealtimeCodec(voice).brief(Briefing("x"), first=True))["session"]
        assert session.get("reasoning") == ({"effort": "low"} if reasons else None)
        assert session.get("parallel_tool_calls") == (True if reasons else None)
        assert session["truncation"]["retention_ratio"] == 0.8


def test_noise_reduction_language_and_speed_are_sent_if_they_are_set() -> None:
    voice = Voice("gpt-realtime-2", "shimmer", "t", noise_reduction="far_field", language="de", speed=1.25)
    update = sent(RealtimeCodec(voice).brief(Briefing("x"), first=True))
    assert faults(update) == []
    audio = update["session"]["audio"]
    assert audio["input"]["noise_reduction"] == {"type": "far_field"}
    assert audio["input"]["transcription"] == {"model": "t", "language": "de"}
    assert audio["output"]["speed"] == 1.25
    plain = sent(codec().brief(Briefing("x"), first=True))["session"]["audio"]
    assert "noise_reduction" not in plain["input"] and "speed" not in plain["output"]
    assert "language" not in plain["input"]["transcription"]


def test_a_later_briefing_leaves_voice_and_formats_unchanged() -> None:
    assert "audio" not in sent(codec().brief(Briefing("new words"), first=False))["session"]


def test_a_directed_reply_keeps_the_conversation_cached() -> None:
    whole = codec()
    direction, response = map(sent, whole.messages(do.CreateReply(Purpose.FILLER, "filler-1", "Like this.")))
    assert direction["item"]["role"] == "system"
    assert direction["item"]["content"][0]["text"] == "say you are looking Like this."
    assert "instructions" not in response["response"] and response["response"]["tool_choice"] == "none"
    assert response["response"]["metadata"] == {"request": "filler-1", "purpose": "filler"}
    taken_out, response = map(sent, whole.messages(do.CreateReply(Purpose.ANSWER, "answer-2")))
    assert (taken_out["type"], taken_out["item_id"]) == ("conversation.item.delete", direction["item"]["id"])
    assert "instructions" not in response["response"]
    assert len(whole.messages(do.CreateReply(Purpose.ANSWER, "answer-3"))) == 1, "it is taken out once"


def test_without_a_cache_a_reply_repeats_the_sessions_instructions() -> None:
    whole = RealtimeCodec(Voice("of our own", "", ""))
    whole.brief(Briefing("be kind", purposes={Purpose.FILLER: "say you are looking"}), first=True)
    [response] = map(sent, whole.messages(do.CreateReply(Purpose.FILLER, "filler-1", "Like this.")))
    assert response["response"]["instructions"] == "be kind\n\nsay you are looking Like this."


def test_complete_calls_come_before_the_end_of_their_reply_and_incomplete_ones_are_dropped() -> None:
    output = [
        {"type": "function_call", "status": "completed", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "status": "incomplete", "call_id": "c2", "name": "f", "arguments": "{"},
        {"type": "message", "status": "completed"},
    ]
    assert decoded(type="response.done", response={"id": "r1", "status": "cancelled", "output": output}) == [
        ev.ToolCalled("r1", "c1", "f", "{}"),
        ev.ReplyFinished("r1", "cancelled", ""),
    ]


def test_the_end_of_a_reply_has_its_tokens_and_missing_ones_count_as_zero() -> None:
    usage = {"total_tokens": 345, "input_tokens": 300, "output_tokens": 45}
    RealtimeResponseUsage.model_validate(usage, strict=True)
    done = {"id": "r1", "status": "cancelled", "output": []}
    assert decoded(type="response.done", response=done | {"usage": usage}) == [
        ev.ReplyFinished("r1", "cancelled", "", 300, 45, ev.TokenUsage(text_in=300, text_out=45))
    ]
    for untold in ({}, {"usage": None}, {"usage": {"input_tokens": None}}):
        assert decoded(type="response.done", response=done | untold) == [ev.ReplyFinished("r1", "cancelled", "")]


def test_tokens_are_counted_by_kind_including_cached_ones() -> None:
    usage = {
        "total_tokens": 345,
        "input_tokens": 300,
        "output_tokens": 45,
        "input_token_details": {
            "text_tokens": 180,
            "audio_tokens": 120,
            "cached_tokens": 100,
            "cached_tokens_details": {"text_tokens": 60, "audio_tokens": 40},
        },
        "output_token_details": {"text_tokens": 15, "audio_tokens": 30},
    }
    RealtimeResponseUsage.model_validate(usage, strict=True)
    [end] = decoded(type="response.done", response={"id": "r1", "status": "completed", "output": [], "usage": usage})
    assert end.usage == ev.TokenUsage(180, 120, 0, 60, 40, 0, 15, 30)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s. Visit https://example.com", 1.5),
        ("Please try again in 320ms.", 0.32),
        ("Please try again in 1m2s.", 62.0),
        ("Rate limit reached.", UNNAMED_WAIT_S),
    ],
)
def test_a_rate_limit_message_contains_the_wait(message: str, seconds: float) -> None:
    details = {"error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": message}}
    failed = {"id": "r1", "status": "failed", "output": [], "status_details": details}
    end, *_ = decoded(type="response.done", response=failed)
    assert isinstance(end, ev.ReplyFinished)
    assert end.detail == "rate_limit_exceeded" and end.retry_after_s == pytest.approx(seconds)
    error = {"code": "rate_limit_exceeded", "message": message, "event_id": "answer-7"}
    refused, *_ = decoded(type="error", error=error)
    assert isinstance(refused, ev.ReplyRefused)
    assert refused.request == "answer-7" and refused.retry_after_s == pytest.approx(seconds)


def test_a_refused_reply_is_recognised_by_the_event_it_names() -> None:
    error = {"code": "conversation_already_has_active_response", "event_id": "answer-7", "message": "busy"}
    assert decoded(type="error", error=error) == [ev.ReplyRefused("answer-7", error["code"])]


@pytest.mark.parametrize("code", ["response_cancel_not_active", "input_audio_buffer_commit_empty"])
def test_harmless_races_are_ignored(code: str) -> None:
    assert decoded(type="error", error={"code": code, "message": "x"}) == []


def test_other_errors_leave_the_call_running() -> None:
    assert decoded(type="error", error={"code": "odd", "message": "x", "event_id": "e3"}) == [
        ev.ProviderComplained("odd", "x")
    ]


@pytest.mark.parametrize("code", ["insufficient_quota", "invalid_api_key"])
def test_fatal_errors_end_the_call(code: str) -> None:
    with pytest.raises(ResponderRejected):
        decoded(type="error", error={"code": code, "message": "x"})
    with pytest.raises(ResponderRejected):
        details = {"error": {"code": code}}
        decoded(type="response.done", response={"id": "r", "status": "failed", "status_details": details})


def test_provider_speech_events_measure_the_speech() -> None:
    made = codec()
    made.decode(json.dumps({"type": "input_audio_buffer.speech_started", "audio_start_ms": 500}))
    stopped = json.dumps({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 1700})
    assert made.decode(stopped) == [ev.SpeechStopped(1200)]


JUNK = [
    "{",
    "[]",
    '{"type": 3}',
    "",
    '{"type":"error","error":7}',
    '{"type":"response.output_audio.delta","delta":"not base64!"}',
    '{"type":"response.done","response":{"output":[7]}}',
    '{"type":"response.created","response":{"metadata":"x"}}',
]


@pytest.mark.parametrize("junk", JUNK)
def test_an_unreadable_message_is_a_warning_and_not_a_crash(junk: str) -> None:
    assert [type(event) for event in codec().decode(junk)] == [ev.ProviderComplained]


def test_audio_is_any_json_string_of_base64_and_other_audio_costs_only_its_event() -> None:
    delta = {"type": "response.output_audio.delta", "response_id": "r1", "item_id": "i1"}
    pcm = b"\xff\xef\xbe" * 40
    escaped = json.dumps(delta | {"delta": b64encode(pcm).decode()}).replace("/", "\\/")
    assert codec().decode(escaped) == [ev.ReplyAudio("r1", "i1", pcm)]
    for none in ("no base64!", 5, None):
        [complaint] = codec().decode(json.dumps(delta | {"delta": none}))
        assert isinstance(complaint, ev.ProviderComplained)


def test_the_certainty_of_transcripts_is_requested_if_a_model_has_it() -> None:
    session = sent(RealtimeCodec(VOICE).brief(Briefing("be kind"), first=True))["session"]
    assert session["include"] == ["item.input_audio_transcription.logprobs"]
    whisper = RealtimeCodec(Voice("gpt-realtime-2", "shimmer", "whisper-1"))
    assert "include" not in sent(whisper.brief(Briefing("be kind"), first=True))["session"]
    other = RealtimeCodec(Voice("somebody-elses", "shimmer", "gpt-4o-mini-transcribe"))
    assert "include" not in sent(other.brief(Briefing("be kind"), first=True))["session"]


@pytest.mark.parametrize(
    ("logprobs", "unsure"), [([-0.01, -0.02], False), ([-0.01, -1.9], True), ([], False), (None, False)]
)
def test_a_transcript_with_a_doubtful_token_is_doubtful(logprobs: list[float] | None, unsure: bool) -> None:
    given = None if logprobs is None else [{"token": "a", "bytes": [97], "logprob": each} for each in logprobs]
    kind = "conversation.item.input_audio_transcription.completed"
    [event] = decoded(type=kind, item_id="u1", content_index=0, transcript="buy milk", logprobs=given)
    assert event == ev.UserTranscribed("u1", "buy milk", unsure=unsure)
