"""The state of the turn machine, with the utterance under way and the ledger of tool calls, and its smallest moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from backend.conversation.commands import Command, Publish, Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.notices import Notices
from backend.conversation.page_events import FloorChanged, PageEvent
from backend.conversation.spoken import SpokenItems
from backend.conversation.turn_clock import TurnClock

IDLE = "idle"
"""The one reason for leaving that the caller can still talk us out of."""


class Floor(StrEnum):
    """The holder of the floor."""

    LISTENING = "listening"
    USER = "user"
    ASSISTANT = "assistant"
    HELD = "held"
    CLOSED = "closed"


class Phase(StrEnum):
    """The progress of the reply in flight; without one, `State.reply` is None."""

    REQUESTED = "requested"
    STREAMING = "streaming"
    CANCELLING = "cancelling"


@dataclass(slots=True)
class Reply:
    """The one reply in flight."""

    request: str
    purpose: Purpose
    attempt: int
    since: float
    phase: Phase = Phase.REQUESTED
    id: str | None = None
    sounded: bool = False
    called: bool = False

    @property
    def wanted(self) -> bool:
        """False once it has been cancelled."""
        return self.phase is not Phase.CANCELLING


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of the caller's speech; only voiced time counts, and a pause within the hangover does not end it."""

    running_since: float | None
    """The moment the voice last began; None while it is paused."""
    voiced_ms: int = 0
    """The speech before that."""

    def reaches(self, needed_ms: int) -> float | None:
        """Return when it will have lasted `needed_ms` if it keeps on; None while it is paused."""
        if self.running_since is None:
            return None
        return self.running_since + max(0, needed_ms - self.voiced_ms) / 1000


class ToolCallState(StrEnum):
    """The life of a tool call."""

    RUNNING = "running"
    ANSWERED = "answered"
    """Submitted and fresh, waiting for its reply."""
    STALE = "stale"
    """Submitted too late to be spoken; the caller may still ask for it."""
    SETTLED = "settled"
    """Spoken, or cancelled."""


@dataclass(slots=True)
class ToolCallEntry:
    """One tool call of the Responder's."""

    call: str
    group: str
    """The reply that asked: calls of one reply are spoken as one answer."""
    turn: int
    """The user's turn it serves."""
    since: float
    state: ToolCallState = ToolCallState.RUNNING
    orphaned: bool = False
    """Its connection is lost: the provider no longer knows the call."""


OVER_KEPT = 64
"""Calls remembered that are over: a repeated id is still recognised, and a stale answer can be asked for."""


class ToolCallLedger:
    """The tool calls of one conversation: each is answered exactly once, and spoken only while it is still wanted."""

    def __init__(self) -> None:
        self.entries: dict[str, ToolCallEntry] = {}

    def __repr__(self) -> str:
        return f"ToolCallLedger({', '.join(f'{c.call}:{c.state}' for c in self.entries.values())})"

    def open(self, call: str, group: str, turn: int, now: float) -> ToolCallEntry | None:
        """Enter a new call and return it; None when this id was seen before."""
        if call in self.entries:
            return None
        self._prune()
        self.entries[call] = ToolCallEntry(call, group, turn, now)
        return self.entries[call]

    def answer(self, call: str) -> ToolCallEntry | None:
        """Mark it answered and return it; None when it is unknown or was answered before."""
        entry = self.entries.get(call)
        if entry is None or entry.state is not ToolCallState.RUNNING:
            return None
        entry.state = ToolCallState.ANSWERED
        return entry

    def running(self, turn: int | None = None) -> list[ToolCallEntry]:
        """Return the calls still worked on, of one turn or of all."""
        return [c for c in self.entries.values() if c.state is ToolCallState.RUNNING and turn in (None, c.turn)]

    def states_of(self, group: str) -> set[ToolCallState]:
        """Return the states of all calls of that reply."""
        return {entry.state for entry in self.entries.values() if entry.group == group}

    def move_answered(self, state: ToolCallState) -> list[str]:
        """Move the answered calls on: they are being spoken now (SETTLED), or nobody has heard them (STALE)."""
        moved = [c for c in self.entries.values() if c.state is ToolCallState.ANSWERED]
        for entry in moved:
            entry.state = state
        return [entry.call for entry in moved]

    def _prune(self) -> None:
        over = [c.call for c in self.entries.values() if c.state in (ToolCallState.STALE, ToolCallState.SETTLED)]
        for call in over[: max(0, len(over) - OVER_KEPT)]:
            del self.entries[call]


@dataclass(slots=True)
class State:
    """One conversation. Times are those of `now`, in seconds."""

    limits: TurnLimits
    floor: Floor = Floor.LISTENING
    turn: int = 0
    """The number of the caller's latest turn."""
    commands: list[Command] = field(default_factory=list)
    """Collected while an event is handled, in order."""
    clock: TurnClock = field(default_factory=TurnClock)

    # what the caller says
    utterance: Utterance | None = None
    last_voice_at: float = 0.0
    untranscribed: bool = False
    """A spoken turn is committed, and its words are not known yet."""
    discard_commit: bool = False
    """The provider will commit what was no turn."""
    discarded: str | None = None
    """The item that came of it."""

    # what we say
    reply: Reply | None = None
    requests: int = 0
    """Replies asked for so far."""
    wanted: dict[Purpose, int] = field(default_factory=dict)
    """The purposes to ask for when the floor is free, each with the number of its attempt."""
    not_before: float = 0.0
    """No reply is asked for earlier."""
    refusals: int = 0
    """Refusals of the provider in a row."""
    items: SpokenItems = field(default_factory=SpokenItems)
    playing: bool = False
    last_sound_at: float = 0.0

    # what is done for the caller
    calls: ToolCallLedger = field(default_factory=ToolCallLedger)
    asked_for: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Late answers the caller asked for: call → its output, and the last turn in which it is wanted."""
    notices: Notices = field(default_factory=Notices)
    notices_not_before: float = 0.0
    opened: bool = False
    """The caller was greeted, or has said something."""

    # silence
    owed_since: float | None = None
    """The moment from which the caller waits for a sound of ours."""
    fillers: int = 0
    """Fillers spoken in this turn."""
    idle_since: float | None = None
    nudged: bool = False

    # the connection to the provider
    lost_at: float | None = None
    """The moment the connection was lost; None while it stands."""
    moment_said: bool = False
    missed: bool = False
    """Words of the caller's were lost with it."""
    notes: list[str] = field(default_factory=list)
    """Notes for the Responder once it is connected again."""
    typed_meanwhile: list[str] = field(default_factory=list)

    # the end
    leaving: str | None = None
    """The reason for saying goodbye."""
    leave_by: float = 0.0

    def __repr__(self) -> str:
        reply = f"{self.reply.purpose} {self.reply.phase}" if self.reply else "none"
        playing = ", playing" if self.playing else ""
        return f"turn {self.turn}, floor {self.floor}, reply {reply}{playing}, wanted {[*self.wanted]}"

    # --- questions ------------------------------------------------------------------------------------

    def streaming(self, reply_id: str) -> Reply | None:
        """Return the reply in flight, if it is this one and still wanted."""
        reply = self.reply
        if reply and reply.phase is Phase.STREAMING and reply.id == reply_id:
            return reply
        return None

    @property
    def something_to_interrupt(self) -> bool:
        """True while a reply is spoken or on its way: a cough must not lose an answer a Thinker still works on."""
        in_flight = self.reply is not None and self.reply.wanted
        return self.playing or in_flight or bool(self.wanted) or bool(self.calls.running(self.turn))

    # --- small moves ----------------------------------------------------------------------------------

    def publish(self, event: PageEvent) -> None:
        """Report `event` to the page and to whoever else follows the call."""
        self.commands.append(Publish(event))

    def pass_floor(self, floor: Floor) -> None:
        """Pass the floor, and report it."""
        if floor is not self.floor:
            self.floor = floor
            self.publish(FloorChanged(floor.value))

    def want(self, purpose: Purpose, attempt: int = 1) -> None:
        """Want a reply of that purpose as soon as the floor allows it."""
        self.wanted[purpose] = attempt

    def note_caller(self, now: float) -> None:
        """Count idling anew, and call off a goodbye for idling."""
        self.idle_since = now
        self.nudged = False
        if self.leaving == IDLE:
            self.leaving = None
            self.wanted.pop(Purpose.GOODBYE, None)

    def take_commands(self) -> list[Command]:
        """Return the commands collected so far, once."""
        commands, self.commands = self.commands, []
        return commands


Act = Callable[[State, float], None]
"""A step that is due at a moment; taking it removes its deadline."""
Deadlines = Iterator[tuple[float, Act]]
