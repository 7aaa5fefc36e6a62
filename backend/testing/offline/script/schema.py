"""The script file, field by field. Unknown fields are refused; delays are milliseconds.

`docs/offline.md` shows it by example; `load` is the only way in.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from backend.errors import SetupError

Ms = Annotated[int, Field(ge=0, le=3_600_000)]


class ScriptError(SetupError):
    """The script file cannot be used; the message names each wrong field."""

    hint = "docs/offline.md describes the script file."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Hz = Annotated[float, Field(gt=0, lt=12_000)]


class Tone(_Strict):
    """A sine of continuous phase. With `to_hz` it rises steadily, so that its pitch shows the moment."""

    hz: Hz = 440.0
    to_hz: Hz | None = None
    ms: Ms


def _json(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


Arguments = Annotated[str, BeforeValidator(_json)]
"""An object is sent as JSON, a string exactly as it stands."""


class CallSpec(_Strict):
    """A function call."""

    name: str
    arguments: Arguments = ""


class ScriptedReply(_Strict):
    """One reply. Its sound is its `tone`; text alone gets one."""

    text: str = ""
    tone: Tone | None = None
    first_audio_delay_ms: Ms = 0
    pace: float = Field(default=0.0, ge=0, le=1000)
    """Times real time; 0 is as fast as possible."""
    messages: list[ReplySpec] = []
    """Further messages of this reply; only their words, sound and delays count."""
    calls: list[CallSpec] = []
    late_ms: Ms = 0
    """After a cancellation the reply goes on for so long before `response.done`."""
    hang: bool = False
    """Nothing ever comes, not even `response.created`."""
    stall_after_ms: Ms | None = None
    """After so much audio nothing more comes."""
    drop_after_ms: Ms | None = None
    """After so much audio the connection breaks."""
    expire_after_ms: Ms | None = None
    """After so much audio the session expires."""
    garbled: list[str] = []
    """Messages sent as they stand before the first sound: what is not JSON, or not what the API says."""
    status: Literal["completed", "failed", "incomplete"] = "completed"
    status_details: dict[str, Any] = {}


def _reply(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


ReplySpec = Annotated[ScriptedReply, BeforeValidator(_reply)]
ScriptedReply.model_rebuild()


class HearingSpec(_Strict):
    """The transcript of the caller's audio."""

    text: str = ""
    voiced_ms: Ms = 0
    """The sound that all of it takes: where a voice goes on within a second, what it adds is a piece of this turn, and
    each piece has its share of the words. 0: every commit is a turn of its own."""


def _hearing(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class TurnSpec(_Strict):
    """One turn of the caller, spoken or typed, and what follows it."""

    hear: Annotated[HearingSpec, BeforeValidator(_hearing)] = HearingSpec()
    reply: ReplySpec | None = None
    after_results: list[ReplySpec] = []
    """Replies asked for when function call outputs are the newest items; the last repeats."""


class ConnectionScript(_Strict):
    """How one connection behaves."""

    turns: list[TurnSpec] = []
    loop: bool = False
    """Begin again after the last turn; else the last turn repeats."""
    purposes: dict[str, ReplySpec] = {}
    """Replies for `metadata.purpose` values; they win over a turn's reply for all but answer and result."""
    when_told: dict[str, ReplySpec] = {}
    """Replies for requests that come with these words, where a provider's requests have no purpose; they win."""
    fallback: ReplySpec = ScriptedReply(text="Yes.")
    """The reply used when nothing else is written for it."""
    mute_ms: Ms = 0
    """Milliseconds after the first request in which no reply comes; the first one never does."""


class ChatSpec(_Strict):
    """One scripted answer of `/v1/chat/completions`."""

    text: str = ""
    calls: list[CallSpec] = []
    delay_ms: Ms = 0


class Script(ConnectionScript):
    """The whole file: one behaviour for every connection, or one each."""

    connections: list[ConnectionScript] = []
    """By order of connection; the last repeats. Empty: this very object."""
    chat: list[ChatSpec] | None = None
    """Consumed one a request, the last repeating; absent: the demonstration answers."""

    def for_connection(self, number: int) -> ConnectionScript:
        """Return the part that connection `number` (from 1) follows."""
        if not self.connections:
            return self
        return self.connections[min(number, len(self.connections)) - 1]


def parse(data: str | bytes) -> Script:
    """Return a script from JSON. Raises `ScriptError`."""
    try:
        return Script.model_validate_json(data)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc'])) or 'script'}: {each['msg']}" for each in error.errors()]
        raise ScriptError("The script is not valid: " + "; ".join(problems)) from None


def load(path: Path) -> Script:
    """Return a script from a file. Raises `ScriptError`."""
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise ScriptError(f"Cannot read the script {path}: {error.strerror}") from None
