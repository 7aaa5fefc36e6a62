"""The protocol against the `openai` package: its types name every event and field that the room reads."""

from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields as struct_fields
from openai.types.realtime.realtime_audio_config_input import RealtimeAudioConfigInput
from openai.types.realtime.realtime_audio_config_output import RealtimeAudioConfigOutput
from openai.types.realtime.realtime_audio_input_turn_detection import SemanticVad as PackageSemanticVad
from openai.types.realtime.realtime_audio_input_turn_detection import ServerVad as PackageServerVad
from openai.types.realtime.realtime_function_tool import RealtimeFunctionTool
from openai.types.realtime.realtime_response_create_params import RealtimeResponseCreateParams
from openai.types.realtime.realtime_session_create_request import RealtimeSessionCreateRequest
from openai.types.realtime.realtime_session_create_response import RealtimeSessionCreateResponse
from pydantic import BaseModel

from backend.realtime.client_events import CLIENT_EVENTS
from backend.realtime.items import PARTS, read_item
from backend.realtime.session import (
    AudioInput,
    AudioOutput,
    Function,
    RealtimeSession,
    ResponseFields,
    SemanticVad,
    ServerVad,
    SessionFields,
)
from tests.support.realtime_events import CLIENT_EVENTS as PACKAGE

NO_SHAPE_OF_OURS = {"type", "event_id"}


def names(model: type[BaseModel] | type[Struct]) -> set[str]:
    found = model.model_fields if issubclass(model, BaseModel) else model.__struct_fields__
    return set(found) - NO_SHAPE_OF_OURS


SHAPES: list[tuple[type[Struct], type[BaseModel]]] = [
    (SessionFields, RealtimeSessionCreateRequest),
    (ResponseFields, RealtimeResponseCreateParams),
    (AudioInput, RealtimeAudioConfigInput),
    (AudioOutput, RealtimeAudioConfigOutput),
    (ServerVad, PackageServerVad),
    (SemanticVad, PackageSemanticVad),
    (Function, RealtimeFunctionTool),
    *((shape, PACKAGE[kind]) for kind, shape in CLIENT_EVENTS.items()),
]


@pytest.mark.parametrize(("ours", "theirs"), SHAPES)
def test_a_shape_has_the_fields_of_the_package(ours: type[Struct], theirs: type[BaseModel]) -> None:
    assert names(ours) == names(theirs)
    required = {name for name, field in theirs.model_fields.items() if field.is_required()} - NO_SHAPE_OF_OURS
    assert required <= {field.name for field in struct_fields(ours) if field.required} | {"type"}


def test_a_session_is_shown_in_the_form_of_the_package() -> None:
    shown = RealtimeSession("sess_1", "gpt-realtime").shown()
    assert RealtimeSessionCreateResponse.model_validate(shown).model_extra == {}
    assert set(shown["audio"]["input"]) == names(RealtimeAudioConfigInput)
    assert set(shown["audio"]["output"]) == names(RealtimeAudioConfigOutput)


@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in PARTS.items() for kind in kinds])
def test_every_content_part_of_the_package_is_read_and_shown_again(role: str, kind: str) -> None:
    own = {"input_image": {"image_url": "data:image/png;base64,"}, "audio": {"transcript": "Hi"}}
    part: dict[str, Any] = {"type": kind} | own.get(kind, own["audio"] if kind.endswith("audio") else {"text": "Hi"})
    given = {"type": "message", "role": role, "content": [part]}
    PACKAGE["conversation.item.create"].model_validate({"type": "conversation.item.create", "item": given})
    item = read_item(given, "item_1")
    assert item.shown() == given | {"id": "item_1", "object": "realtime.item", "status": "completed"}
