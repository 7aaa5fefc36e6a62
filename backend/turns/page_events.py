"""Everything the server reports while a call, a typed turn or a user's work goes on, as frozen types.

The turn machine, Thinkers, tasks, notifications and typed turns publish these events. Metrics, traces, transcripts
and hooks match on the types. How an event looks to the page (`docs/api.md`) only `sessions/page_json.py` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from backend.citations import Citation

Role = Literal["user", "assistant"]
ThinkerStage = Literal["routed", "working", "complete", "failed", "stale", "cancelled"]
"""`stale`: the answer came after the caller had taken a new turn, or was never spoken."""
NoticeState = Literal["waiting", "speaking", "told"]
ToolStage = Literal["started", "finished", "failed"]
Problem = Literal[
    "call_failed", "no_reply", "reply_too_long", "responder_complained", "responder_lost", "responder_gone"
]
"""What may go wrong in a call, for a page that says it in the reader's language."""


@dataclass(frozen=True, slots=True)
class PageEvent:
    """The base of all events; records that only stand inside an event have another."""


# --- a call -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionStarted(PageEvent):
    """The Responder is connected and the call has begun."""

    session_id: str
    conversation_id: str
    history: Literal["kept", "unavailable"]
    """`unavailable`: the earlier messages of this conversation could not be read."""
    transport: str | None
    hearing: str
    """The endpointing engine: `ten`, `silero` or `provider`."""
    responder: str
    model: str
    offline: bool
    interruptions: bool = True
    """The caller's voice may interrupt what is spoken."""
    pictures: bool = False
    """The model sees pictures."""


@dataclass(frozen=True, slots=True)
class ResponderChanged(PageEvent):
    """The connection to the Responder was lost, or stands again, perhaps with another one; lost, it names none."""

    state: Literal["lost", "connected"]
    responder: str = ""
    model: str = ""
    pictures: bool = False
    """The model sees pictures."""


@dataclass(frozen=True, slots=True)
class SessionEnded(PageEvent):
    """The session is over; nothing follows. `docs/api.md` lists the reasons."""

    reason: str


@dataclass(frozen=True, slots=True)
class FloorChanged(PageEvent):
    """The floor passed to somebody else; `floor` is a value of `Floor`."""

    floor: str


@dataclass(frozen=True, slots=True)
class KeysPressed(PageEvent):
    """The caller pressed keys of the telephone (DTMF), one after the other."""

    keys: str


@dataclass(frozen=True, slots=True)
class UserItemAdded(PageEvent):
    """The provider made an item of the caller's audio: its words follow, perhaps after the reply has begun."""

    item_id: str
    previous_item_id: str | None = None


@dataclass(frozen=True, slots=True)
class TranscriptDelta(PageEvent):
    """More words of an item were transcribed or generated."""

    role: Role
    item_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ReplyWorded(PageEvent):
    """All words of an assistant item are generated; the caller has not necessarily heard them."""

    item_id: str
    content: str


@dataclass(frozen=True, slots=True)
class TranscriptCompleted(PageEvent):
    """An item is final: what the caller said, or what the caller heard to its end."""

    role: Role
    item_id: str
    content: str


@dataclass(frozen=True, slots=True)
class TranscriptInterrupted(PageEvent):
    """The caller heard only `heard` of the `content` that was generated for an assistant item."""

    item_id: str
    heard: str
    content: str


@dataclass(frozen=True, slots=True)
class PlaybackFinished(PageEvent):
    """Nothing is left to play after `played_ms` of assistant item `item_id`."""

    item_id: str
    played_ms: int


@dataclass(frozen=True, slots=True)
class TurnMeasured(PageEvent):
    """The legs of one turn in milliseconds, from the caller's last sound to the first sound of whatever is replied.

    The first six add up to `first_sound_ms`; `first_token_ms` is the part of `first_audio_ms` before the first word.
    """

    turn: int
    hangover_ms: int
    commit_ms: int
    reply_started_ms: int
    first_audio_ms: int
    patience_ms: int
    """How long the reply was kept back until the turn was believed over."""
    played_ms: int
    first_sound_ms: int
    """The time to first sound, be it of the answer, of a preamble or of a filler."""
    first_token_ms: int
    wait_ms: int = 0
    """The silence after which this turn was believed over."""
    reason: str = ""
    """Why that long: a reason of `conversation.patience`, empty for a typed turn."""
    pieces: int = 1
    """The pieces of this turn, between which the caller paused."""
    discarded: int = 0
    """Replies prepared in those pauses and thrown away."""


@dataclass(frozen=True, slots=True)
class AnswerMeasured(PageEvent):
    """The time to the answer of one turn, from the caller's last sound to the answer's first.

    What is said before the answer is not the answer: preambles, fillers, and a promise that is followed up.
    """

    turn: int
    answer_ms: int


@dataclass(frozen=True, slots=True)
class MurmurHeard(PageEvent):
    """The caller said something that takes no turn, while a reply was spoken: it went on.

    `kind`: 'agreement', 'hesitation' or 'noise' as in `UtteranceKind`, or 'aside'; `words` may be empty.
    """

    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class ReplyDiscarded(PageEvent):
    """A reply prepared in a pause of the caller's was thrown away, because the caller went on.

    The tokens are those the provider counted for it; 0 where it did not say.
    """

    turn: int
    input_tokens: int
    output_tokens: int


ReplyRemedy = Literal["none", "asked_again", "continued", "apologised"]
"""What is done about a reply that failed; `none` where nobody waits for more, or its tool calls bring an answer."""


@dataclass(frozen=True, slots=True)
class ReplyFailed(PageEvent):
    """A reply did not come whole: `status` and `reason` are the provider's, `overdue` and `promise` ours.

    `sounded`: the caller has heard some of it.
    """

    turn: int
    purpose: str
    status: str
    reason: str
    sounded: bool
    remedy: ReplyRemedy


@dataclass(frozen=True, slots=True)
class UsageCounted(PageEvent):
    """The Responder has counted what a reply took; the totals are those of the call so far.

    `usd` and `call_usd` are None where the price of the model is not known.
    """

    responder: str
    model: str
    input_tokens: int
    cached_tokens: int
    """Of those taken in, the ones that cost less since the provider had them still."""
    output_tokens: int
    audio_sent_ms: int
    audio_received_ms: int
    usd: float | None
    call_tokens: int
    call_usd: float | None


@dataclass(frozen=True, slots=True)
class InterruptionsChanged(PageEvent):
    """Whether the caller's voice may interrupt what is spoken was changed for this call."""

    allowed: bool


@dataclass(frozen=True, slots=True)
class RecordingChanged(PageEvent):
    """The call is being recorded from now on, or no more; `reason` says why not: `docs/api.md` lists the reasons."""

    recording_id: str
    on: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class IdleNudged(PageEvent):
    """The caller was silent for `idle_s` seconds and is asked whether they are still there."""

    idle_s: int


@dataclass(frozen=True, slots=True)
class IdleDisconnected(PageEvent):
    """The caller was silent for `idle_s` seconds and the call ends with a goodbye."""

    idle_s: int


@dataclass(frozen=True, slots=True)
class ErrorShown(PageEvent):
    """Something failed, with what the user can do about it."""

    message: str
    hint: str
    problem: Problem | Literal[""] = ""
    """Empty where only the words tell."""


@dataclass(frozen=True, slots=True)
class EventsMissed(PageEvent):
    """The reader came too late for `missed` events, which are not kept any more."""

    missed: int


# --- a Thinker's work -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThinkerWork:
    """One Thinker call as it stands at a moment. `turn` is the caller's turn that it serves."""

    domain: str
    label: str
    query: str
    elapsed_ms: int
    turn: int
    into_turn_ms: int
    """Milliseconds from the caller's last sound of that turn to the tool call."""
    source: str = ""
    """The origin of the answer; empty while there is none."""
    citations: tuple[Citation, ...] = ()
    task_id: str = ""
    """The background task it continues as."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A tool call of a Thinker began or ended; `id` joins the two."""

    id: str
    name: str
    event: ToolStage


@dataclass(frozen=True, slots=True)
class ThinkerChanged(PageEvent):
    """The work on one tool call reached another stage.

    The turn machine knows the call's id only; who runs the Thinkers adds `work`, None for a call that was forgotten.
    """

    call_id: str
    stage: ThinkerStage
    work: ThinkerWork | None = None
    detail: str = ""
    """A step worth showing; empty: the last one still holds."""
    tool: ToolProgress | None = None


# --- what happens to a user -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoticeContent:
    """The words of a notice. `source` is the id of its task or reminder, or empty."""

    kind: str
    text: str
    source: str
    at: float | None = None
    """Unix time in seconds at which it arose; None where the page does not need it."""


@dataclass(frozen=True, slots=True)
class NoticeChanged(PageEvent):
    """A notice waits, is being spoken, or has been delivered (`told` on the page)."""

    notice_id: str
    state: NoticeState
    content: NoticeContent | None = None
    """The turn machine knows ids only; the notification subscription adds the words."""


@dataclass(frozen=True, slots=True)
class ReminderChanged(PageEvent):
    """A reminder was set, canceled or delivered; `way` says how it was delivered (call, page, webhook)."""

    reminder_id: str
    event: str
    way: str = ""


@dataclass(frozen=True, slots=True)
class DecisionMade(PageEvent):
    """The coordinator decided something; the notice `decision-{id}` says it to the user."""

    id: str
    text: str
    tasks: tuple[str, ...]
    failure: str
    actions: tuple[str, ...]
    """The kinds of the actions taken."""
    input_ids: tuple[str, ...] = ()
    """The inputs it was made about."""
    task_summary: str = ""
    """The user's tasks when it was made, one a line."""


@dataclass(frozen=True, slots=True)
class TaskFindings:
    """The findings of a background task."""

    result: str
    source: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class TaskChanged(PageEvent):
    """A background task moved on: queued, running, progress, retrying, done, failed or canceled."""

    task_id: str
    event: str
    kind: str
    instruction: str
    detail: str = ""
    result: TaskFindings | None = None


@dataclass(frozen=True, slots=True)
class UserContextChanged(PageEvent):
    """The profile of the user has changed; `GET /api/me` returns the new one."""


@dataclass(frozen=True, slots=True)
class ConfirmationAsked(PageEvent):
    """A tool wants to do something the user must agree to first: this very call, with these arguments."""

    id: str
    conversation_id: str
    tool: str
    arguments: Mapping[str, object]
    expires_at: float
    """Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class ConfirmationAnswered(PageEvent):
    """The user has answered such a question, or said something else, which withdraws it."""

    id: str
    conversation_id: str
    agreed: bool


# --- a typed turn ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatTurnStarted(PageEvent):
    """A typed message is being answered in this conversation and mode."""

    conversation_id: str | None
    message_id: str
    mode: str


@dataclass(frozen=True, slots=True)
class ChatStateChanged(PageEvent):
    """The agent moved on; `state` is a value of `agent.events.State`."""

    state: str


@dataclass(frozen=True, slots=True)
class TokenGenerated(PageEvent):
    """The model produced more words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted(PageEvent):
    """The model called a tool; `arguments` is its JSON, unchecked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCallFinished(PageEvent):
    """A tool answered; `content` is JSON, cut to a length, and `error` names the kind of failure."""

    id: str
    name: str
    content: str
    error: str | None
    sample: bool
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class ChatTurnFinished(PageEvent):
    """The typed message is answered; `reply` is the body that a request without a stream gets."""

    reply: Mapping[str, object]
