"""The events that the turn machine receives: frozen, in the past tense, without behaviour.

Times in milliseconds are durations; the moment an event happened is the `now` it is received with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ReplyStatus = Literal["completed", "cancelled", "failed", "incomplete"]


@dataclass(frozen=True, slots=True)
class CallStarted:
    """Transport and Responder are both connected; the conversation may begin."""


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller's voice was detected (onset)."""


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """The voice fell silent; it may go on (the hangover runs). `voiced_ms` of speech so far."""

    voiced_ms: int


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The voice went on before the hangover ran out. `voiced_ms` of speech so far."""

    voiced_ms: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The utterance is over (endpoint): `voiced_ms` of speech, then `hangover_ms` of silence."""

    voiced_ms: int
    hangover_ms: int = 0


@dataclass(frozen=True, slots=True)
class UserTranscribed:
    """The provider's transcript of one committed utterance; may arrive after the reply has begun."""

    item: str
    text: str


@dataclass(frozen=True, slots=True)
class UserTranscriptGrew:
    """A piece of that transcript."""

    item: str
    delta: str


@dataclass(frozen=True, slots=True)
class InputCommitted:
    """The provider took the audio buffer as user item `item`, after `previous`."""

    item: str
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class TextTyped:
    """The caller typed instead of speaking."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The provider began reply `reply`, asked for as `request` (None: it does not say)."""

    reply: str
    request: str | None = None


@dataclass(frozen=True, slots=True)
class ReplyAudio:
    """Some 24 kHz mono PCM16 of assistant item `item` in reply `reply`."""

    reply: str
    item: str
    pcm: bytes


@dataclass(frozen=True, slots=True)
class ReplyText:
    """Some of the words spoken in that audio."""

    reply: str
    item: str
    delta: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A completed function call of reply `reply`; `arguments` is the model's JSON, unchecked.

    Arrives before the `ReplyFinished` of its reply.
    """

    reply: str
    call: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The provider is done with `reply`; `detail` says why when it did not complete."""

    reply: str
    status: ReplyStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReplyRefused:
    """The provider would not begin reply `request`; `code` is its error code."""

    request: str
    code: str


@dataclass(frozen=True, slots=True)
class ProviderComplained:
    """Any other error event: the call goes on."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ThinkerFinished:
    """A Thinker answered tool call `call` with `output`, ready for the Responder to put in its own words."""

    call: str
    output: str


@dataclass(frozen=True, slots=True)
class ThinkerFailed:
    """Tool call `call` has no answer: bad arguments, unknown name, failure or deadline."""

    call: str
    reason: str


@dataclass(frozen=True, slots=True)
class ThinkerDismissed:
    """The caller does not want tool call `call` answered any more."""

    call: str


@dataclass(frozen=True, slots=True)
class LateAnswerWanted:
    """The caller wants to hear the answer of tool call `call` that came too late; `output` holds it."""

    call: str
    output: str


@dataclass(frozen=True, slots=True)
class NoticeArrived:
    """A notice is to be spoken unasked: its `text`, and its id `notice`."""

    notice: str
    text: str


@dataclass(frozen=True, slots=True)
class NoticeWithdrawn:
    """A notice need not be spoken in this call any more: it was delivered elsewhere, or erased."""

    notice: str


@dataclass(frozen=True, slots=True)
class PlaybackStarted:
    """The first frame of `item` left for the caller."""

    item: str


@dataclass(frozen=True, slots=True)
class PlaybackDrained:
    """Nothing is queued any more; `played_ms` of `item`, the last one, have been played."""

    item: str
    played_ms: int


@dataclass(frozen=True, slots=True)
class Heard:
    """How much of `item` the caller really got before a flush."""

    item: str
    played_ms: int


@dataclass(frozen=True, slots=True)
class PlaybackFlushed:
    """Queued audio was thrown away; `items` lists, oldest first, every item not played to its end."""

    items: tuple[Heard, ...]


@dataclass(frozen=True, slots=True)
class ResponderLost:
    """The Responder's connection broke; a new one is being made."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResponderRestored:
    """A new connection stands, with the history put back."""


@dataclass(frozen=True, slots=True)
class ResponderGone:
    """No new connection can be made: the call cannot go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class HangUpRequested:
    """Somebody in charge ends the call: `reason` is e.g. 'deleted', 'shutdown', 'max_minutes'."""

    reason: str


@dataclass(frozen=True, slots=True)
class TransportClosed:
    """The caller is gone; `reason` is e.g. 'disconnected', 'network_lost'."""

    reason: str


SpeechEvent = SpeechStarted | SpeechPaused | SpeechResumed | SpeechStopped
PlaybackEvent = PlaybackStarted | PlaybackDrained
ResponderEvent = (
    SpeechEvent
    | UserTranscribed
    | UserTranscriptGrew
    | InputCommitted
    | ReplyStarted
    | ReplyAudio
    | ReplyText
    | ToolCalled
    | ReplyFinished
    | ReplyRefused
    | ProviderComplained
)
Event = (
    ResponderEvent
    | PlaybackEvent
    | CallStarted
    | TextTyped
    | ThinkerFinished
    | ThinkerFailed
    | ThinkerDismissed
    | LateAnswerWanted
    | NoticeArrived
    | NoticeWithdrawn
    | PlaybackFlushed
    | ResponderLost
    | ResponderRestored
    | ResponderGone
    | HangUpRequested
    | TransportClosed
)
