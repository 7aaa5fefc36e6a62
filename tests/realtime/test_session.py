"""Session settings: the API's defaults, what an update may change, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.parts import Begin, End, ReplySound
from tests.realtime.talking import a_core, ask, error_code, events, said, sent_back

INPUT = "session.audio.input."
TOOL = {"type": "function", "name": "route", "parameters": {"type": "object", "properties": {}}}


def update(core: Realtime, **fields: Any) -> list[dict[str, Any]]:
    return sent_back(core, "session.update", session={"type": "realtime", **fields})


def heard(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of the caller's audio."""
    return {"audio": {"input": settings}}


def test_turn_detection_is_on_until_an_explicit_null() -> None:
    core = Realtime("offline")
    (created,) = events(core.open())
    assert created["session"]["audio"]["input"]["turn_detection"]["type"] == "server_vad"
    (updated,) = update(core, instructions="Be brief.")
    assert updated["session"]["audio"]["input"]["turn_detection"]["type"] == "server_vad"
    (updated,) = update(core, audio={"input": {"turn_detection": None}})
    assert updated["session"]["audio"]["input"]["turn_detection"] is None
    (updated,) = update(core, instructions="Be briefer.", tools=[TOOL])
    assert updated["session"]["tools"] == [TOOL]
    assert updated["session"]["audio"]["input"]["turn_detection"] is None


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"output_modalities": ["text", "audio"]}, "invalid_value", "session.output_modalities"),
        (heard({"format": {"type": "audio/pcm", "rate": 16000}}), "invalid_value", INPUT + "format.rate"),
        (heard({"turn_detection": {"type": "none"}}), "invalid_value", INPUT + "turn_detection.type"),
        ({"instructions": 5}, "invalid_type", "session.instructions"),
        (
            {"audio": {"output": {"format": {"type": "audio/pcmu"}}}},
            "invalid_value",
            "session.audio.output.format.type",
        ),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "session.tools[0].name"),
        ({"tools": [TOOL, TOOL]}, "invalid_value", "session.tools[1].name"),
        ({"max_output_tokens": 0}, "invalid_value", "session.max_output_tokens"),
    ],
)
def test_wrong_settings_are_refused_and_change_nothing(fields: dict[str, Any], code: str, param: str) -> None:
    core = a_core()
    before = core.session.shown()
    (answer,) = events(core.receive({"type": "session.update", "session": {"type": "realtime", **fields}}))
    assert (answer["error"]["code"], answer["error"]["param"]) == (code, param)
    assert core.session.shown() == before


def test_the_type_is_required() -> None:
    (answer,) = events(a_core().receive({"type": "session.update", "session": {"instructions": "x"}}))
    assert (answer["error"]["code"], answer["error"]["param"]) == ("missing_required_parameter", "session.type")


def test_the_voice_is_fixed_with_the_first_audio() -> None:
    core = a_core()
    update(core, audio={"output": {"voice": "shimmer"}})
    said(core, ask(core), Begin(), ReplySound(b"\0\0"), End())
    assert error_code(update(core, audio={"output": {"voice": "alloy"}})) == "cannot_update_voice"
    assert update(core, audio={"output": {"voice": "shimmer"}})[0]["type"] == "session.updated"


def test_a_transcript_has_its_certainty_only_if_the_client_asked_for_it() -> None:
    core = a_core()
    before = core.session.gives_logprobs
    update(core, include=["item.input_audio_transcription.logprobs"])
    after = core.session.gives_logprobs
    assert (before, after) == (False, True)
    wrong = {"type": "realtime", "include": ["everything"]}
    (answer,) = events(core.receive({"type": "session.update", "session": wrong}))
    assert answer["type"] == "error" and core.session.gives_logprobs is after
