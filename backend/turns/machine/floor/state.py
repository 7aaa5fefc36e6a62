"""The state of the floor machine: the holder of the floor, the voice that sounds, and our own playback."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from backend.turns.commands import AddUserText
from backend.turns.events import UtteranceRead


class Floor(StrEnum):
    """The holder of the floor."""

    LISTENING = "listening"
    USER = "user"
    PAUSING = "pausing"
    """The caller has paused, and the turn may be over: a reply is prepared, and nothing sounds."""
    ASSISTANT = "assistant"
    HELD = "held"
    """A voice sounds over the reply, and its intent is not clear yet: see `barge_in`."""
    CLOSED = "closed"


class Playback(Enum):
    """The sound that plays to the caller."""

    SILENT = 1
    PLAYING = 2
    READING_OUT = 3
    """The sound must be heard to its end."""


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
    """The reader was asked for the words before this pause."""
    reading: UtteranceRead | None = None
    """Its answer."""
    murmured_ms: int = 0
    """The speech that was read as a murmur: it does not count towards an interruption."""
    off_axis: bool = False
    """The voice sounds like another person's."""
    committed: bool = False
    """The whole utterance, said over a reply, was committed."""
    partial_readings: int = 0
    """Times the reader was asked for the words so far while the voice sounds."""
    sounded_like: UtteranceRead | None = None
    """The latest of their answers."""
    may_last_ms: int = 0
    """After a murmur: the speech with which the voice takes the floor nevertheless."""
    committed_ms: int | None = None
    """The part of the utterance that was committed while it sounded."""

    def sounded_ms(self, now: float) -> int:
        """Return how long the utterance has lasted so far."""
        return self.voiced_ms + (0 if self.running_since is None else round((now - self.running_since) * 1000))

    def reaches(self, needed_ms: int) -> float | None:
        """Return when the voice will have lasted `needed_ms` without murmurs if it keeps on; None while it pauses."""
        if self.running_since is None:
            return None
        return self.running_since + max(0, needed_ms + self.murmured_ms - self.voiced_ms) / 1000


@dataclass(slots=True)
class FloorState:
    """The floor of one conversation. Times are those of `now`, in seconds."""

    holder: Floor = Floor.LISTENING
    turn: int = 0
    """The number of the caller's latest turn."""
    voice: Utterance | None = None
    """The utterance under way."""
    playback: Playback = Playback.SILENT
    last_voice_at: float = 0.0
    last_sound_at: float = 0.0
    typed: int = 0
    """Messages typed so far."""
    typed_waiting: list[AddUserText] = field(default_factory=list)
    """Words typed while the caller spoke: each is a turn once what was said is answered."""

    @property
    def playing(self) -> bool:
        """True while something of ours sounds, or is queued to."""
        return self.playback is not Playback.SILENT

    @property
    def may_speak(self) -> bool:
        """True while the floor is free, or ours."""
        return self.holder is Floor.LISTENING or self.holder is Floor.ASSISTANT

    def begin_playback(self) -> None:
        """Note that something of ours plays; a protected reply stays protected."""
        if self.playback is Playback.SILENT:
            self.playback = Playback.PLAYING
