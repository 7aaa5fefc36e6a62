"""A scripted Qwen-Omni-Realtime that refuses fields unknown to Model Studio's "Client events".

Qwen's own fields are checked here, all others by the types of the `openai` package.
"""

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np

from backend.realtime.serving.effects import Effect, Send
from backend.testing.offline.schema_checked import SchemaCheckedRealtime, beyond
from backend.testing.offline.strict import faults

NAMES = {
    "response.output_audio.": "response.audio.",
    "response.output_audio_transcript.": "response.audio_transcript.",
    "response.output_text.": "response.text.",
    "conversation.item.added": "conversation.item.created",
}
"""Names of events → their names in OpenAI's beta."""
PLAIN = ("input_audio_buffer.commit", "input_audio_buffer.clear", "response.create", "response.cancel")
"""Events without fields."""
EVENTS = (*PLAIN, "session.update", "input_audio_buffer.append", "conversation.item.create")
SESSION = {
    "modalities": (["text", "audio"],),
    "input_audio_format": ("pcm",),
    "output_audio_format": ("pcm",),
    "turn_detection": (None,),
    "voice": (),
    "instructions": (),
    "tools": (),
}
"""The accepted fields of `session.update`, with their values if there are few. The client finds the turns."""


class QwenRealtime(SchemaCheckedRealtime):
    """A conversation by Qwen-Omni-Realtime's rules."""

    def faults(self, event: Any) -> list[str]:
        return faults_of(event) or faults(self.as_ours(event))

    def as_ours(self, event: dict[str, Any]) -> dict[str, Any]:
        match event:
            case {"type": "session.update", "session": session}:
                return event | {"session": _session(session)}
            case {"type": "input_audio_buffer.append", "audio": audio}:
                return event | {"audio": _at_24_khz(audio)}
        return event

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        stamped = super()._stamped(effects)
        return [Send(_as_theirs(each.event)) if isinstance(each, Send) else each for each in stamped if _is_sent(each)]


def faults_of(event: dict[str, Any]) -> list[str]:
    """Return what is wrong with the fields that are Qwen's own."""
    found = beyond([event.get("type")], EVENTS)
    match event:
        case {"type": "session.update", "session": session}:
            wrong = (name for name, value in session.items() if SESSION.get(name) and value not in SESSION[name])
            return beyond(session, SESSION) + [f"{name}: it has another value" for name in wrong]
        case {"type": "conversation.item.create", "item": item}:
            return beyond([item["type"]], ["function_call_output"])
        case {"type": kind} if kind in PLAIN:
            return beyond(event, ("type", "event_id"))
    return found


def _is_sent(effect: Effect) -> bool:
    return not isinstance(effect, Send) or effect.event["type"] != "conversation.item.done"


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
