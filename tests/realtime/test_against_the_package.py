"""The protocol as the `openai` package has it: its types name every event and field that the room reads."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.realtime.audio_transcription import AudioTranscription
from openai.types.realtime.realtime_audio_config_input import RealtimeAudioConfigInput
from openai.types.realtime.realtime_audio_config_output import RealtimeAudioConfigOutput
from openai.types.realtime.realtime_audio_input_turn_detection import SemanticVad, ServerVad
from openai.types.realtime.realtime_function_tool import RealtimeFunctionTool
from openai.types.realtime.realtime_response_create_params import RealtimeResponseCreateParams
from openai.types.realtime.realtime_session_create_request import RealtimeSessionCreateRequest
from openai.types.realtime.realtime_session_create_response import RealtimeSessionCreateResponse
from pydantic import BaseModel

from backend.realtime.client_events import CLIENT_EVENTS, checked
from backend.realtime.faults import Fault
from backend.realtime.items import PARTS, read_item
from backend.realtime.session import FIELDS, RESPONSE_FIELDS, TOOL_FIELDS, TRANSCRIPTION, VAD_DEFAULTS, RealtimeSession
from tests.support.realtime_events import CLIENT_EVENTS as PACKAGE


def fields(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def test_every_client_event_has_its_fields() -> None:
    named = {kind: fields(model) - {"type", "event_id"} for kind, model in PACKAGE.items()}
    assert {kind: set(known) for kind, known in CLIENT_EVENTS.items()} == named


@pytest.mark.parametrize("kind", CLIENT_EVENTS)
def test_a_field_is_required_where_the_package_requires_it(kind: str) -> None:
    required = {name for name, field in PACKAGE[kind].model_fields.items() if field.is_required()} - {"type"}
    assert {name for name, field in CLIENT_EVENTS[kind].items() if field.required} == required
    if required:
        with pytest.raises(Fault):
            checked({"type": kind}, CLIENT_EVENTS)


def test_a_session_has_the_packages_fields() -> None:
    assert fields(RealtimeSessionCreateRequest) == FIELDS
    shown = RealtimeSession("sess_1", "gpt-realtime").shown()
    assert RealtimeSessionCreateResponse.model_validate(shown).model_extra == {}
    assert set(shown["audio"]["input"]) == fields(RealtimeAudioConfigInput)
    assert set(shown["audio"]["output"]) == fields(RealtimeAudioConfigOutput)


def test_what_is_nested_in_a_session_has_the_packages_fields() -> None:
    assert set(VAD_DEFAULTS["server_vad"]) == fields(ServerVad)
    assert set(VAD_DEFAULTS["semantic_vad"]) == fields(SemanticVad)
    assert set(TRANSCRIPTION) == fields(AudioTranscription)
    assert fields(RealtimeFunctionTool) == TOOL_FIELDS


def test_a_response_that_is_asked_for_has_the_packages_fields() -> None:
    assert set(RESPONSE_FIELDS) == fields(RealtimeResponseCreateParams)


@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in PARTS.items() for kind in kinds])
def test_every_content_part_of_the_package_is_read_and_shown_again(role: str, kind: str) -> None:
    own = {"input_image": {"image_url": "data:image/png;base64,"}, "audio": {"transcript": "Hi"}}
    part: dict[str, Any] = {"type": kind} | own.get(kind, own["audio"] if kind.endswith("audio") else {"text": "Hi"})
    given = {"type": "message", "role": role, "content": [part]}
    PACKAGE["conversation.item.create"].model_validate({"type": "conversation.item.create", "item": given})
    item = read_item(given, "item_1")
    assert item.shown() == given | {"id": "item_1", "object": "realtime.item", "status": "completed"}
