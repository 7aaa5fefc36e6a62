"""xAI's side of a connection, as its schema has it (docs.x.ai/voice-realtime.ws.json): unknown fields are refused.

It always answers each turn that it finds by itself, and takes no `input_audio_buffer.commit` meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from backend.realtime.serving.effects import Effect, Send
from backend.testing.offline.held import AudioAppend, ClientEvent, Closed, HeldRealtime, faults_by_schema


class Format(Closed):
    """How audio is encoded."""

    type: Literal["audio/pcm"]
    rate: Literal[24000]


class Input(Closed):
    """The caller's audio."""

    format: Format | None = None


class Output(Closed):
    """The model's audio."""

    format: Format | None = None


class Audio(Closed):
    """Both."""

    input: Input | None = None
    output: Output | None = None


class TurnDetection(Closed):
    """The finder of turns: there is no `create_response` in the schema."""

    type: Literal["server_vad"] | None


class Reasoning(Closed):
    """The choice to think first."""

    effort: Literal["none", "high"]


class Tool(Closed):
    """A function."""

    type: Literal["function"]
    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class Session(Closed):
    """The fields that we change by `session.update`."""

    model: str | None = None
    instructions: str | None = None
    voice: str | None = None
    reasoning: Reasoning | None = None
    turn_detection: TurnDetection | None = None
    audio: Audio | None = None
    tools: list[Tool] | None = None


class Content(Closed):
    """A part of a message."""

    type: Literal["input_text", "input_audio", "text", "audio"]
    text: str | None = None
    audio: str | None = None


class Message(Closed):
    """Something said."""

    type: Literal["message"]
    role: Literal["user", "assistant", "system"]
    content: list[Content]
    id: str | None = None


class Result(Closed):
    """A function's result."""

    type: Literal["function_call_output"]
    call_id: str
    output: str


class Wanted(Closed):
    """The options of a reply."""

    modalities: list[Literal["text", "audio"]] | None = None
    instructions: str | None = None
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None


class SessionUpdate(ClientEvent):
    """Change the session."""

    type: Literal["session.update"]
    session: Session


class Buffer(ClientEvent):
    """Take or forget what was appended."""

    type: Literal["input_audio_buffer.commit", "input_audio_buffer.clear"]


class ItemCreate(ClientEvent):
    """Put something into the conversation."""

    type: Literal["conversation.item.create"]
    item: Annotated[Message | Result, Field(discriminator="type")]


class ResponseCreate(ClientEvent):
    """Ask for a reply."""

    type: Literal["response.create"]
    response: Wanted | None = None


class ResponseCancel(ClientEvent):
    """Stop one."""

    type: Literal["response.cancel"]
    response_id: str | None = None


AnyEvent = SessionUpdate | AudioAppend | Buffer | ItemCreate | ResponseCreate | ResponseCancel
SCHEMA: TypeAdapter[AnyEvent] = TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


class XaiRealtime(HeldRealtime):
    """A conversation by xAI's rules."""

    def faults(self, event: Any) -> list[str]:
        found = faults_by_schema(SCHEMA, event)
        if not found and event["type"] == "input_audio_buffer.commit" and self.session.turn_detection:
            found = ["type: not while turn_detection is server_vad"]
        return found

    def as_ours(self, event: dict[str, Any]) -> dict[str, Any]:
        match event:
            case {"type": "session.update", "session": session}:
                return event | {"session": _session(session)}
            case {"type": "conversation.item.create", "item": {"type": "message", "role": "assistant"} as item}:
                content = [part | {"type": "output_text"} for part in item["content"]]
                return event | {"item": item | {"content": content}}
            case {"type": "response.create", "response": wanted}:
                return event | {"response": {name: each for name, each in wanted.items() if name != "modalities"}}
        return event

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        return super()._stamped(Send(_as_theirs(each.event)) if isinstance(each, Send) else each for each in effects)


def _session(given: dict[str, Any]) -> dict[str, Any]:
    hearing: dict[str, Any] = {"transcription": {"model": "grok-transcribe"}}
    if "turn_detection" in given:
        detection = given["turn_detection"]
        hearing["turn_detection"] = detection if detection and detection["type"] else None
    output = {"voice": given["voice"]} if "voice" in given else {}
    kept: dict[str, Any] = {name: given[name] for name in ("instructions", "tools") if name in given}
    return {"type": "realtime", "audio": {"input": hearing, "output": output}, **kept}


def _as_theirs(event: dict[str, Any]) -> dict[str, Any]:
    """Return a server event in xAI's form: the reason for a reply's end is text, as is an error's type."""
    match event:
        case {"type": "response.done", "response": {"status_details": dict() as details} as response}:
            why = details.get("reason") or (details.get("error") or {}).get("code")
            return event | {"response": response | {"status_details": why}}
        case {"type": "error", "error": {"code": "session_expired"} as error}:
            return event | {"error": error | {"type": "max_duration", "code": None}}
    return event


PEERS = {"xai": XaiRealtime}
