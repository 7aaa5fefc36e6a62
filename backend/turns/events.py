"""The events that the turn machine receives: frozen, in the past tense, without behaviour.

Times in milliseconds are durations. An event happens at the `now` with which it is received.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from backend.turns.limits import TurnLimits
from backend.turns.utterances import UtteranceKind
from backend.turns.value_object import ValueObject

ReplyStatus = Literal["completed", "cancelled", "failed", "incomplete"]


class Event(ValueObject):
    """The base of all events."""


class ResponderEvent(Event):
    """The base of what a Responder reports."""


class SpeechEvent(ResponderEvent):
    """The base of what endpointing reports, the server's or the provider's."""


class PlaybackEvent(Event):
    """The base of what playout reports while it plays."""


class CallStarted(Event):
    """Transport and Responder are both connected; the conversation may begin."""


class SpeechStarted(SpeechEvent):
    """The caller's voice was detected (onset)."""


class SpeechPaused(SpeechEvent):
    """The voice fell silent after `voiced_ms` of speech. It may go on: the hangover runs."""

    voiced_ms: int


class SpeechResumed(SpeechEvent):
    """The voice went on before the hangover ran out. It has lasted `voiced_ms` of speech so far."""

    voiced_ms: int


class SpeechStopped(SpeechEvent):
    """The utterance is over (endpoint): `voiced_ms` of speech, then `hangover_ms` of silence."""

    voiced_ms: int
    hangover_ms: int = 0


class VoiceOffAxis(SpeechEvent):
    """The present voice was found to be off-axis or not. Another person's is, and a caller's who has turned away."""

    off_axis: bool


class OnsetHinted(SpeechEvent):
    """`hinted`: the caller's voice may be beginning, though the detector is not sure. Otherwise the hint was wrong."""

    hinted: bool


class UtteranceRead(Event):
    """The utterance classifier's answer to `ReadUtterance`; `kind` is None where it did not answer in time."""

    kind: UtteranceKind | None
    words: str = ""
    partial: bool = False


class SentenceEndEstimated(Event):
    """The answer to `EstimateSentenceEnd`: the log10 probability that a sentence ends after `words`."""

    words: str
    log10: float


class InterruptionsSwitched(Event):
    """The call has switched whether the caller's voice may interrupt replies."""

    allowed: bool


class UserTranscribed(ResponderEvent):
    """The provider's transcript of user item `item`, which may arrive after the reply has begun."""

    item: str
    text: str
    """The transcript; empty where there were no words: a laugh, a cough."""
    failed: bool = False
    """The provider could not tell what was said."""
    unsure: bool = False
    """The provider doubts its transcript."""


class UserTranscriptGrew(ResponderEvent):
    """More text of the transcript of user item `item`: see `UserTranscribed`."""

    item: str
    delta: str


class InputCommitted(ResponderEvent):
    """The provider took the audio buffer as user item `item`, after `previous`."""

    item: str
    previous: str | None = None


class TextTyped(Event):
    """The caller typed instead of speaking, or showed pictures: each is a data URL."""

    text: str
    pictures: tuple[str, ...] = field(default=(), repr=False)


class OptionsChanged(Event):
    """The caller's program has chosen other limits, or whether turns are `answered` without a request."""

    limits: TurnLimits
    answered: bool


class InputHandedIn(Event):
    """The caller's program made the audio sent so far a turn. It asks for the reply itself, if it wants one."""


class InputCommitWanted(Event):
    """The caller's program wants an item of what was said so far; the end of the turn is still detected."""


class InputDropped(Event):
    """The caller's program discards the audio that was sent since the last turn."""


class MessageAdded(Event):
    """The caller's program put a message into the conversation, and asks for the reply itself."""

    role: Literal["user", "assistant", "system"]
    text: str
    pictures: tuple[str, ...] = field(default=(), repr=False)
    """The pictures of a user's message, as in `TextTyped`."""
    item: str = ""
    """The id that the program gave the message; empty: none."""


class ToolAnswered(Event):
    """The caller's program has carried out tool call `call`, and asks for the reply itself."""

    call: str
    output: str


class ReplyRequested(Event):
    """The caller's program asks for a reply; `hint` holds instructions for this one reply."""

    hint: str = ""


class OutOfBandRequested(Event):
    """The caller's program asks, as `request`, for a response outside of the conversation."""

    request: str
    response: Mapping[str, Any]
    """The fields of the response, as the Realtime API has them."""


class ReplyCalledOff(Event):
    """The caller's program cancels the reply that is spoken, prepared or wanted."""


class ReplyStarted(ResponderEvent):
    """The provider began reply `reply`, asked for as `request` (None: it does not say)."""

    reply: str
    request: str | None = None
    unasked: bool = False
    """The reply was not asked for: the model speaks by itself."""


class ReplyAudio(ResponderEvent):
    """Some 24 kHz mono PCM16 of assistant item `item` in reply `reply`."""

    reply: str
    item: str
    pcm: bytes


class ReplyText(ResponderEvent):
    """Some of the words that assistant item `item` speaks in reply `reply`."""

    reply: str
    item: str
    delta: str


class MessageFinished(ResponderEvent):
    """The provider has sent all of assistant item `item`; the reply may go on with another message or tool calls."""

    reply: str
    item: str


class ToolCalled(ResponderEvent):
    """A complete tool call of reply `reply`, before its `ReplyFinished`; `arguments` is the model's JSON, unchecked."""

    reply: str
    call: str
    name: str
    arguments: str


class TokenUsage(ValueObject):
    """The input and output tokens of a reply, by kind. Cached tokens are part of the input."""

    text_in: int = 0
    audio_in: int = 0
    image_in: int = 0
    cached_text_in: int = 0
    cached_audio_in: int = 0
    cached_image_in: int = 0
    text_out: int = 0
    audio_out: int = 0


class ReplyFinished(ResponderEvent):
    """The provider is done with `reply`; `detail` says why when it did not complete. Unreported tokens count as 0.

    A second event of the same reply only adds tokens that were reported later.
    """

    reply: str
    status: ReplyStatus
    detail: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usage: TokenUsage = TokenUsage()
    """The tokens by kind; tokens that the provider does not distinguish count as text."""
    retry_after_s: float = 0.0
    """Seconds after which the reply may be asked for again, where the provider names a time."""
    audio_sent_ms: int = 0
    """Milliseconds of the caller's audio sent since the last reply."""
    audio_received_ms: int = 0
    """Milliseconds of audio received of this reply."""


class ReplyRefused(ResponderEvent):
    """The provider would not begin reply `request`; `code` is its error code."""

    request: str
    code: str
    retry_after_s: float = 0.0
    """Seconds after which the reply may be asked for again, where the provider names a time."""


class OutOfBandProgress(ResponderEvent):
    """The provider sent `event` of a response outside of the conversation; the caller's program gets it as it is."""

    request: str
    event: Mapping[str, Any]
    finished: ReplyFinished | None = None
    """The tokens of the response, once it is over."""


class OutOfBandRefused(ResponderEvent):
    """The Responder sends no more of the response asked for as `request`."""

    request: str
    code: str
    message: str


class ProviderComplained(ResponderEvent):
    """The provider sent an error event of no other kind; the call goes on."""

    code: str
    message: str


class ThinkerFinished(Event):
    """A Thinker answered tool call `call` with `output`, ready for the Responder to put in its own words.

    The reply that speaks it cannot be interrupted unless `interruptible`. If the caller has taken another turn since,
    `late` is spoken as a notice; empty: nothing is spoken then.
    """

    call: str
    output: str
    interruptible: bool = True
    late: str = ""
    silent: bool = False
    """The answer is for the model alone and is not spoken."""


class ThinkerFailed(Event):
    """Tool call `call` failed: bad arguments, an unknown name, an error or a missed deadline."""

    call: str
    reason: str


class ThinkerDismissed(Event):
    """The caller no longer wants an answer to tool call `call`."""

    call: str


class LateAnswerWanted(Event):
    """The caller wants to hear the late answer to tool call `call`, which `output` holds."""

    call: str
    output: str


class NoticeArrived(Event):
    """A notice is to be spoken unasked: its `text`, and its id `notice`.

    The reply that speaks it cannot be interrupted unless `interruptible`.
    """

    notice: str
    text: str
    interruptible: bool = True


class NoticeWithdrawn(Event):
    """A notice need no longer be spoken in this call: it was delivered elsewhere, or erased."""

    notice: str


class PlaybackStarted(PlaybackEvent):
    """The first frame of `item` was sent to the caller."""

    item: str


class PlaybackDrained(PlaybackEvent):
    """The playback queue is empty; `played_ms` of `item`, the last one, have been played."""

    item: str
    played_ms: int


class Heard(ValueObject):
    """The part of `item` that the caller really got before a flush."""

    item: str
    played_ms: int


class PlaybackFlushed(Event):
    """Queued audio was discarded; `items` lists, oldest first, every item not played to its end."""

    items: tuple[Heard, ...]


class ResponderLost(Event):
    """The Responder's connection broke; a new one is being made."""

    reason: str


class ResponderRestored(Event):
    """A new connection stands and has the history again; `responder` and `model` name its Responder, where known."""

    responder: str = ""
    model: str = ""
    pictures: bool = False
    """The model sees pictures."""


class ResponderGone(Event):
    """No new connection can be made: the call cannot go on."""

    reason: str
    refused: bool = False
    """The provider refuses this server, for a wrong key or missing credit, say."""


class HangUpRequested(Event):
    """The server or a user ends the call, for a `reason` like 'deleted', 'shutdown', 'max_minutes' or 'budget'."""

    reason: str


class TransportClosed(Event):
    """The caller is gone, for a `reason` like 'disconnected' or 'network_lost'."""

    reason: str
