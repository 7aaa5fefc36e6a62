"""The state of the pending-turn machine: the caller's turn while it may go on, and earlier words."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from backend.turns.end_of_turn import AskedFor, TurnWait, expected_answer
from backend.turns.events import Event, UtteranceRead


class TurnStage(StrEnum):
    """The life of a turn."""

    NONE = "none"
    """There is no turn that may go on."""
    COLLECTING = "collecting"
    """No segment has ended, or nothing but "um" was said."""
    BEGUN = "begun"
    """The first moment has passed at least once: the turn has its number."""
    ANSWERED = "answered"
    """The answer has begun to sound, perhaps as a false start."""


class Standing(Enum):
    """The kinds of words that were said."""

    IN_DOUBT = 1
    """The words were said over a reply, and are perhaps no turn."""
    TURN = 2
    """The words belong to a turn that may go on."""
    OVER = 3
    """The turn is believed over: no segment will follow."""


@dataclass(slots=True, eq=False)
class TurnWords:
    """The words of one spoken turn, of which the provider makes an item for each segment."""

    segments: int = 0
    """The segments committed."""
    items: dict[str, str | None] = field(default_factory=dict)
    """Each item's transcript, in order; None until it is there."""
    shown: set[str] = field(default_factory=set)
    """Items of which words were shown as they came."""
    standing: Standing = Standing.TURN
    failed: bool = False
    """A segment could not be transcribed."""
    unsure: bool = False
    """The transcript of a segment is doubtful."""
    remembered: int = 0
    """The items with words that were shown and remembered."""

    @property
    def id(self) -> str:
        """The item under which the turn is shown: its first."""
        return next(iter(self.items))

    @property
    def text(self) -> str:
        """The words known so far."""
        return " ".join(text for text in self.items.values() if text)

    @property
    def complete(self) -> bool:
        """True once every segment is transcribed."""
        return len(self.items) >= self.segments and None not in self.items.values()

    def since(self, segment: int) -> dict[str, str | None]:
        """Return the items from that segment on, with their transcripts."""
        return dict(list(self.items.items())[segment:])

    def leave_out(self, items: Iterable[str]) -> None:
        """Drop these items."""
        for item in items:
            del self.items[item]
        self.segments = len(self.items)

    def take_in(self, later: TurnWords) -> None:
        """Add later words of the same turn."""
        self.segments += later.segments
        self.items |= later.items
        self.shown |= later.shown
        self.failed |= later.failed
        self.unsure |= later.unsure


@dataclass(slots=True)
class EarlyWords:
    """The words of what is being said, as far as they are known before it is committed: see `early_words`."""

    item: str
    """The item that the words will become."""
    text: str = ""
    shown: int = 0
    """The number of characters that the page has shown."""
    entry: str = ""
    """The item under which the words are shown."""


@dataclass(slots=True)
class PreparedReply:
    """The reply that was asked for while the turn may go on; the caller has noticed nothing of it."""

    deferred: list[Event] = field(default_factory=list)
    """What it has sent."""
    deferred_bytes: int = 0
    discarded: int = 0
    """Replies prepared in this turn's pauses and thrown away."""

    def take(self) -> list[Event]:
        """Return what was deferred, once."""
        deferred, self.deferred, self.deferred_bytes = self.deferred, [], 0
        return deferred


UNJUDGED = TurnWait(0, "")
"""The verdict on a turn of which no segment has ended."""


@dataclass(slots=True)
class PendingTurn:
    """The caller's spoken turn, from its first sound until the first sound of its answer: it may still go on."""

    words: TurnWords = field(default_factory=TurnWords)
    """What was said and committed."""
    stage: TurnStage = TurnStage.COLLECTING
    """COLLECTING or BEGUN."""
    uncommitted: bool = True
    """The caller has said something that is not committed yet."""
    voiced_ms: int = 0
    """How much was said in the segments that have ended."""
    quiet_since: float = 0.0
    """The moment of the caller's last sound."""
    over_at: float = 0.0
    """The second moment, at which the turn is believed over, while the floor is PAUSING."""
    hinted: bool = False
    """A voice may be beginning: the turn is held open a little longer than the second moment."""
    wait: TurnWait = UNJUDGED
    """The wait from the last sound to the second moment, and why."""
    reading: UtteranceRead | None = None
    """What was read of a turn that is one short utterance."""
    sentence_end: float | None = None
    """The log10 probability that a sentence ends after the turn's words."""
    prepared: PreparedReply = field(default_factory=PreparedReply)
    sounded_at: float | None = None
    """The moment its answer began to sound."""
    segments_answered: int = 0
    """The segments before the answer sounded, if the caller has gone on nevertheless."""

    @property
    def segments(self) -> int:
        """The segments committed."""
        return self.words.segments

    @property
    def begun(self) -> bool:
        """True once the turn has its number."""
        return self.stage is TurnStage.BEGUN


@dataclass(slots=True)
class PendingState:
    """The caller's turns, as far as they may go on or their words are not all known."""

    open: PendingTurn | None = None
    """The turn that may still go on."""
    answered: PendingTurn | None = None
    """The last turn, once its answer sounds; the caller may still not have finished."""
    words: list[TurnWords] = field(default_factory=list)
    """The words of turns that are not all known yet, oldest first."""
    early_words: EarlyWords | None = None
    pauses_ms: deque[int] = field(default_factory=lambda: deque(maxlen=16))
    """The caller's own pauses within turns, newest last."""
    our_words: str = ""
    """What the caller last heard from us."""
    expected: AskedFor = AskedFor.NOTHING
    """What that asked for."""
    credit: float = 2.0
    """Replies that may be prepared before the words show that the turn is over: see `waiting`."""
    whole_turns: int = 3
    """The number of latest turns in one piece, without a pause inside; a call begins with a count above 0."""
    replay: list[Event] = field(default_factory=list)
    """Deferred events that are to be handled now."""
    discard_commit: bool = False
    """The provider will commit what was no turn."""
    discarded: str | None = None
    """The item that came of the discarded audio."""

    @property
    def stage(self) -> TurnStage:
        """The stage of the turn that may go on, or of the one before."""
        if self.open is not None:
            return self.open.stage
        return TurnStage.NONE if self.answered is None else TurnStage.ANSWERED

    def note_our_words(self, words: str) -> None:
        """Note what the caller has heard from us."""
        self.our_words, self.expected = words, expected_answer(words)
