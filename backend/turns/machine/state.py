"""The state of one conversation: the four machines, what stands beside them, and the smallest moves."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from backend.page_events import AnswerMeasured, FloorChanged, PageEvent, TurnMeasured
from backend.turns.commands import AddUserText, Clip, Command, Publish, Purpose
from backend.turns.limits import TurnLimits
from backend.turns.machine.barge_in.state import BargeIn, BargeInState
from backend.turns.machine.floor.state import Floor, FloorState, Playback
from backend.turns.machine.pending_turn.state import PendingState
from backend.turns.machine.reply.state import ReplyState
from backend.turns.machine.tool_calls import ToolCallLedger
from backend.turns.notices import Notices
from backend.turns.turn_clock import TurnClock

IDLE = "idle"
"""The one reason for a goodbye that the caller revokes by speaking."""


@dataclass(slots=True)
class SilenceState:
    """The length of the present silence, and the measures against it so far."""

    owed_since: float | None = None
    """The moment since which the caller waits for a sound of ours; None: the caller does not wait."""
    waits_said: int = 0
    """The number of times in a row that the caller was asked to wait a moment."""
    filled_at: float = 0.0
    """The moment at which the last filler was wanted."""
    idle_since: float | None = None
    nudged: bool = False


@dataclass(slots=True)
class ProviderConnection:
    """The connection to the provider, and what waits for the next one."""

    lost_at: float | None = None
    """The moment at which the connection was lost; None while it stands."""
    started: bool = False
    """A connection has stood in this call."""
    missed: bool = False
    """Words of the caller were lost with the connection."""
    notes: list[str] = field(default_factory=list)
    """Notes for the Responder once it is connected again."""
    typed: list[AddUserText] = field(default_factory=list)
    """Typed words for the Responder once it is connected again."""


@dataclass(slots=True)
class Farewell:
    """The end of the call, once there is a reason for it."""

    reason: str | None = None
    """The reason for saying goodbye."""
    last_word: Clip | None = None
    """The sentence to be played when the present reply has been heard."""
    by: float = 0.0
    """The moment at which the call ends even if the goodbye was not heard."""


@dataclass(slots=True)
class State:
    """The state of one conversation. Times are those of `now`, in seconds."""

    limits: TurnLimits
    commands: list[Command] = field(default_factory=list)
    """The commands collected while an event is handled, in order."""
    clock: TurnClock = field(default_factory=TurnClock)

    floor: FloorState = field(default_factory=FloorState)
    replies: ReplyState = field(default_factory=ReplyState)
    pending: PendingState = field(default_factory=PendingState)
    barge_in: BargeInState = field(default_factory=BargeInState)

    calls: ToolCallLedger = field(default_factory=ToolCallLedger)
    notices: Notices = field(default_factory=Notices)
    silence: SilenceState = field(default_factory=SilenceState)
    line: ProviderConnection = field(default_factory=ProviderConnection)
    farewell: Farewell = field(default_factory=Farewell)

    def __repr__(self) -> str:
        reply = self.replies.in_flight
        in_flight = f"{reply.purpose} {reply.phase}" if reply else "none"
        playing = ", playing" if self.floor.playing else ""
        wanted = [*self.replies.wanted]
        return f"turn {self.floor.turn}, floor {self.floor.holder}, reply {in_flight}{playing}, wanted {wanted}"

    # --- questions ------------------------------------------------------------------------------------

    @property
    def something_to_interrupt(self) -> bool:
        """True while a reply is spoken or on its way, or a Thinker works on its answer."""
        replies = self.replies
        in_flight = replies.in_flight is not None and replies.in_flight.wanted
        # A cough must not lose an answer on which a Thinker still works.
        return self.floor.playing or in_flight or bool(replies.wanted) or bool(self.calls.running(self.floor.turn))

    @property
    def at_rest(self) -> bool:
        """True between two turns, when a change of the connection would lose nothing."""
        # What is being said, heard, answered or worked on is known to the present connection only.
        floor, replies, pending, barge_in = self.floor, self.replies, self.pending, self.barge_in
        typed = self.line.typed or floor.typed_waiting
        said = floor.voice or pending.open or barge_in.candidate or pending.words or self.line.missed or typed
        speaking = replies.in_flight or floor.playing or barge_in.suspended
        saying = speaking or self.notices.reply or self.farewell.reason
        owed = replies.wanted or self.calls.asked_for or self.silence.owed_since is not None or self.calls.running()
        return floor.holder is Floor.LISTENING and self.line.lost_at is None and not (said or saying or owed)

    @property
    def may_interrupt(self) -> bool:
        """True while the caller's voice may interrupt a reply."""
        return self.limits.interruptible and self.floor.playback is not Playback.READING_OUT

    @property
    def may_duck(self) -> bool:
        """True while a voice turns playback down; otherwise it holds playback back."""
        return self.floor.playing and self.silence.owed_since is None

    # --- small actions --------------------------------------------------------------------------------

    def publish(self, event: PageEvent) -> None:
        """Report `event` to the page and to the observers of the call."""
        self.commands.append(Publish(event))

    def report(self, measured: AnswerMeasured | TurnMeasured | None) -> None:
        """Report a measured time; None is ignored."""
        if measured is not None:
            self.publish(measured)

    def pass_floor(self, floor: Floor) -> None:
        """Pass the floor, and report it. After HELD, no playback stays turned down or held."""
        before = self.floor.holder
        if floor is before:
            return
        if before is Floor.HELD:
            self.barge_in.phase = BargeIn.NONE
        self.floor.holder = floor
        self.publish(FloorChanged(floor.value))

    def note_caller(self, now: float) -> None:
        """Count idling from now on, and revoke a goodbye for idling."""
        self.silence.idle_since = now
        self.silence.nudged = False
        if self.farewell.reason == IDLE:
            self.farewell.reason = None
            self.replies.wanted.pop(Purpose.GOODBYE, None)


Act = Callable[[State, float], None]
"""A step that is due at a moment; the step removes its own deadline."""
Deadline = tuple[float, Act]
Deadlines = Iterable[Deadline]
