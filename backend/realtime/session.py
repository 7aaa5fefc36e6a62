"""The session: what `session.created` shows, and what a client may change in it.

A field left out of an update stays as it is. So does a null field, unless null has a meaning: `turn_detection: null`
switches turn detection off. Fields without effect here, such as `truncation`, are shown as they were given, and
unknown ones are ignored: newer clients may send them.
"""

import copy
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, to_builtins

from backend.realtime.faults import Fault, invalid
from backend.realtime.fields import Whole, read

Json = dict[str, Any]

PCM: Json = {"type": "audio/pcm", "rate": 24000}
FORMATS = ("audio/pcm", "audio/pcmu", "audio/pcma")
LOGPROBS = "item.input_audio_transcription.logprobs"
TOOLS_LIMIT = 128
INSTRUCTIONS_LIMIT = 64_000
"""The most characters of instructions."""
NULLABLE = frozenset({"tracing", "prompt"})
"""Fields of a session in which null is a value."""
UNCHANGED = frozenset({"type", "model"})
"""Fields of a session that an update cannot change."""


class ServerVad(Struct, frozen=True, tag_field="type", tag="server_vad"):
    """Turn detection by loudness."""

    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5
    prefix_padding_ms: Whole = 300
    silence_duration_ms: Whole = 500
    idle_timeout_ms: Annotated[int, Meta(ge=5_000, le=30_000)] | None = None
    create_response: bool = True
    interrupt_response: bool = True


class SemanticVad(Struct, frozen=True, tag_field="type", tag="semantic_vad"):
    """Turn detection by what is said."""

    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True


class Format(Struct, frozen=True):
    """A format of audio; `rate` may be left out for G.711, which has only one."""

    type: str
    rate: int | None = None


class CustomVoice(Struct, frozen=True):
    """A voice that is named by an object."""

    id: str


class AudioInput(Struct, frozen=True):
    """The fields of the caller's audio."""

    format: Format | None = None
    transcription: Json | None = None
    noise_reduction: Json | None = None
    turn_detection: Json | None = None


class AudioOutput(Struct, frozen=True):
    """The fields of the replies' audio."""

    format: Format | None = None
    voice: Annotated[str, Meta(min_length=1, max_length=128)] | CustomVoice | None = None
    speed: Annotated[float, Meta(ge=0.25, le=1.5)] | None = None


class AudioFields(Struct, frozen=True):
    """The fields of all audio."""

    input: AudioInput | None = None
    output: AudioOutput | None = None


class Function(Struct, frozen=True, tag_field="type", tag="function"):
    """A function that the model may call."""

    name: Annotated[str, Meta(min_length=1)]
    description: str | None = None
    parameters: Json | None = None


class NamedFunction(Struct, frozen=True, tag_field="type", tag="function"):
    """The function that the model must call."""

    name: str


class SharedFields(Struct, frozen=True, kw_only=True):
    """The fields that a session and a response have in common."""

    instructions: Annotated[str, Meta(max_length=INSTRUCTIONS_LIMIT)] | None = None
    output_modalities: Annotated[list[Literal["audio", "text"]], Meta(min_length=1, max_length=1)] | None = None
    tools: Annotated[list[Function], Meta(max_length=TOOLS_LIMIT)] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedFunction | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=4096)] | Literal["inf"] | None = None
    parallel_tool_calls: bool | None = None
    reasoning: Json | None = None
    prompt: Json | None = None


class SessionFields(SharedFields, frozen=True, kw_only=True):
    """The fields of a `session.update`. The model is the connection's: naming one changes nothing."""

    type: Literal["realtime"]
    model: str | None = None
    audio: AudioFields | None = None
    include: list[Literal["item.input_audio_transcription.logprobs"]] | None = None
    truncation: str | Json | None = None
    tracing: str | Json | None = None


class ResponseFields(SharedFields, frozen=True, kw_only=True):
    """The fields of a `response.create`."""

    audio: Json | None = None
    conversation: Literal["auto", "none"] | None = None
    input: list[Json] | None = None
    metadata: (
        Annotated[dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]], Meta(max_length=16)]
        | None
    ) = None


class RealtimeSession:
    """One session, as its client sees it; a subclass may take more of a client, or less."""

    fields: ClassVar[type[SessionFields]] = SessionFields
    formats: ClassVar[tuple[str, ...]] = FORMATS[:1]
    """The formats of audio that are taken."""
    reserved: ClassVar[frozenset[str]] = frozenset()
    """Names that a tool cannot have."""
    own: ClassVar[Json] = {}
    """Fields that the API does not have, with their defaults."""

    def __init__(
        self,
        session_id: str,
        model: str,
        *,
        voice: str = "alloy",
        transcription: str = "",
        expires_at: int | None = None,
    ) -> None:
        """`transcription` is the model that transcribes from the start; `expires_at` is a Unix time in seconds."""
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
                    "turn_detection": to_builtins(ServerVad()),
                },
                "output": {"format": dict(PCM), "voice": voice, "speed": 1.0},
            },
            **self.own,
        }

    def update(self, given: Any) -> None:
        """Take the fields of a `session.update`, all or none. Raises `Fault`."""
        self._check_tools(read(given, self.fields, "session"), "session")
        draft = copy.deepcopy(self._shown)
        taken = frozenset(self.fields.__struct_fields__) - UNCHANGED
        for name, value in given.items():
            if name == "audio":
                self._audio(draft["audio"], value or {})
            elif name in taken and (value is not None or name in NULLABLE):
                draft[name] = value  # unknown fields are ignored, and null leaves a field as it is
        self._shown = draft

    def read_response(self, given: Any) -> Json:
        """Return the fields of a `response.create`; the session supplies those it leaves out. Raises `Fault`."""
        wanted = {} if given is None else given
        self._check_tools(read(wanted, ResponseFields, "response"), "response")
        return {name: value for name, value in wanted.items() if value is not None}

    def shown(self) -> Json:
        """Return a copy for an event."""
        return copy.deepcopy(self._shown)

    # --- what was chosen ------------------------------------------------------------------------------------

    @property
    def modality(self) -> str:
        """Return `audio` or `text`."""
        return str(self._shown["output_modalities"][0])

    @property
    def turn_detection(self) -> Json | None:
        """Return the settings of turn detection; None if the client commits its turns."""
        detection: Json | None = self._shown["audio"]["input"]["turn_detection"]
        return detection

    @property
    def transcribes(self) -> bool:
        """Return whether the client wants transcripts of the caller's words."""
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
        tools: list[Json] = self._shown["tools"]
        return tools

    @property
    def tool_choice(self) -> Any:
        """Return `auto`, `none`, `required` or one tool."""
        return self._shown["tool_choice"]

    @property
    def instructions(self) -> str:
        """Return the prompt."""
        return str(self._shown["instructions"])

    # --- reading --------------------------------------------------------------------------------------------

    def _check_tools(self, given: SharedFields, at: str) -> None:
        """Refuse tools with a name that is taken."""
        names = set(self.reserved)
        for number, tool in enumerate(given.tools or ()):
            if tool.name in names:
                raise invalid(f"{at}.tools[{number}].name", f"{tool.name} is taken.")
            names.add(tool.name)

    def _audio(self, draft: Json, given: Json) -> None:
        heard, spoken = given.get("input") or {}, given.get("output") or {}
        for end, fields in (("input", heard), ("output", spoken)):
            if (kind := fields.get("format")) is not None:
                draft[end]["format"] = self._format(kind, f"session.audio.{end}.format")
        for name in ("transcription", "noise_reduction"):
            if name in heard:
                draft["input"][name] = heard[name]
        if "turn_detection" in heard:
            draft["input"]["turn_detection"] = _turn_detection(heard["turn_detection"])
        if spoken.get("speed") is not None:
            draft["output"]["speed"] = float(spoken["speed"])
        if (voice := spoken.get("voice")) is not None:
            draft["output"]["voice"] = self._voice(voice if isinstance(voice, str) else voice["id"])

    def _format(self, given: Json, param: str) -> Json:
        kind = given["type"]
        if kind not in self.formats:
            raise invalid(f"{param}.type", f"supported values are: {', '.join(self.formats)}.")
        if kind != PCM["type"]:
            return {"type": kind}
        if given.get("rate") not in (None, PCM["rate"]):
            raise invalid(f"{param}.rate", f"the supported value is: {PCM['rate']}.")
        return dict(PCM)

    def _voice(self, voice: str) -> str:
        if self.begun and voice != self.voice:
            message = "Cannot update a conversation's voice once it has begun."
            raise Fault(message, code="cannot_update_voice", param="session.audio.output.voice")
        return voice


def _turn_detection(given: Json | None) -> Json | None:
    """Return the settings of turn detection, with the defaults of fields that were left out."""
    if given is None:
        return None
    chosen = {name: value for name, value in given.items() if value is not None}
    detection: Json = to_builtins(read(chosen, ServerVad | SemanticVad, "session.audio.input.turn_detection"))
    return detection
