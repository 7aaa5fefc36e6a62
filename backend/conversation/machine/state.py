"""All the turn machine knows at one moment, and the small moves every part of it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from backend.conversation.calls import CallLedger
from backend.conversation.commands import Command, Publish, Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.notices import Notices
from backend.conversation.page_events import FloorChanged, PageEvent
from backend.conversation.spoken import SpokenItems
from backend.conversation.turn_clock import TurnClock
from backend.conversation.utterance import Utterance

IDLE = "idle"
"""The one reason for leaving that the caller can still talk us out of."""


class Floor(StrEnum):
    """Who has the word."""

    LISTENING = "listening"
    USER = "user"
    ASSISTANT = "assistant"
    HELD = "held"
    CLOSED = "closed"


class Phase(StrEnum):
    """What the provider is doing for us; no reply at all is `None` in its place."""

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
        """Whether it has not been cancelled."""
        return self.phase is not Phase.CANCELLING


@dataclass(slots=True)
class State:
    """One conversation. Times are those of `now`, in seconds."""

    limits: TurnLimits
    floor: Floor = Floor.LISTENING
    turn: int = 0
    """The number of the caller's latest turn."""
    out: list[Command] = field(default_factory=list)
    """What is to be done, in order."""
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
    """What is to be asked for when the floor is free, and the how many-th attempt it will be."""
    not_before: float = 0.0
    """No reply is asked for earlier."""
    refusals: int = 0
    """In a row."""
    items: SpokenItems = field(default_factory=SpokenItems)
    playing: bool = False
    last_sound_at: float = 0.0

    # what is done for the caller
    calls: CallLedger = field(default_factory=CallLedger)
    asked_for: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Late answers the caller asked for: call → its output, and the last turn in which it is wanted."""
    notices: Notices = field(default_factory=Notices)
    notices_not_before: float = 0.0
    opened: bool = False
    """The caller was greeted, or has said something."""

    # silence
    owed_since: float | None = None
    """Since when the caller waits for a sound of ours."""
    fillers: int = 0
    """In this turn."""
    idle_since: float | None = None
    nudged: bool = False

    # the line to the provider
    lost_at: float | None = None
    """None: it stands."""
    moment_said: bool = False
    missed: bool = False
    """Words of the caller's were lost with it."""
    notes: list[str] = field(default_factory=list)
    """What the Responder is told when it is back."""
    typed_meanwhile: list[str] = field(default_factory=list)

    # the end
    leaving: str | None = None
    """Why we say goodbye."""
    leave_by: float = 0.0

    def __repr__(self) -> str:
        reply = f"{self.reply.purpose} {self.reply.phase}" if self.reply else "none"
        playing = ", playing" if self.playing else ""
        return f"turn {self.turn}, floor {self.floor}, reply {reply}{playing}, wanted {[*self.wanted]}"

    # --- questions ------------------------------------------------------------------------------------

    def streaming(self, reply_id: str) -> Reply | None:
        """The reply in flight, if it is this one and still wanted."""
        reply = self.reply
        if reply and reply.phase is Phase.STREAMING and reply.id == reply_id:
            return reply
        return None

    @property
    def something_to_interrupt(self) -> bool:
        """A reply, or one that is on its way: a cough must not lose the answer a Thinker is still working on."""
        in_flight = self.reply is not None and self.reply.wanted
        return self.playing or in_flight or bool(self.wanted) or bool(self.calls.running(self.turn))

    # --- small moves ----------------------------------------------------------------------------------

    def publish(self, event: PageEvent) -> None:
        """Report `event` to the page and to whoever else follows the call."""
        self.out.append(Publish(event))

    def give_floor(self, floor: Floor) -> None:
        """The word is that one's."""
        if floor is not self.floor:
            self.floor = floor
            self.publish(FloorChanged(floor.value))

    def want(self, purpose: Purpose, attempt: int = 1) -> None:
        """Ask for such a reply as soon as it may be."""
        self.wanted[purpose] = attempt

    def caller_is_here(self, now: float) -> None:
        """A sign of life: idling counts anew, and a goodbye for idling is off."""
        self.idle_since = now
        self.nudged = False
        if self.leaving == IDLE:
            self.leaving = None
            self.wanted.pop(Purpose.GOODBYE, None)

    def taken(self) -> list[Command]:
        """What is to be done, once."""
        taken, self.out = self.out, []
        return taken


Act = Callable[[State, float], None]
"""What is done at a moment; doing it takes its deadline away."""
Deadlines = Iterator[tuple[float, Act]]
