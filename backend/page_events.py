"""Everything the server reports while a call, a typed turn or a user's work goes on, as frozen types.

The turn machine, Thinkers, tasks, notifications and typed turns publish these events. Metrics, traces, transcripts and
hooks match on the types. The tag of a type is the name under which the page receives it, and its fields are the data
(`docs/api.md`); `sessions/event_log.py` makes JSON of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from backend.citations import Citation

Role = Literal["user", "assistant"]
ThinkerStage = Literal["routed", "working", "complete", "failed", "stale", "cancelled"]
"""`stale`: a late answer, or one that the caller had not heard by the beginning of a new turn."""
NoticeState = Literal["waiting", "speaking", "told"]
ToolStage = Literal["started", "finished", "failed"]
Problem = Literal[
    "call_failed", "no_reply", "reply_too_long", "responder_complained", "responder_lost", "responder_gone"
]
"""The kinds of trouble in a call, for a page that words them in the reader's language."""


class PageEvent(Struct, frozen=True, tag_field="type"):
    """The base of all events; records that only stand inside an event have another."""


# --- a call -------------------------------------------------------------------------------------------


class SessionStarted(PageEvent, frozen=True, tag="session_started"):
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


class ResponderChanged(PageEvent, frozen=True, tag="responder_changed"):
    """The connection to the Responder was lost, or stands again, perhaps with another one; lost, it names none."""

    state: Literal["lost", "connected"]
    responder: str = ""
    model: str = ""
    pictures: bool = False
    """The model sees pictures."""


class SessionEnded(PageEvent, frozen=True, tag="session_ended"):
    """The session is over; nothing follows. `docs/api.md` lists the reasons."""

    reason: str


class FloorChanged(PageEvent, frozen=True, tag="floor"):
    """Another party has the floor; `floor` is a value of `Floor`."""

    floor: str


class KeysPressed(PageEvent, frozen=True, tag="keys_pressed"):
    """The caller pressed keys of the telephone (DTMF), one after the other."""

    keys: str


class UserItemAdded(PageEvent, frozen=True, tag="transcript_delta"):
    """The provider made an item of the caller's audio: its words follow, perhaps after the reply has begun."""

    item_id: str
    previous_item_id: str | None = None


class TranscriptDelta(PageEvent, frozen=True, tag="transcript_delta"):
    """More words of an item were transcribed or generated."""

    role: Role
    item_id: str
    delta: str


class ReplyWorded(PageEvent, frozen=True, tag="transcript_done"):
    """All words of an assistant item are generated; the caller has not necessarily heard them."""

    item_id: str
    content: str


class TranscriptCompleted(PageEvent, frozen=True, tag="transcript"):
    """An item is final: what the caller said, or what the caller heard to its end."""

    role: Role
    item_id: str
    content: str


class TranscriptInterrupted(PageEvent, frozen=True, tag="transcript_interrupted"):
    """The caller heard only `heard` of the `content` that was generated for an assistant item."""

    item_id: str
    heard: str
    content: str


class PlaybackFinished(PageEvent, frozen=True, tag="audio_playback_finished"):
    """Nothing is left to play after `played_ms` of assistant item `item_id`."""

    item_id: str
    played_ms: int


class TurnMeasured(PageEvent, frozen=True, tag="turn_metrics"):
    """The legs of one turn in milliseconds, from the caller's last sound to the first sound of whatever is replied.

    The first six add up to `first_sound_ms`; `first_token_ms` is the part of `first_audio_ms` before the first word.
    """

    turn: int
    hangover_ms: int
    commit_ms: int
    reply_started_ms: int
    first_audio_ms: int
    end_of_turn_ms: int
    """How long the reply was kept back until the turn was believed over."""
    played_ms: int
    first_sound_ms: int
    """The time to first sound, be it of the answer, of a preamble or of a filler."""
    first_token_ms: int
    wait_ms: int = 0
    """The silence after which this turn was believed over."""
    reason: str = ""
    """Why that long: a reason of `turns.end_of_turn`, empty for a typed turn."""
    segments: int = 1
    """The segments of this turn, between which the caller paused."""
    discarded: int = 0
    """Replies prepared in those pauses and thrown away."""


class AnswerMeasured(PageEvent, frozen=True, tag="answer_metrics"):
    """The time to the answer of one turn, from the caller's last sound to the answer's first.

    What is said before the answer is not the answer: preambles, fillers, and a promise that is followed up.
    """

    turn: int
    answer_ms: int


class MurmurHeard(PageEvent, frozen=True, tag="murmur"):
    """The caller said something that takes no turn, while a reply was spoken: it went on.

    `kind`: 'agreement', 'hesitation' or 'noise' as in `UtteranceKind`, or 'aside'; `words` may be empty.
    """

    kind: str
    words: str


class ReplyDiscarded(PageEvent, frozen=True, tag="reply_discarded"):
    """A reply prepared in a pause of the caller's was thrown away, because the caller went on.

    The tokens are those the provider counted for it; 0 where it did not say.
    """

    turn: int
    input_tokens: int
    output_tokens: int


ReplyRemedy = Literal["none", "asked_again", "continued", "apologised"]
"""The remedy for a reply that failed; `none` where no caller waits for more, or its tool calls bring an answer."""


class ReplyFailed(PageEvent, frozen=True, tag="reply_failed"):
    """A reply did not come whole: `status` and `reason` are the provider's, `overdue` and `promise` ours.

    `sounded`: the caller has heard some of it.
    """

    turn: int
    purpose: str
    status: str
    reason: str
    sounded: bool
    remedy: ReplyRemedy


class UsageCounted(PageEvent, frozen=True, tag="usage"):
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


class InterruptionsChanged(PageEvent, frozen=True, tag="interruptions"):
    """This call now allows, or no longer allows, the caller's voice to interrupt what is spoken."""

    allowed: bool


class RecordingChanged(PageEvent, frozen=True, tag="recording"):
    """The call is being recorded from now on, or no more; `reason` says why not: `docs/api.md` lists the reasons."""

    recording_id: str
    on: bool
    reason: str = ""


class IdleNudged(PageEvent, frozen=True, tag="session_idle_nudge"):
    """The caller was silent for `idle_s` seconds and is asked whether they are still there."""

    idle_s: int


class IdleDisconnected(PageEvent, frozen=True, tag="session_idle_disconnect"):
    """The caller was silent for `idle_s` seconds and the call ends with a goodbye."""

    idle_s: int


class ErrorShown(PageEvent, frozen=True, omit_defaults=True, tag="error"):
    """Something failed, with what the user can do about it."""

    message: str
    hint: str
    problem: Problem | Literal[""] = ""
    """Empty where only the words tell."""


class EventsMissed(PageEvent, frozen=True, tag="gap"):
    """The reader came too late for `missed` events, which are no longer kept."""

    missed: int


# --- a Thinker's work -----------------------------------------------------------------------------------


class ThinkerWork(Struct, frozen=True, omit_defaults=True):
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


class ToolProgress(Struct, frozen=True):
    """A tool call of a Thinker began or ended; `id` joins the two."""

    id: str
    name: str
    event: ToolStage


class ThinkerChanged(PageEvent, frozen=True, omit_defaults=True, rename={"stage": "event"}, tag="thinker"):
    """The work on one tool call reached another stage.

    The turn machine knows the call's id only; who runs the Thinkers adds `work`, None for a call that was forgotten.
    """

    call_id: str
    stage: ThinkerStage
    work: ThinkerWork | None = None
    detail: str = ""
    """A step worth showing; empty: the last one still holds."""
    tool: ToolProgress | None = None


# --- a user's data and tasks -----------------------------------------------------------------------------


class NoticeContent(Struct, frozen=True, omit_defaults=True):
    """The words of a notice. `source` is the id of its task or reminder, or empty."""

    kind: str
    text: str
    source: str
    at: float | None = None
    """Unix time in seconds at which it arose; None where the page does not need it."""


class NoticeChanged(PageEvent, frozen=True, omit_defaults=True, rename={"notice_id": "id"}, tag="notice"):
    """A notice waits, is being spoken, or has been delivered (`told` on the page)."""

    notice_id: str
    state: NoticeState
    content: NoticeContent | None = None
    """The turn machine knows ids only; the notification subscription adds the words."""


class ReminderChanged(PageEvent, frozen=True, omit_defaults=True, rename={"reminder_id": "id"}, tag="reminder"):
    """A reminder was set, canceled or delivered; `way` says how it was delivered (call, page, webhook)."""

    reminder_id: str
    event: str
    way: str = ""


class DecisionMade(
    PageEvent, frozen=True, rename={"input_ids": "inputIds", "task_summary": "taskSummary"}, tag="decision"
):
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


class TaskFindings(Struct, frozen=True):
    """The findings of a background task."""

    result: str
    source: str
    citations: tuple[Citation, ...]


class TaskChanged(PageEvent, frozen=True, omit_defaults=True, tag="task"):
    """A background task moved on: queued, running, progress, retrying, done, failed or canceled."""

    task_id: str
    event: str
    kind: str
    instruction: str
    detail: str = ""
    result: TaskFindings | None = None


class UserContextChanged(PageEvent, frozen=True, tag="user_context"):
    """The profile of the user has changed; `GET /api/me` returns the new one."""


class ConfirmationAsked(PageEvent, frozen=True, tag="confirmation.asked"):
    """A tool wants to do something the user must agree to first: this very call, with these arguments."""

    id: str
    conversation_id: str
    tool: str
    arguments: Mapping[str, object]
    expires_at: float
    """Unix time in seconds."""


class ConfirmationAnswered(PageEvent, frozen=True, tag="confirmation.answered"):
    """The user has answered such a question, or said something else, which withdraws it."""

    id: str
    conversation_id: str
    agreed: bool


# --- a typed turn ---------------------------------------------------------------------------------------


class ChatTurnStarted(PageEvent, frozen=True, tag="turn"):
    """A typed message is being answered in this conversation and mode."""

    conversation_id: str | None
    message_id: str
    mode: str


class ChatStateChanged(PageEvent, frozen=True, tag="state"):
    """The agent moved on; `state` is a value of `agent.events.State`."""

    state: str


class TokenGenerated(PageEvent, frozen=True, tag="token"):
    """The model produced more words of the answer."""

    text: str


class ToolCallEvent(PageEvent, frozen=True, tag="tool_call"):
    """The model called a tool; `arguments` are unchecked, and empty where the model wrote no JSON object."""

    id: str
    tool_name: str
    arguments: Mapping[str, object]


class ToolResultEvent(PageEvent, frozen=True, tag="tool_result"):
    """A tool answered; `result` is what the model reads, and `error` names the kind of failure."""

    id: str
    tool_name: str
    result: Mapping[str, object]
    error: str | None
    sample: bool
    elapsed_ms: int


class ChatTurnFinished(PageEvent, frozen=True, tag="final"):
    """The typed message is answered; `reply` is the body that a request without a stream gets."""

    reply: Mapping[str, object]
