"""The state of the turn machine, with the utterance under way and the ledger of tool calls, and its smallest moves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from backend.turns.commands import AddUserText, Clip, Command, Publish, Purpose
from backend.turns.events import Event, UtteranceRead
from backend.turns.limits import TurnLimits
from backend.turns.notices import Notices
from backend.turns.page_events import AnswerMeasured, FloorChanged, PageEvent
from backend.turns.patience import Expected, SpeechEnding, expected_answer
from backend.turns.spoken import SpokenItem, SpokenItems
from backend.turns.turn_clock import TurnClock

IDLE = "idle"
"""The one reason for leaving that the caller can still talk us out of."""


class Floor(StrEnum):
    """The holder of the floor."""

    LISTENING = "listening"
    USER = "user"
    PAUSING = "pausing"
    """The caller has paused, and the turn may be over: a reply is prepared, and nothing sounds."""
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
    interruptible: bool = True
    messages: dict[str, str] = field(default_factory=dict)
    """Its words so far, by message."""
    discarded: bool = False
    """Prepared in a pause, and thrown away because the caller went on."""
    first_item: str = ""
    """The item it began to sound with."""

    @property
    def wanted(self) -> bool:
        """False once it has been cancelled."""
        return self.phase is not Phase.CANCELLING


@dataclass(slots=True)
class Utterance:
    """One stretch of the caller's speech; only voiced time counts, and a pause within the hangover does not end it."""

    began: float
    """The moment of its onset."""
    running_since: float | None
    """The moment the voice last began; None while it is paused."""
    voiced_ms: int = 0
    """The speech before that."""
    paused_at: float | None = None
    """The moment the voice fell silent; None while it sounds."""
    asked_to_read: bool = False
    """The reader was asked what was said before this pause."""
    reading: UtteranceRead | None = None
    """Its answer."""
    murmured_ms: int = 0
    """The speech that was read as a murmur: it does not count towards an interruption."""
    muffled: bool = False
    """Its voice sounds like somebody else's."""
    committed: bool = False
    """All of it, said over a reply, was committed."""
    partial_readings: int = 0
    """Times the reader was asked what has been said so far, while the voice sounds."""
    sounded_like: UtteranceRead | None = None
    """The latest of their answers."""
    may_last_ms: int = 0
    """It said a murmur: the speech after which it takes the floor nevertheless."""
    committed_ms: int | None = None
    """So much of it was committed while it sounded."""

    def sounded_ms(self, now: float) -> int:
        """Return how long it has lasted so far."""
        return self.voiced_ms + (0 if self.running_since is None else round((now - self.running_since) * 1000))

    def reaches(self, needed_ms: int) -> float | None:
        """Return when it will have lasted `needed_ms`, murmurs aside, if it keeps on; None while it is paused."""
        if self.running_since is None:
            return None
        return self.running_since + max(0, needed_ms + self.murmured_ms - self.voiced_ms) / 1000


@dataclass(slots=True, eq=False)
class TurnWords:
    """The words of one spoken turn, of which the provider makes an item for each piece."""

    pieces: int = 0
    """The pieces committed."""
    items: dict[str, str | None] = field(default_factory=dict)
    """Each item's transcript, in order; None until it is there."""
    shown: set[str] = field(default_factory=set)
    """Items of which words were shown as they came."""
    over: bool = False
    """The turn is believed over: no piece will follow."""
    overlap: bool = False
    """They were said over a reply, and are perhaps no turn."""
    failed: bool = False
    """A piece could not be transcribed."""
    unsure: bool = False
    """The transcript of a piece is doubtful."""
    remembered: int = 0
    """The items whose words were shown and remembered."""

    @property
    def id(self) -> str:
        """The item under which the turn is shown: its first."""
        return next(iter(self.items))

    @property
    def text(self) -> str:
        """The words known so far."""
        return " ".join(text for text in self.items.values() if text)

    def since(self, piece: int) -> dict[str, str | None]:
        """Return the items from that piece on, with their transcripts."""
        return dict(list(self.items.items())[piece:])

    def leave_out(self, items: Iterable[str]) -> None:
        """Drop these items."""
        for item in items:
            del self.items[item]
        self.pieces = len(self.items)

    def take_in(self, later: TurnWords) -> None:
        """Add what was said later: it belongs to the same turn."""
        self.pieces += later.pieces
        self.items |= later.items
        self.shown |= later.shown
        self.failed |= later.failed
        self.unsure |= later.unsure

    @property
    def complete(self) -> bool:
        """True once every piece is transcribed."""
        return len(self.items) >= self.pieces and None not in self.items.values()


@dataclass(slots=True)
class EarlyWords:
    """The words of what is being said, as far as they are known before it is committed: see `machine.early_words`."""

    item: str
    """The item it is to become."""
    text: str = ""
    shown: int = 0
    """How many characters of it the page was shown."""
    entry: str = ""
    """The item under which they are shown."""


@dataclass(slots=True)
class OpenTurn:
    """The caller's spoken turn, from its first sound until the first sound of its answer: it may still go on."""

    words: TurnWords = field(default_factory=TurnWords)
    """What was said and committed."""
    begun: bool = False
    """The first moment has passed at least once: the turn has its number."""
    uncommitted: bool = True
    """Something was said that is not committed yet."""
    voiced_ms: int = 0
    """How much was said in the pieces that have ended."""
    quiet_since: float = 0.0
    """The moment of the caller's last sound."""
    over_at: float = 0.0
    """The second moment, at which the turn is believed over, while the floor is PAUSING."""
    suspected: bool = False
    """A voice may be beginning: the turn is held open a little longer than that."""
    wait_ms: int = 0
    reason: str = ""
    reading: UtteranceRead | None = None
    """What was read of a turn that is one short utterance."""
    ending: SpeechEnding | None = None
    """How the voice ended."""
    sentence_end: float | None = None
    """The log10 probability of a sentence's end after its words."""
    deferred: list[Event] = field(default_factory=list)
    """What the prepared reply has sent."""
    deferred_bytes: int = 0
    discarded: int = 0
    """Replies prepared in its pauses and thrown away."""
    sounded_at: float | None = None
    """The moment its answer began to sound."""
    pieces_answered: int = 0
    """The pieces before that, where the caller has gone on all the same."""

    @property
    def pieces(self) -> int:
        """The pieces committed."""
        return self.words.pieces


@dataclass(slots=True)
class Overlap:
    """A short utterance said over a reply, committed to be transcribed: see `machine.overlap`."""

    words: TurnWords
    began: float
    """The moment of its onset."""
    voiced_ms: int = 0
    quiet_since: float = 0.0
    """The moment of its last sound."""
    noted: bool = False
    """It was reported as a murmur."""


@dataclass(slots=True)
class Parked:
    """A reply that the caller cut, as long as it can be brought back."""

    cut_short: bool
    """The provider had not sent all of it."""
    false_start: bool = False
    """It began to sound before the caller had finished: it counts as not said."""
    items: list[SpokenItem] = field(default_factory=list)
    """What was not heard of it."""


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
    arguments: str = ""
    """What it asks, as JSON."""


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

    def supersede(self, turn: int) -> None:
        """Count the running calls of `turn` as an earlier one's: the caller went on, and all is answered together."""
        for entry in self.running(turn):
            entry.turn = turn - 1

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
    open: OpenTurn | None = None
    answered: OpenTurn | None = None
    """The last turn, once its answer sounds: the caller may not have finished all the same."""
    words: list[TurnWords] = field(default_factory=list)
    """The words of turns that are not all known yet, oldest first."""
    early_words: EarlyWords | None = None
    caller_pauses_ms: deque[int] = field(default_factory=lambda: deque(maxlen=16))
    """The caller's own pauses within turns, newest last."""
    our_words: str = ""
    """What the caller last heard from us."""
    expected: Expected = Expected.NOTHING
    """What that asked for."""
    credit: float = 2.0
    """Replies that may be prepared before words say that the turn is over: see `open_turn`."""
    whole_turns: int = 3
    """The latest turns in a row without a pause that another piece followed; at first as if there had been some."""
    replay: list[Event] = field(default_factory=list)
    """Events that were deferred, to be handled now."""
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
    waits: int = 0
    """Times in a row a rate limit was waited out."""
    unanswered: int = 0
    """Replies in a row that did not begin in time, or stopped, with no other sound since."""
    left: int = 0
    """Providers left because they were mute."""
    items: SpokenItems = field(default_factory=SpokenItems)
    playing: bool = False
    ducked: bool = False
    """The hold on the floor is a ducked playback, not a silent one."""
    suspected: bool = False
    """Playback is ducked for a voice that may be beginning; no floor is held for it."""
    interruptible: bool = True
    """The caller's voice may interrupt replies."""
    answers: bool = True
    """A spoken turn is answered; otherwise the caller's program asks for each reply."""
    reply_hint: str = ""
    """Instructions for the next reply, from the caller's program."""
    reading_out: bool = False
    """What is being spoken must be heard to its end."""
    overlap: Overlap | None = None
    """What was said over a reply, and is not decided yet."""
    parked: Parked | None = None
    """The reply that was cut for what the caller is saying."""
    uninterruptible: bool = False
    """The next reply that speaks a result must be heard to its end."""
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
    waits_said: int = 0
    """Times in a row the caller was told that it takes a moment."""
    filled_at: float = 0.0
    """The moment the last filler was wanted."""
    idle_since: float | None = None
    nudged: bool = False

    # the connection to the provider
    lost_at: float | None = None
    """The moment the connection was lost; None while it stands."""
    started: bool = False
    """A connection has stood in this call."""
    missed: bool = False
    """Words of the caller's were lost with it."""
    notes: list[str] = field(default_factory=list)
    """Notes for the Responder once it is connected again."""
    typed_meanwhile: list[AddUserText] = field(default_factory=list)
    """Typed words for the Responder once it is connected again."""
    typed: int = 0
    """Messages typed so far."""
    typed_waiting: list[AddUserText] = field(default_factory=list)
    """Words typed while the caller spoke: each a turn, once what was said is answered."""

    # the end
    leaving: str | None = None
    """The reason for saying goodbye."""
    last_word: Clip | None = None
    """The sentence that is still to be played before that, once the reply under way has been heard."""
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

    @property
    def at_rest(self) -> bool:
        """True between two turns, when no connection knows anything that another one would not."""
        typed = self.typed_meanwhile or self.typed_waiting
        said = self.utterance or self.open or self.overlap or self.words or self.missed or typed
        saying = self.reply or self.playing or self.parked or self.notices.reply or self.leaving
        owed = self.wanted or self.asked_for or self.owed_since is not None or self.calls.running()
        return self.floor is Floor.LISTENING and self.lost_at is None and not (said or saying or owed)

    @property
    def may_interrupt(self) -> bool:
        """True while the caller's voice may take the floor from what is spoken."""
        return self.interruptible and not self.reading_out

    @property
    def may_duck(self) -> bool:
        """True while a voice turns down what is playing, instead of holding it back."""
        return self.playing and self.owed_since is None and self.limits.interruption_onset == "duck"

    # --- small moves ----------------------------------------------------------------------------------

    def publish(self, event: PageEvent) -> None:
        """Report `event` to the page and to whoever else follows the call."""
        self.commands.append(Publish(event))

    def report(self, measured: AnswerMeasured | None) -> None:
        """Report a time, if there is one."""
        if measured is not None:
            self.publish(measured)

    def pass_floor(self, floor: Floor) -> None:
        """Pass the floor, and report it."""
        if floor is not self.floor:
            self.floor = floor
            self.publish(FloorChanged(floor.value))

    def note_our_words(self, words: str) -> None:
        """Note what the caller has heard from us."""
        self.our_words, self.expected = words, expected_answer(words)

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
