"""The session: what `session.created` shows, and what a client may change in it.

A field left out of an update stays as it is. So does a null field, unless null has a meaning: `turn_detection: null`
switches turn detection off. An end refuses what it cannot do (`Takes`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.realtime.faults import Fault, invalid, missing, unknown
from backend.realtime.fields import (
    flag,
    mapping,
    metadata,
    number,
    one_of,
    only,
    required_text,
    sequence,
    text,
    whole,
)

Json = dict[str, Any]
Reader = Callable[[Any, str], object]
"""Value and its path → the value that is kept. Raises `Fault`."""

PCM: Json = {"type": "audio/pcm", "rate": 24000}
FORMATS = ("audio/pcm", "audio/pcmu", "audio/pcma")
LOGPROBS = "item.input_audio_transcription.logprobs"
VAD_DEFAULTS: Mapping[str, Json] = {
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
EAGERNESS = ("low", "medium", "high", "auto")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
VAD_FIELDS: Mapping[str, Reader] = {
    "type": text,
    "threshold": lambda value, at: number(value, at, least=0, most=1),
    "prefix_padding_ms": whole,
    "silence_duration_ms": whole,
    "idle_timeout_ms": lambda value, at: whole(value, at, least=5_000, most=30_000),
    "create_response": flag,
    "interrupt_response": flag,
    "eagerness": lambda value, at: one_of(value, EAGERNESS, at),
}
TRANSCRIPTION: Mapping[str, Reader] = {
    "model": text,
    "language": text,
    "prompt": text,
    "delay": lambda value, at: one_of(value, EFFORTS, at),
    "keywords": sequence,
    "languages": sequence,
}
TOOL_FIELDS = frozenset({"type", "name", "description", "parameters"})
TOOLS_LIMIT = 128
INSTRUCTIONS_LIMIT = 64_000
"""Characters."""
VOICE_LIMIT = 128
"""Characters of a voice's name."""
NULLABLE = frozenset({"tracing", "prompt"})
"""Fields of a session in which null is a value."""


@dataclass(frozen=True, slots=True)
class Takes:
    """The fields that an end takes of a client; they may be fewer than the API's, or more."""

    formats: tuple[str, ...] = FORMATS[:1]
    """Of audio."""
    mcp: bool = True
    """Tools of MCP servers."""
    unknown: bool = False
    """True if unknown fields are ignored; otherwise they are refused, as the API refuses them."""
    reserved: frozenset[str] = frozenset()
    """Names that a tool cannot have."""
    own: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Fields that the API does not have, and their values; the first is the default."""


class RealtimeSession:
    """One session, as its client sees it."""

    def __init__(
        self,
        session_id: str,
        model: str,
        *,
        voice: str = "alloy",
        transcription: str = "",
        expires_at: int | None = None,
        takes: Takes | None = None,
    ) -> None:
        """`transcription` is the model that transcribes from the start; `expires_at` is a Unix time in seconds."""
        self._takes = takes or Takes()
        self.begun = False
        """True once the voice is settled."""
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
                    "format": dict(PCM),
                    "transcription": {"model": transcription} if transcription else None,
                    "noise_reduction": None,
                    "turn_detection": dict(VAD_DEFAULTS["server_vad"]),
                },
                "output": {"format": dict(PCM), "voice": voice, "speed": 1.0},
            },
            **{name: values[0] for name, values in self._takes.own.items()},
        }

    def __repr__(self) -> str:
        detection = self.turn_detection
        return f"{type(self).__name__}({self.modality}, {detection['type'] if detection else 'turns are handed in'})"

    def update(self, given: Any) -> None:
        """Take the fields of a `session.update`, all or none. Raises `Fault`."""
        changes = mapping(given, "session")
        required_text(changes, "type", "session.")
        one_of(changes["type"], ["realtime"], "session.type")
        draft = copy.deepcopy(self._shown)
        for name, value in changes.items():
            at = f"session.{name}"
            if name in self._takes.own:
                draft[name] = self._own(name, value)
            elif name == "audio":
                self._audio(draft["audio"], _object(value, at))
            elif name in READERS and (value is not None or name in NULLABLE):
                draft[name] = READERS[name](value, at)
            elif name == "tools" and value is not None:
                draft[name] = self.read_tools(value, at)
            elif name not in FIELDS:
                self._only({name: value}, (), "session.")
        self._shown = draft

    def read_response(self, given: Any) -> Json:
        """Return the fields of a `response.create`; the session supplies those it leaves out. Raises `Fault`."""
        wanted = dict(mapping({} if given is None else given, "response"))
        self._only(wanted, RESPONSE_FIELDS, "response.")
        for name, value in wanted.items():
            if name in RESPONSE_FIELDS and value is not None:
                read = self.read_tools if name == "tools" else RESPONSE_FIELDS[name]
                wanted[name] = read(value, f"response.{name}")
        return {name: value for name, value in wanted.items() if value is not None}

    def shown(self) -> Json:
        """Return a copy for an event."""
        return copy.deepcopy(self._shown)

    def read_tools(self, value: Any, param: str) -> list[Json]:
        """Return functions, each with a name and a schema, and tools of MCP servers as they are. Raises `Fault`."""
        tools, names = sequence(value, param), set(self._takes.reserved)
        if len(tools) > TOOLS_LIMIT:
            raise invalid(param, f"at most {TOOLS_LIMIT} tools are taken.")
        for number_, tool in enumerate(tools):
            at = f"{param}[{number_}]."
            each = mapping(tool, at[:-1])
            kinds = ["function", "mcp"] if self._takes.mcp else ["function"]
            if one_of(each.get("type"), kinds, at + "type") == "mcp":
                required_text(each, "server_label", at)
                continue
            name = required_text(each, "name", at)
            if not name:
                raise missing(at + "name")
            if name in names:
                raise invalid(at + "name", f"{name} is taken.")
            names.add(name)
            self._only(each, TOOL_FIELDS, at)
            mapping(each.get("parameters") or {}, at + "parameters")
        return [dict(tool) for tool in tools]

    # --- what was chosen ------------------------------------------------------------------------------------

    @property
    def modality(self) -> str:
        """Return `audio` or `text`."""
        return str(self._shown["output_modalities"][0])

    @property
    def turn_detection(self) -> Json | None:
        """Return how turns are detected; None if the client commits them."""
        detection: Json | None = self._shown["audio"]["input"]["turn_detection"]
        return detection

    @property
    def transcribes(self) -> bool:
        """Return whether the client wants the words of the caller."""
        return self._shown["audio"]["input"]["transcription"] is not None

    @property
    def gives_logprobs(self) -> bool:
        """Return whether the client asked for the certainty of transcripts."""
        return LOGPROBS in (self._shown.get("include") or ())

    @property
    def output_audio(self) -> Json:
        """Return the format and the voice of replies."""
        output = self._shown["audio"]["output"]
        return {"format": dict(output["format"]), "voice": output["voice"]}

    @property
    def voice(self) -> str:
        """Return the voice's name."""
        return str(self._shown["audio"]["output"]["voice"])

    @property
    def speed(self) -> float:
        """Return how fast replies are spoken."""
        return float(self._shown["audio"]["output"]["speed"])

    @property
    def tools(self) -> list[Json]:
        """Return the functions on offer."""
        return [tool for tool in self._shown["tools"] if tool["type"] == "function"]

    @property
    def tool_choice(self) -> Any:
        """Return `auto`, `none`, `required` or one tool."""
        return self._shown["tool_choice"]

    @property
    def instructions(self) -> str:
        """Return the prompt."""
        return str(self._shown["instructions"])

    # --- reading --------------------------------------------------------------------------------------------

    def _only(self, given: Mapping[str, Any], known: Any, at: str) -> None:
        if not self._takes.unknown:
            only(given, known, at)

    def _own(self, name: str, value: object) -> object:
        one_of(value, self._takes.own[name], f"session.{name}")
        return value

    def _audio(self, draft: Json, given: Mapping[str, Any]) -> None:
        at = "session.audio."
        self._only(given, draft, at)
        heard, spoken = _object(given.get("input"), at + "input"), _object(given.get("output"), at + "output")
        self._only(heard, draft["input"], at + "input.")
        self._only(spoken, draft["output"], at + "output.")
        for end, fields in (("input", heard), ("output", spoken)):
            if fields.get("format") is not None:
                draft[end]["format"] = self._format(fields["format"], f"{at}{end}.format")
        for name, read in (("transcription", self._transcription), ("turn_detection", self._turn_detection)):
            if name in heard:
                draft["input"][name] = read(heard[name], f"{at}input.{name}")
        if "noise_reduction" in heard:
            draft["input"]["noise_reduction"] = _noise_reduction(heard["noise_reduction"], at + "input.noise_reduction")
        if spoken.get("speed") is not None:
            draft["output"]["speed"] = float(number(spoken["speed"], at + "output.speed", least=0.25, most=1.5))
        if spoken.get("voice") is not None:
            draft["output"]["voice"] = self._voice(spoken["voice"], at + "output.voice")

    def _format(self, value: Any, param: str) -> Json:
        given = mapping(value, param)
        kind = one_of(given.get("type"), self._takes.formats, param + ".type")
        if kind != PCM["type"]:
            return {"type": kind}
        one_of(given.get("rate", PCM["rate"]), [PCM["rate"]], param + ".rate")
        return dict(PCM)

    def _transcription(self, value: Any, param: str) -> Json | None:
        if value is None:
            return None
        given = mapping(value, param)
        self._only(given, TRANSCRIPTION, param + ".")
        return _fields(given, TRANSCRIPTION, param)

    def _turn_detection(self, value: Any, param: str) -> Json | None:
        if value is None:
            return None
        given = mapping(value, param)
        defaults = VAD_DEFAULTS[one_of(given.get("type"), list(VAD_DEFAULTS), param + ".type")]
        for name in given.keys() - defaults.keys():
            if name in VAD_FIELDS:  # of the other kind: it would be waited for in vain
                raise unknown(f"{param}.{name}")
        self._only(given, defaults, param + ".")
        return {**defaults, **_fields(given, VAD_FIELDS, param)}

    def _voice(self, value: Any, param: str) -> str:
        named = value.get("id") if isinstance(value, Mapping) else value
        voice = text(named, param)
        if not 0 < len(voice) <= VOICE_LIMIT:
            raise invalid(param, "no voice has this name.")
        if self.begun and voice != self.voice:
            message = "Cannot update a conversation's voice once it has begun."
            raise Fault(message, code="cannot_update_voice", param=param)
        return voice


def read_modality(value: Any, param: str) -> list[str]:
    """Return `["audio"]` or `["text"]`; both together are refused. Raises `Fault`."""
    if sequence(value, param) not in (["audio"], ["text"]):
        raise invalid(param, "supported combinations are: ['text'] and ['audio'].")
    return [str(value[0])]


def _object(value: Any, param: str) -> Mapping[str, Any]:
    return {} if value is None else mapping(value, param)


def _fields(given: Mapping[str, Any], readers: Mapping[str, Reader], param: str) -> Json:
    """Return the fields that are there and known, each read."""
    known = {name: value for name, value in given.items() if name in readers and value is not None}
    return {name: readers[name](value, f"{param}.{name}") for name, value in known.items()}


def _noise_reduction(value: Any, param: str) -> Json | None:
    if value is None:
        return None
    return {"type": one_of(mapping(value, param).get("type"), ["near_field", "far_field"], param + ".type")}


def _instructions(value: Any, param: str) -> str:
    words = text(value, param)
    if len(words) > INSTRUCTIONS_LIMIT:
        raise invalid(param, f"it is longer than {INSTRUCTIONS_LIMIT} characters.")
    return words


def _tool_choice(value: Any, param: str) -> object:
    if not isinstance(value, Mapping):
        return one_of(value, ["auto", "none", "required"], param)
    kind = one_of(value.get("type"), ["function", "mcp"], param + ".type")
    required_text(value, "name" if kind == "function" else "server_label", param + ".")
    return dict(value)


def _max_output_tokens(value: Any, param: str) -> object:
    return value if value == "inf" else whole(value, param, least=1, most=4096)


def _include(value: Any, param: str) -> list[Any]:
    return [one_of(each, [LOGPROBS], param) for each in sequence(value, param)]


def _truncation(value: Any, param: str) -> object:
    if isinstance(value, str):
        return one_of(value, ["auto", "disabled"], param)
    one_of(mapping(value, param).get("type"), ["retention_ratio"], param + ".type")
    number(value.get("retention_ratio"), param + ".retention_ratio", least=0, most=1)
    return value


def _tracing(value: Any, param: str) -> object:
    return value if value in (None, "auto") else mapping(value, param)


def _prompt(value: Any, param: str) -> object:
    if value is not None:
        required_text(mapping(value, param), "id", param + ".")
    return value


def _reasoning(value: Any, param: str) -> Mapping[str, Any]:
    given = mapping(value, param)
    if given.get("effort") is not None:
        one_of(given["effort"], EFFORTS, param + ".effort")
    return given


SHARED: Mapping[str, Reader] = {
    "instructions": _instructions,
    "output_modalities": read_modality,
    "tool_choice": _tool_choice,
    "max_output_tokens": _max_output_tokens,
    "prompt": _prompt,
    "reasoning": _reasoning,
    "parallel_tool_calls": flag,
}
READERS: Mapping[str, Reader] = {**SHARED, "include": _include, "truncation": _truncation, "tracing": _tracing}
"""Fields of a session that are read by themselves."""
FIELDS = frozenset({*READERS, "type", "model", "audio", "tools"})
"""All fields of a session. The model is the connection's: naming one changes nothing."""
RESPONSE_FIELDS: Mapping[str, Reader] = {
    **SHARED,
    "audio": mapping,
    "conversation": lambda value, at: one_of(value, ["auto", "none"], at),
    "input": sequence,
    "metadata": metadata,
    "tools": sequence,
}
"""All fields of a response that is asked for."""
