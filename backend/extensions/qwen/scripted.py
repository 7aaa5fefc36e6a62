"""Qwen-Omni-Realtime's side of a connection, as Model Studio's "Client events" has it: unknown fields are refused."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from backend.realtime.serving.effects import Effect, Send
from backend.testing.offline.held import AudioAppend, ClientEvent, Closed, HeldRealtime, faults_by_schema

NAMES = {
    "response.output_audio.": "response.audio.",
    "response.output_audio_transcript.": "response.audio_transcript.",
    "response.output_text.": "response.text.",
    "conversation.item.added": "conversation.item.created",
}
"""What OpenAI's beta called otherwise."""


class Function(Closed):
    """A function that can be called."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class Tool(Closed):
    """A function, nested."""

    type: Literal["function"]
    function: Function


class Session(Closed):
    """The fields that we change by `session.update`."""

    modalities: list[Literal["text", "audio"]] | None = None
    voice: str | None = None
    input_audio_format: Literal["pcm"] | None = None
    output_audio_format: Literal["pcm"] | None = None
    instructions: str | None = None
    turn_detection: None = None
    """Turns are found by the client."""
    tools: list[Tool] | None = None


class Result(Closed):
    """A function's result: the only item that may be put in."""

    type: Literal["function_call_output"]
    call_id: str
    output: str
    id: str | None = None


class SessionUpdate(ClientEvent):
    """Change the session."""

    type: Literal["session.update"]
    session: Session


class Plain(ClientEvent):
    """An event without fields."""

    type: Literal["input_audio_buffer.commit", "input_audio_buffer.clear", "response.create", "response.cancel"]


class ItemCreate(ClientEvent):
    """Put a result into the conversation."""

    type: Literal["conversation.item.create"]
    item: Result


AnyEvent = SessionUpdate | Plain | AudioAppend | ItemCreate
SCHEMA: TypeAdapter[AnyEvent] = TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


class QwenRealtime(HeldRealtime):
    """A conversation by Qwen-Omni-Realtime's rules."""

    def faults(self, event: Any) -> list[str]:
        return faults_by_schema(SCHEMA, event)

    def as_ours(self, event: dict[str, Any]) -> dict[str, Any]:
        match event:
            case {"type": "session.update", "session": session}:
                return event | {"session": _session(session)}
            case {"type": "input_audio_buffer.append", "audio": audio}:
                return event | {"audio": _at_24_khz(audio)}
        return event

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        stamped = super()._stamped(effects)
        return [Send(_as_theirs(each.event)) if isinstance(each, Send) else each for each in stamped if _is_told(each)]


def _is_told(effect: Effect) -> bool:
    return not isinstance(effect, Send) or effect.event["type"] not in ("conversation.item.done", "rate_limits.updated")


def _session(given: dict[str, Any]) -> dict[str, Any]:
    hearing: dict[str, Any] = {"transcription": {"model": "gummy-realtime-v1"}}
    if "turn_detection" in given:
        hearing["turn_detection"] = given["turn_detection"]
    session: dict[str, Any] = {"type": "realtime", "audio": {"input": hearing}}
    if "voice" in given:
        session["audio"]["output"] = {"voice": given["voice"]}
    if "instructions" in given:
        session["instructions"] = given["instructions"]
    if "tools" in given:
        session["tools"] = [{"type": "function", **each["function"]} for each in given["tools"]]
    return session


def _at_24_khz(audio: str) -> str:
    heard = np.frombuffer(base64.b64decode(audio), "<i2")
    places = np.arange(len(heard) * 3 // 2) * 2 / 3
    return base64.b64encode(np.interp(places, np.arange(len(heard)), heard).astype("<i2").tobytes()).decode()


def _as_theirs(event: dict[str, Any]) -> dict[str, Any]:
    """Return a server event in this API's form."""
    for ours, theirs in NAMES.items():
        if event["type"].startswith(ours):
            return event | {"type": event["type"].replace(ours, theirs)}
    if event["type"] == "error":
        return event | {"error": {name: each for name, each in event["error"].items() if name != "event_id"}}
    if response := event.get("response"):
        usage = {name.replace("_token_", "_tokens_"): each for name, each in (response.get("usage") or {}).items()}
        kept = {name: each for name, each in response.items() if name != "metadata"}
        return event | {"response": kept | {"usage": usage}}
    return event


PEERS = {"qwen": QwenRealtime}
