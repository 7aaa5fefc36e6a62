"""The commands that the turn machine returns: only data, named in the imperative. The call engine carries them out."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from backend.page_events import PageEvent, Role
from backend.turns.value_object import ValueObject


class Purpose(StrEnum):
    """The reasons for wanting a reply, the most urgent first."""

    ANSWER = "answer"
    RESULT = "result"
    NOTICE = "notice"
    """News that the caller has not asked for just now: see `notices`."""
    GREETING = "greeting"
    FILLER = "filler"
    NUDGE = "nudge"
    GOODBYE = "goodbye"


class Clip(StrEnum):
    """The sentences that the server plays when the Responder cannot speak. Their recordings are in `call/clips/`."""

    SORRY = "sorry"
    MOMENT = "moment"
    WAITING = "waiting"
    LOST = "lost"
    GOODBYE = "goodbye"
    LIMIT = "limit"
    BUDGET = "budget"


CLIP_WORDS = {
    Clip.SORRY: "Sorry, something went wrong. Could you say that again?",
    Clip.MOMENT: "One moment, please.",
    Clip.WAITING: "I am still here. The connection is not back yet.",
    Clip.LOST: "Sorry, I have lost the line. Please call again.",
    Clip.GOODBYE: "I have to go now. Goodbye!",
    Clip.LIMIT: "We have reached the limit for this call. Thank you, and goodbye!",
    Clip.BUDGET: "The budget for today is used up. Please call again tomorrow. Goodbye!",
}


WAIT_FOR_USER = "wait_for_user"
"""The tool that the Responder calls to stay silent, because the words were not addressed to it."""
DELEGATE = "delegate"
"""The tool call of a model that delegates by itself. It gives what the caller `said` and the model `announced`."""


# --- to the Responder ---------------------------------------------------------------------------------


class CommitInput(ValueObject):
    """Take the audio sent so far as the user's turn."""


class ClearInput(ValueObject):
    """Forget the audio sent since the last commit."""


PICTURE = "[picture]"
"""The text that stands for a picture where only the words of a conversation are kept."""


class AddUserText(ValueObject):
    """Put a typed message into the conversation, with the pictures that belong to it."""

    text: str
    pictures: tuple[str, ...] = field(default=(), repr=False)
    """The pictures of the message, each as a data URL."""
    item: str = ""
    """The id that the caller's program gave the message; empty: none."""

    @property
    def words(self) -> str:
        """The message in words, with `PICTURE` for each picture."""
        return " ".join([PICTURE] * len(self.pictures) + [self.text] * bool(self.text))


class AddNote(ValueObject):
    """Put a system note into the conversation: news, or a result of a tool call from before the connection was lost."""

    text: str
    item: str = ""
    """The id that the caller's program gave the note; empty: none."""


class CreateReply(ValueObject):
    """Begin a reply. `request` names this order in the provider's answers."""

    purpose: Purpose
    request: str
    hint: str = ""
    """Instructions for this one reply, in addition to those of its purpose."""


class CreateOutOfBand(ValueObject):
    """Begin a response outside of the conversation, for the caller's program; the response is not spoken."""

    request: str
    response: Mapping[str, Any]
    """The fields of the response, as the Realtime API has them."""


class CancelReply(ValueObject):
    """Stop generating `reply` (None: the active reply)."""

    reply: str | None


class TruncateItem(ValueObject):
    """The caller heard only `heard_ms` of assistant item `item`: the words `heard`, as far as that is known."""

    item: str
    heard_ms: int
    heard: str = field(default="", compare=False)


class DeleteItem(ValueObject):
    """The caller heard nothing of assistant item `item`."""

    item: str


class SubmitResult(ValueObject):
    """Answer tool call `call`, exactly once."""

    call: str
    output: str
    silent: bool = False
    """The result is not to be spoken; a model that speaks every result needs an instruction not to."""


# --- to the link that connects the Responder ----------------------------------------------------------


class LeaveResponder(ValueObject):
    """Change to another provider, because this one is connected but mute. `ResponderLost` comes back."""


# --- to the transport ---------------------------------------------------------------------------------


class Play(ValueObject):
    """Queue 24 kHz mono PCM16 of `item`."""

    item: str
    pcm: bytes


CLIP_ITEM = "clip:"
"""The prefix of the names of recordings; no item of a provider has it."""


class PlayClip(ValueObject):
    """Queue one of the server's own recordings."""

    clip: Clip

    @property
    def item(self) -> str:
        """The item id under which the playback of this recording is reported."""
        return f"{CLIP_ITEM}{self.clip}"


class HoldPlayback(ValueObject):
    """Play silence from the next frame on, keeping what is queued."""


class ResumePlayback(ValueObject):
    """Resume playback exactly where it was held."""


class DuckPlayback(ValueObject):
    """Turn playback down within 60 ms, and play on."""


class UnduckPlayback(ValueObject):
    """Bring playback back to its loudness."""


class FlushPlayback(ValueObject):
    """Discard the queued audio; `PlaybackFlushed` comes back."""


class RestorePlayback(ValueObject):
    """Queue again the audio that the last flush discarded; if it is gone, `PlaybackDrained` of `item` comes back."""

    item: str
    played_ms: int


# --- to the utterance classifier --------------------------------------------------------------------------


class ReadUtterance(ValueObject):
    """Classify the speech since the onset; `UtteranceRead` comes back. `partial`: the voice still sounds."""

    partial: bool = False


class EstimateSentenceEnd(ValueObject):
    """Estimate whether a sentence ends after `words`; `SentenceEndEstimated` may come back."""

    words: str


# --- to Thinkers, memory and the page -----------------------------------------------------------------


class RunThinker(ValueObject):
    """Work on tool call `call`; `ThinkerFinished` or `ThinkerFailed` comes back, exactly once."""

    call: str
    name: str
    arguments: str
    unsure: bool = False
    """The words that led to the call may have been misheard."""
    turn: int = 0
    """The number of the caller's turn that the call serves."""
    into_turn_ms: int = 0
    """Milliseconds from the caller's last sound of that turn to the tool call."""


class CancelThinker(ValueObject):
    """Stop the work on tool call `call`, which is no longer wanted."""

    call: str


class Remember(ValueObject):
    """Keep what the caller really said, or what the caller heard of the assistant."""

    role: Role
    text: str


class NoticeDelivered(ValueObject):
    """Record that the caller has heard `notice`, which is never spoken again."""

    notice: str


class Publish(ValueObject):
    """Report `event` to the page, the metrics, the trace and the hooks."""

    event: PageEvent


class HangUp(ValueObject):
    """End the call."""

    reason: str


ResponderCommand = (
    CommitInput
    | ClearInput
    | AddUserText
    | AddNote
    | CreateReply
    | CreateOutOfBand
    | CancelReply
    | TruncateItem
    | DeleteItem
    | SubmitResult
)
TransportCommand = (
    Play | PlayClip | HoldPlayback | ResumePlayback | DuckPlayback | UnduckPlayback | FlushPlayback | RestorePlayback
)
ReaderCommand = ReadUtterance | EstimateSentenceEnd
Command = (
    ResponderCommand
    | TransportCommand
    | ReaderCommand
    | LeaveResponder
    | RunThinker
    | CancelThinker
    | Remember
    | NoticeDelivered
    | Publish
    | HangUp
)
