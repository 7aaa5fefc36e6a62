"""One session in its own process: its owner, events, transcript, and the live call while there is one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NotRequired, Protocol, TypedDict

from msgspec import Struct, structs

from backend.access.principal import PUBLIC, CallerScope
from backend.errors import BadRequest
from backend.media.endpointing import Levels
from backend.page_events import (
    ErrorShown,
    PageEvent,
    ReplyWorded,
    TranscriptCompleted,
    TranscriptDelta,
    TranscriptInterrupted,
    UserItemAdded,
)
from backend.sessions.event_log import EventLog
from backend.turns.call_options import CallOptions
from backend.turns.commands import CancelReply, Command, DeleteItem, TruncateItem
from backend.turns.events import Event

TRANSCRIPT_LIMIT = 1_000
"""The number of entries kept of one session."""


class SessionState(StrEnum):
    """A session's life, in order."""

    RESERVED = "reserved"
    LIVE = "live"
    ENDED = "ended"


class SessionDescription(TypedDict):
    """A session as `GET /api/sessions/{id}` shows it; times are Unix times in seconds."""

    session_id: str
    conversation_id: str
    state: str
    since: float
    ended_at: float | None
    ended_reason: str | None
    responder: str
    transport: str | None
    counts: dict[str, int]
    owner: NotRequired[str]
    """The owner, shown to operators only."""


class TranscriptEntry(TypedDict):
    """One item of a transcript, as `GET /api/sessions/{id}/transcript` shows it."""

    role: str
    content: str
    item_id: str
    at: float
    """The Unix time, in seconds, at which the item began."""
    interrupted: NotRequired[bool]


class SessionRequest(Struct, frozen=True):
    """The request for a session; it may travel to another process, before the session or with it."""

    owner: str
    conversation_id: str | None = None
    """The conversation to continue; None: a new one."""
    interruptions: bool | None = None
    """True if the caller's voice may interrupt replies; None: the default of the process."""
    record: bool = False
    """True if the caller agrees to be recorded from the beginning."""
    caller_scope: CallerScope = PUBLIC
    session_id: str | None = None
    """The id of the session; None: a random one."""


class LiveCall(Protocol):
    """A running call, as the rest of the server uses it."""

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        """Put typed words and pictures into the conversation."""

    def cancel_thinker(self, call: str) -> None:
        """Stop the work on a tool call."""

    def say_answer(self, call: str) -> None:
        """Speak a late answer as soon as the floor is free."""

    def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice may interrupt replies."""

    def record(self, on: bool) -> str:
        """Begin or stop recording the call; return the recording's id."""

    def choose(self, options: CallOptions) -> None:
        """Take new options of the caller's program."""

    def submit(self, event: Event) -> None:
        """Take an event of the caller's program; it is kept until the Responder is connected."""

    def correct(self, command: TruncateItem | DeleteItem | CancelReply) -> None:
        """Send the Responder a correction by the caller's program. Raises `BadRequest` if that is impossible."""

    def hang_up(self, reason: str) -> None:
        """End the call soon."""


class CallFollower(Protocol):
    """A protocol of another kind than our page's: it acts on a call, and follows each of the call's steps."""

    def attach(self, control: LiveCall) -> None:
        """Begin to act on a call, which runs from now on."""

    def follow(self, event: Event | None, commands: Sequence[Command]) -> None:
        """Take an event (None: a deadline) and its commands, before these are carried out."""


class Transcript:
    """One session's transcript in the order in which things were said, bounded; iterating yields entries with words.

    An item takes its place when it first appears (a committed utterance, a reply's first word); its words are filled
    in when they are final, and the caller's are often known last.
    """

    def __init__(self, limit: int = TRANSCRIPT_LIMIT) -> None:
        self._entries: dict[str, TranscriptEntry] = {}
        self._limit = limit

    def __iter__(self) -> Iterator[TranscriptEntry]:
        return (entry for entry in self._entries.values() if entry["content"])

    def is_settled(self, item_id: str) -> bool:
        """Return whether the item has its words; a caller's turn that goes on may get more words later."""
        return item_id in self._entries and bool(self._entries[item_id]["content"])

    def add(self, event: PageEvent) -> None:
        """Enter the information of `event` about an item; most events have none."""
        match event:
            case UserItemAdded(item_id):
                self._entry("user", item_id)
            case TranscriptDelta(role, item_id):
                self._entry(role, item_id)
            case TranscriptCompleted(role, item_id, content):
                entry = self._entry(role, item_id)
                entry["content"] = _heard_before(entry, content)
                entry.pop("interrupted", None)
            case TranscriptInterrupted(item_id, heard):
                entry = self._entry("assistant", item_id)
                entry.update({"content": _heard_before(entry, heard), "interrupted": True})

    def _entry(self, role: str, item_id: str) -> TranscriptEntry:
        if item_id not in self._entries:
            while len(self._entries) >= self._limit:
                del self._entries[next(iter(self._entries))]
            self._entries[item_id] = {"role": role, "content": "", "item_id": item_id, "at": time.time()}
        return self._entries[item_id]


class Session:
    """One session: its owner, its event log, its transcript, and the live call while there is one."""

    def __init__(self, asked: SessionRequest, responder: str) -> None:
        self.id = asked.session_id or secrets.token_urlsafe(16)
        self.owner = asked.owner
        self.continues = asked.conversation_id is not None
        self.conversation_id = asked.conversation_id or secrets.token_urlsafe(16)
        self.asked = structs.replace(asked, session_id=self.id, conversation_id=self.conversation_id)
        """The request for the session, with its ids."""
        self.responder = responder
        self.interruptions = asked.interruptions is not False
        """True if the caller's voice may interrupt replies."""
        self.record = asked.record
        """True if the caller has agreed that the call is recorded from its beginning."""
        self.shared = False
        """True if a participant has only the session's token: then no data of the owner is used."""
        self.caller_scope = asked.caller_scope
        """The tools within the caller's scope; only public ones once a participant has just a token."""
        self.opened_at = time.time()
        self.ended_at: float | None = None
        self.ended_reason: str | None = None
        self.state = SessionState.RESERVED
        self.transport: str | None = None
        self.event_log = EventLog()
        self.transcript = Transcript()
        self.counts = {"turns": 0, "replies": 0, "interruptions": 0, "thinkers": 0, "errors": 0}
        self.call: LiveCall | None = None
        self.options: CallOptions | None = None
        """The options of the caller's program; None where a program cannot choose."""
        self.follower: CallFollower | None = None
        """Gets each step of the call, for a program with another protocol than our page's."""
        self.levels: Levels | None = None
        """The detector's scores, for watchers; None without local endpointing, and before the call."""

    def live_call(self) -> LiveCall:
        """Return the live call. Raises `BadRequest` if there is none."""
        if self.call is None:
            raise BadRequest("This session has no live call.", hint="Connect first, then type.")
        return self.call

    def share(self) -> None:
        """Note that a participant has only the session's token, which opens this call and nothing else."""
        self.shared, self.caller_scope = True, PUBLIC

    def note(self, event: PageEvent) -> None:
        """Enter `event` into the transcript and the counts."""
        match event:
            case UserItemAdded() | TranscriptDelta():
                self.transcript.add(event)
            case TranscriptCompleted(role, item_id):
                self.counts["turns"] += role == "user" and not self.transcript.is_settled(item_id)
                self.transcript.add(event)
            case TranscriptInterrupted():
                self.counts["interruptions"] += 1
                self.transcript.add(event)
            case ReplyWorded():
                self.counts["replies"] += 1
            case ErrorShown():
                self.counts["errors"] += 1

    def describe(self) -> SessionDescription:
        """Return what `GET /api/sessions/{id}` shows."""
        return {
            "session_id": self.id,
            "conversation_id": self.conversation_id,
            "state": self.state,
            "since": self.opened_at,
            "ended_at": self.ended_at,
            "ended_reason": self.ended_reason,
            "responder": self.responder,
            "transport": self.transport,
            "counts": dict(self.counts),
        }


def _heard_before(entry: TranscriptEntry, words: str) -> str:
    """Return the words of a reply; if it was cut and has gone on, with the part that was heard before."""
    return f"{entry['content']} {words}".strip() if "interrupted" in entry else words
