"""The session of the Realtime protocol: what `session.created` shows, and what `session.update` may change.

A field left out of an update stays as it is; `turn_detection: null` switches the finding of turns off. Beside the
protocol's fields stand four of ours: `thinkers`, `barge_in`, `local_vad` and `paced` (docs/howto/realtime-endpoint.md).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from backend.extensions.realtime_endpoint.client_events import ClientFault
from backend.media.g711 import Law
from backend.runtime.json_objects import Json
from backend.turns.call_options import CallOptions, ClientTool
from backend.turns.patience import EndpointingStyle

PCM: Json = {"type": "audio/pcm", "rate": 24000}
FORMATS: Mapping[str, Law | None] = {"audio/pcm": None, "audio/pcmu": Law.MU, "audio/pcma": Law.A}
DETECTION: Mapping[str, Json] = {
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
EAGERNESS: Mapping[str, EndpointingStyle] = {
    "low": EndpointingStyle.PATIENT,
    "medium": EndpointingStyle.BALANCED,
    "high": EndpointingStyle.EAGER,
}
"""Any other, `auto` among them, is what the server's settings say."""
EXTENSIONS: Mapping[str, tuple[object, ...]] = {
    "thinkers": (True, False),
    "barge_in": ("two_step", "at_once"),
    "local_vad": (True, False),
    "paced": (True, False),
}
"""Our own fields, and their values; the first is the default."""
ECHOED = ("max_output_tokens", "truncation", "tracing", "include", "prompt", "reasoning", "parallel_tool_calls")
"""Fields that are shown as they were given, and change nothing here: the server's settings decide about them."""
IDLE_MS = (5_000, 30_000)
"""Milliseconds of silence after which a client may want to be asked whether it is still there."""
TOOLS_LIMIT = 128
INSTRUCTIONS_LIMIT = 64_000
"""Characters."""
OUR_TOOLS = frozenset({"route_to_thinker", "wait_for_user"})
"""Names that a client's tool cannot have."""


class RealtimeSession:
    """The session as its client sees it; `options` is what it means for the call."""

    def __init__(self, session_id: str, model: str, *, voice: str, transcription: str, expires_at: int) -> None:
        """`expires_at` is a Unix time in seconds."""
        self._shown: Json = {
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
            "truncation": "auto",
            "audio": {
                "input": {
                    "format": PCM,
                    "transcription": {"model": transcription},
                    "noise_reduction": None,
                    "turn_detection": dict(DETECTION["server_vad"]),
                },
                "output": {"format": PCM, "voice": voice, "speed": 1.0},
            },
            **{name: values[0] for name, values in EXTENSIONS.items()},
        }
        self._chosen_voice = ""
        self.started = False
        """True once the Responder is being connected: voice and detector are settled then."""

    def __repr__(self) -> str:
        return f"RealtimeSession({self.modality}, {self.turn_detection})"

    def shown(self) -> Json:
        """Return a copy for an event."""
        return copy.deepcopy(self._shown)

    def update(self, given: Json) -> None:
        """Take the fields of a `session.update`, all or none. Raises `ClientFault`."""
        if given.get("type", "realtime") != "realtime":
            raise ClientFault("'session.type' must be 'realtime': nothing is only transcribed.", param="session.type")
        draft, voice = self.shown(), self._chosen_voice
        for name, value in given.items():
            if name == "output_modalities":
                draft[name] = [read_modality(value, "session.output_modalities")]
            elif name == "instructions":
                draft[name] = _instructions(value)
            elif name == "tools":
                draft[name] = read_tools(value, "session.tools")
            elif name == "tool_choice":
                draft[name] = _tool_choice(value)
            elif name == "audio":
                voice = self._update_audio(draft["audio"], value or {}) or voice
            elif name in EXTENSIONS:
                draft[name] = self._extension(name, value)
            elif name in ECHOED:
                draft[name] = value
        self._shown, self._chosen_voice = draft, voice

    @property
    def voice_chosen(self) -> bool:
        """Whether the client has chosen the voice."""
        return bool(self._chosen_voice)

    @property
    def modality(self) -> str:
        """`audio` or `text`."""
        return str(self._shown["output_modalities"][0])

    @property
    def turn_detection(self) -> Json | None:
        """How turns are found; None where the client hands them in."""
        detection: Json | None = self._shown["audio"]["input"]["turn_detection"]
        return detection

    @property
    def interruptions(self) -> bool:
        """Whether the caller's voice interrupts replies."""
        return self.turn_detection is None or bool(self.turn_detection["interrupt_response"])

    @property
    def transcribes(self) -> bool:
        """Whether the client wants the words of the caller."""
        return self._shown["audio"]["input"]["transcription"] is not None

    @property
    def paced(self) -> bool:
        """Whether audio is sent at the pace at which it is heard."""
        return bool(self._shown["paced"])

    @property
    def input_law(self) -> Law | None:
        """The law of the client's audio; None for PCM16 at 24 kHz."""
        return FORMATS[self._shown["audio"]["input"]["format"]["type"]]

    @property
    def output_law(self) -> Law | None:
        """The same of what it is sent."""
        return FORMATS[self._shown["audio"]["output"]["format"]["type"]]

    @property
    def options(self) -> CallOptions:
        """What the session means for the call."""
        shown, detection = self._shown, self.turn_detection
        tools = tuple(
            ClientTool(tool["name"], tool.get("description") or "", tool.get("parameters") or {"type": "object"})
            for tool in shown["tools"]
        )
        return CallOptions(
            instructions=shown["instructions"],
            tools=tools,
            tool_choice=shown["tool_choice"],
            thinkers=shown["thinkers"],
            voice=self._chosen_voice,
            local_vad=shown["local_vad"],
            detects_turns=detection is not None,
            answers=detection is not None and bool(detection["create_response"]),
            barge_in=shown["barge_in"],
            style=EAGERNESS.get((detection or {}).get("eagerness", "auto")),
            idle_nudge_s=((detection or {}).get("idle_timeout_ms") or 0) / 1000,
        )

    def _update_audio(self, draft: Json, given: Json) -> str:
        """Change the formats and the rest of `audio` in `draft`; return the voice that was chosen, if one was."""
        voice = ""
        heard, spoken = given.get("input") or {}, given.get("output") or {}
        for part, fields in (("input", heard), ("output", spoken)):
            if fields.get("format") is not None:
                draft[part]["format"] = _format(fields["format"], f"session.audio.{part}.format")
        for name in ("transcription", "noise_reduction"):
            if name in heard:
                draft["input"][name] = heard[name]
        if "turn_detection" in heard:
            draft["input"]["turn_detection"] = _turn_detection(heard["turn_detection"])
        if spoken.get("speed") is not None:
            draft["output"]["speed"] = spoken["speed"]
        if spoken.get("voice") is not None:
            voice = _voice(spoken["voice"])
            if self.started and voice != draft["output"]["voice"]:
                raise ClientFault(
                    "Cannot update a conversation's voice once it has begun.",
                    code="cannot_update_voice",
                    param="session.audio.output.voice",
                )
            draft["output"]["voice"] = voice
        return voice

    def _extension(self, name: str, value: object) -> object:
        values = EXTENSIONS[name]
        if value not in values or type(value) is not type(values[0]):
            allowed = " or ".join(repr(each) for each in values)
            raise ClientFault(f"Invalid 'session.{name}': expected {allowed}.", param=f"session.{name}")
        if name == "local_vad" and self.started and value != self._shown[name]:
            raise ClientFault(
                "'session.local_vad' is settled once the conversation has begun.", param=f"session.{name}"
            )
        return value


def read_modality(value: Any, param: str) -> str:
    """Return `audio` or `text`. Raises `ClientFault`."""
    if value not in (["audio"], ["text"]):
        raise ClientFault(f"Invalid '{param}': ['audio'] and ['text'] are supported.", param=param)
    return str(value[0])


def _instructions(value: Any) -> str:
    words = value or ""
    if len(words) > INSTRUCTIONS_LIMIT:
        raise ClientFault(
            f"'session.instructions' is longer than {INSTRUCTIONS_LIMIT} characters.", param="session.instructions"
        )
    return str(words)


def read_tools(value: Any, param: str) -> list[Json]:
    """Return a client's functions. Raises `ClientFault`."""
    tools = value or []
    if len(tools) > TOOLS_LIMIT:
        raise ClientFault(f"At most {TOOLS_LIMIT} tools are taken.", param=param)
    names: set[str] = set()
    for number, tool in enumerate(tools):
        at = f"{param}[{number}]"
        if tool.get("type") != "function":
            raise ClientFault(f"'{at}.type' must be 'function': tools of MCP servers are set on the server.", param=at)
        name = tool.get("name")
        if not name or not isinstance(name, str):
            raise ClientFault(f"Missing required parameter: '{at}.name'.", code="missing_required_parameter", param=at)
        if name in OUR_TOOLS or name in names:
            raise ClientFault(f"'{at}.name' is taken: {name}.", param=f"{at}.name")
        if tool.get("parameters") is not None and not isinstance(tool["parameters"], dict):
            raise ClientFault(f"'{at}.parameters' must be a JSON Schema object.", param=f"{at}.parameters")
        names.add(name)
    return [dict(tool) for tool in tools]


def _tool_choice(value: Any) -> Any:
    is_function = isinstance(value, dict) and value.get("type") == "function" and value.get("name")
    if value not in ("auto", "none", "required") and not is_function:
        raise ClientFault(
            "Invalid 'session.tool_choice': expected 'auto', 'none', 'required' or a function.",
            param="session.tool_choice",
        )
    return value


def _voice(value: Any) -> str:
    voice = value.get("id") if isinstance(value, dict) else value
    if not isinstance(voice, str) or not voice or len(voice) > 128:
        raise ClientFault("Invalid 'session.audio.output.voice'.", param="session.audio.output.voice")
    return voice


def _format(value: Any, param: str) -> Json:
    kind = value.get("type")
    if kind not in FORMATS:
        raise ClientFault(f"Invalid '{param}.type': supported are {', '.join(FORMATS)}.", param=f"{param}.type")
    if kind == "audio/pcm" and value.get("rate", 24000) != 24000:
        raise ClientFault(f"Invalid '{param}.rate': audio/pcm is taken at 24000 Hz.", param=f"{param}.rate")
    return dict(PCM) if kind == "audio/pcm" else {"type": kind}


def _turn_detection(value: Any) -> Json | None:
    if value is None:
        return None
    defaults, idle_ms = DETECTION[value["type"]], value.get("idle_timeout_ms")
    if idle_ms is not None:
        at = "session.audio.input.turn_detection.idle_timeout_ms"
        if value["type"] != "server_vad":
            raise ClientFault(f"'{at}' is for 'server_vad' only.", param=at)
        if not IDLE_MS[0] <= idle_ms <= IDLE_MS[1]:
            raise ClientFault(f"Invalid '{at}': expected {IDLE_MS[0]} to {IDLE_MS[1]}.", param=at)
    given = {name: value[name] for name in defaults if value.get(name) is not None}
    return {**defaults, **given}
