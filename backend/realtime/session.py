"""The session's configuration: the API's defaults, and what `session.update` may change.

A field left out of an update stays as it is; `turn_detection: null` is how turn detection is switched off. What is not
known, or not allowed, is refused as the API refuses it, so that a client's mistakes show up without a key.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from backend.realtime.faults import Fault, invalid, invalid_type, missing
from backend.realtime.fields import mapping, one_of, only, required_text, sequence, text

FIELDS = frozenset(
    (
        *("type", "model", "instructions", "output_modalities", "audio", "tools", "tool_choice", "max_output_tokens"),
        *("truncation", "tracing", "include", "prompt", "reasoning", "parallel_tool_calls"),
    )
)
LOGPROBS = "item.input_audio_transcription.logprobs"
INPUT_FIELDS = frozenset({"format", "transcription", "noise_reduction", "turn_detection"})
OUTPUT_FIELDS = frozenset({"format", "voice", "speed"})
VAD_DEFAULTS: dict[str, dict[str, Any]] = {
    "server_vad": {
        "type": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
        "idle_timeout_ms": None,
        "create_response": True,
        "interrupt_response": True,
    },
    "semantic_vad": {
        "type": "semantic_vad",
        "eagerness": "auto",
        "create_response": True,
        "interrupt_response": True,
    },
}


class RealtimeSession:
    """What `session.created` and `session.updated` show."""

    def __init__(self, session_id: str, model: str, *, expires_at: int | None = None) -> None:
        self.spoken = False
        """True once a reply's audio went out: the voice is locked from then on."""
        self._shown: dict[str, Any] = {
            "type": "realtime",
            "object": "realtime.session",
            "id": session_id,
            "model": model,
            "expires_at": expires_at,
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "max_output_tokens": "inf",
            "audio": {
                "input": {
                    "format": {"type": "audio/pcm", "rate": 24000},
                    "transcription": None,
                    "noise_reduction": None,
                    "turn_detection": dict(VAD_DEFAULTS["server_vad"]),
                },
                "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "alloy", "speed": 1.0},
            },
        }

    def update(self, given: Any) -> None:
        """Take over the fields of a `session.update`, all or none. Raises `Fault`."""
        changes = mapping(given, "session")
        if "type" not in changes:
            raise missing("session.type")
        one_of(changes["type"], ["realtime"], "session.type")
        only(changes, FIELDS, "session.")
        draft = copy.deepcopy(self._shown)
        for name, value in changes.items():
            UPDATES.get(name, _keep)(self, draft, value)
        self._shown = draft

    def shown(self) -> dict[str, Any]:
        """A copy for an event."""
        return copy.deepcopy(self._shown)

    @property
    def modality(self) -> str:
        """'audio' or 'text'."""
        return str(self._shown["output_modalities"][0])

    @property
    def turn_detection(self) -> dict[str, Any] | None:
        """The provider's endpointing, or None when the client decides."""
        detection: dict[str, Any] | None = self._shown["audio"]["input"]["turn_detection"]
        return detection

    @property
    def transcribes(self) -> bool:
        """Whether the client asked for transcripts of the caller."""
        return self._shown["audio"]["input"]["transcription"] is not None

    @property
    def gives_logprobs(self) -> bool:
        """Whether the client asked how sure transcripts are."""
        return LOGPROBS in (self._shown.get("include") or ())

    @property
    def voice(self) -> Any:
        """The voice's name."""
        return self._shown["audio"]["output"]["voice"]

    @property
    def speed(self) -> float:
        """How fast replies are spoken."""
        return float(self._shown["audio"]["output"]["speed"])

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The functions on offer."""
        return [tool for tool in self._shown["tools"] if tool["type"] == "function"]

    @property
    def tool_choice(self) -> Any:
        """'auto', 'none', 'required' or one function."""
        return self._shown["tool_choice"]

    @property
    def instructions(self) -> str:
        """The prompt."""
        return str(self._shown["instructions"])

    def __repr__(self) -> str:
        detection = self.turn_detection
        return f"<RealtimeSession {self.modality} turn_detection={detection['type'] if detection else None}>"


def modality(value: Any, param: str) -> str:
    """'audio' or 'text' out of `output_modalities`; both at once is refused."""
    wanted = sequence(value, param)
    if wanted not in (["audio"], ["text"]):
        raise invalid(param, "supported combinations are: ['text'] and ['audio'].")
    return str(wanted[0])


def tools(value: Any, param: str) -> list[dict[str, Any]]:
    """Function tools, each with a name and a parameter schema; MCP servers are taken as they are, and not called."""
    offered = sequence(value, param)
    for number, tool in enumerate(offered):
        at = f"{param}[{number}]."
        each = mapping(tool, at[:-1])
        if one_of(each.get("type"), ["function", "mcp"], at + "type") == "mcp":
            required_text(each, "server_label", at)
            continue
        required_text(each, "name", at)
        only(each, {"type", "name", "description", "parameters"}, at)
        mapping(each.get("parameters", {}), at + "parameters")
    return [dict(tool) for tool in offered]


def _keep(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    """Fields this server only echoes (tracing, truncation, …) need no check."""


def _instructions(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    draft["instructions"] = text(value, "session.instructions")


def _modalities(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    draft["output_modalities"] = [modality(value, "session.output_modalities")]


def _model(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    # The API keeps the model of the connection; naming it again is allowed.
    text(value, "session.model")


def _tools(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    draft["tools"] = tools(value, "session.tools")


def _tool_choice(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    if not isinstance(value, Mapping):
        one_of(value, ["auto", "none", "required"], "session.tool_choice")
    draft["tool_choice"] = value


def _max_output_tokens(_session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    if value != "inf" and not (isinstance(value, int) and 1 <= value <= 4096):
        raise invalid("session.max_output_tokens", "expected 1 to 4096, or 'inf'.")
    draft["max_output_tokens"] = value


def _audio(session: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    audio = mapping(value, "session.audio")
    only(audio, {"input", "output"}, "session.audio.")
    if "input" in audio:
        _audio_input(draft["audio"]["input"], mapping(audio["input"], "session.audio.input"))
    if "output" in audio:
        _audio_output(session, draft["audio"]["output"], mapping(audio["output"], "session.audio.output"))


def _audio_input(draft: dict[str, Any], given: Mapping[str, Any]) -> None:
    at = "session.audio.input."
    only(given, INPUT_FIELDS, at)
    if "format" in given:
        draft["format"] = _format(given["format"], at + "format")
    if "transcription" in given:
        draft["transcription"] = _transcription(given["transcription"], at + "transcription")
    if "noise_reduction" in given:
        draft["noise_reduction"] = _noise_reduction(given["noise_reduction"], at + "noise_reduction")
    if "turn_detection" in given:
        draft["turn_detection"] = _turn_detection(given["turn_detection"], at + "turn_detection")


def _audio_output(session: RealtimeSession, draft: dict[str, Any], given: Mapping[str, Any]) -> None:
    at = "session.audio.output."
    only(given, OUTPUT_FIELDS, at)
    if "format" in given:
        draft["format"] = _format(given["format"], at + "format")
    if "voice" in given:
        if session.spoken and given["voice"] != draft["voice"]:
            raise Fault(
                "Cannot update a conversation's voice if assistant audio is present.",
                code="cannot_update_voice",
                param=at + "voice",
            )
        draft["voice"] = given["voice"]
    if "speed" in given:
        draft["speed"] = _speed(given["speed"], at + "speed")


def _speed(value: Any, param: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid_type(param, "a number")
    if not 0.25 <= value <= 1.5:
        raise invalid(param, "expected 0.25 to 1.5.")
    return float(value)


def _format(value: Any, param: str) -> dict[str, Any]:
    """This server speaks 24 kHz PCM16 only; the API's telephone formats are refused in so many words."""
    given = mapping(value, param)
    kind = given.get("type")
    if kind in ("audio/pcmu", "audio/pcma"):
        raise invalid(param + ".type", "this offline server supports 'audio/pcm' only.")
    one_of(kind, ["audio/pcm"], param + ".type")
    one_of(given.get("rate", 24000), [24000], param + ".rate")
    return {"type": "audio/pcm", "rate": 24000}


def _transcription(value: Any, param: str) -> dict[str, Any] | None:
    if value is None:
        return None
    given = mapping(value, param)
    only(given, {"model", "language", "prompt", "delay", "keywords", "languages"}, param + ".")
    return dict(given)


def _noise_reduction(value: Any, param: str) -> dict[str, Any] | None:
    if value is None:
        return None
    given = mapping(value, param)
    one_of(given.get("type"), ["near_field", "far_field"], param + ".type")
    return dict(given)


def _turn_detection(value: Any, param: str) -> dict[str, Any] | None:
    if value is None:
        return None
    given = mapping(value, param)
    kind = one_of(given.get("type"), list(VAD_DEFAULTS), param + ".type")
    only(given, VAD_DEFAULTS[kind], param + ".")
    return {**VAD_DEFAULTS[kind], **given}


def _include(_: RealtimeSession, draft: dict[str, Any], value: Any) -> None:
    for each in value if isinstance(value, list) else [value]:
        one_of(each, [LOGPROBS], "session.include")
    draft["include"] = value


UPDATES: dict[str, Callable[[RealtimeSession, dict[str, Any], Any], None]] = {
    "instructions": _instructions,
    "output_modalities": _modalities,
    "model": _model,
    "tools": _tools,
    "tool_choice": _tool_choice,
    "max_output_tokens": _max_output_tokens,
    "audio": _audio,
    "include": _include,
}
