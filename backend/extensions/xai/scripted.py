"""A scripted xAI that refuses fields unknown to its schema (docs.x.ai/voice-realtime.ws.json).

While it finds turns, it answers each by itself and refuses `input_audio_buffer.commit`. xAI's own fields are checked
here, all others by the types of the `openai` package.
"""

from collections.abc import Iterable
from typing import Any

from backend.realtime.serving.effects import Effect, Send
from backend.testing.offline.schema_checked import SchemaCheckedRealtime, beyond
from backend.testing.offline.strict import faults

EVENTS = (
    *("session.update", "conversation.item.create", "response.create", "response.cancel"),
    *("input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear"),
)
SESSION = ("model", "instructions", "voice", "reasoning", "turn_detection", "audio", "tools")
WANTED = ("modalities", "instructions", "metadata")
CONTENT = ("input_text", "input_audio", "text", "audio")


class XaiRealtime(SchemaCheckedRealtime):
    """A conversation by xAI's rules."""

    def faults(self, event: Any) -> list[str]:
        found = beyond([event.get("type")], EVENTS) or _faults(event) or faults(self.as_ours(event))
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


def _faults(event: dict[str, Any]) -> list[str]:
    """Return what is wrong with the fields that are xAI's own."""
    match event:
        case {"type": "session.update", "session": session}:
            return beyond(session, SESSION) + beyond(session.get("turn_detection") or (), ("type",))
        case {"type": "response.create", "response": wanted}:
            return beyond(wanted, WANTED)
        case {"type": "conversation.item.create", "item": {"type": "message", "content": content}}:
            return beyond([part["type"] for part in content], CONTENT)
    return []


def _session(given: dict[str, Any]) -> dict[str, Any]:
    audio = given.get("audio") or {}
    hearing: dict[str, Any] = {"transcription": {"model": "grok-transcribe"}, **audio.get("input", {})}
    if "turn_detection" in given:
        detection = given["turn_detection"]
        hearing["turn_detection"] = detection if detection and detection["type"] else None
    output = audio.get("output", {}) | ({"voice": given["voice"]} if "voice" in given else {})
    kept: dict[str, Any] = {name: given[name] for name in ("instructions", "tools") if name in given}
    return {"type": "realtime", "audio": {"input": hearing, "output": output}, **kept}


def _as_theirs(event: dict[str, Any]) -> dict[str, Any]:
    """Return a server event in xAI's form: the details of a reply's status are text, as is an error's type."""
    match event:
        case {"type": "response.done", "response": {"status_details": dict() as details} as response}:
            why = details.get("reason") or (details.get("error") or {}).get("code")
            return event | {"response": response | {"status_details": why}}
        case {"type": "error", "error": {"code": "session_expired"} as error}:
            return event | {"error": error | {"type": "max_duration", "code": None}}
    return event


PEERS = {"xai": XaiRealtime}
