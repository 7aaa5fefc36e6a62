"""The messages that a client may send to Gemini's Live API, after ai.google.dev/api/live; other fields are refused.

Only what a voice call may need is here: whatever else the API documents is refused as well. What a setup says of voice,
speech and compression never changes, and a test holds it to the reference.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct


class Strict(Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """A message or a part of one; unknown fields are refused."""


class InlineData(Strict):
    """A file within a message."""

    mime_type: Literal["image/jpeg", "image/png"]
    data: bytes


class Part(Strict):
    """Some text, or a picture."""

    text: str = ""
    inline_data: InlineData | None = None


class Content(Strict):
    """One turn of the conversation."""

    parts: list[Part]
    role: Literal["user", "model"] | None = None


class FunctionDeclaration(Strict):
    """A tool."""

    name: str
    description: str
    parameters_json_schema: dict[str, Any] | None = None
    behavior: Literal["BLOCKING", "NON_BLOCKING"] | None = None


class Tool(Strict):
    """Tools of one kind."""

    function_declarations: list[FunctionDeclaration]


class SessionResumption(Strict):
    """Asks for handles; with one, goes on with its session."""

    handle: str | None = None


class Setup(Strict):
    """The first message of a connection."""

    model: str
    generation_config: dict[str, Any]
    system_instruction: Content | None = None
    tools: list[Tool] = []
    realtime_input_config: dict[str, Any] | None = None
    input_audio_transcription: dict[str, Any] | None = None
    output_audio_transcription: dict[str, Any] | None = None
    session_resumption: SessionResumption | None = None
    context_window_compression: dict[str, Any] | None = None


class ClientContent(Strict):
    """Turns for the conversation; `turn_complete` asks for a reply."""

    turns: list[Content] = []
    turn_complete: bool = False


class Blob(Strict):
    """Some media."""

    mime_type: Literal["audio/pcm;rate=16000"]
    data: bytes


class RealtimeInput(Strict):
    """Speech, or where it begins and ends."""

    audio: Blob | None = None
    activity_start: dict[str, Any] | None = None
    activity_end: dict[str, Any] | None = None


class FunctionResponse(Strict):
    """The result of a tool."""

    id: str
    name: str
    response: dict[str, Any]
    scheduling: Literal["SILENT", "WHEN_IDLE", "INTERRUPT"] | None = None


class ToolResponse(Strict):
    """Results of tools."""

    function_responses: list[FunctionResponse]


class ClientMessage(Strict):
    """One message; exactly one of its fields is set."""

    setup: Setup | None = None
    client_content: ClientContent | None = None
    realtime_input: RealtimeInput | None = None
    tool_response: ToolResponse | None = None


def parse(text: str | bytes) -> ClientMessage:
    """Return the message. Raises `msgspec.ValidationError`, which says what is wrong with it."""
    message = msgspec.json.decode(text, type=ClientMessage)
    if sum(getattr(message, name) is not None for name in message.__struct_fields__) != 1:
        raise msgspec.ValidationError("A message has exactly one of its fields")
    return message
