"""The state of the floor machine: the holder of the floor, the voice that sounds, and our own playback."""

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
    """A voice sounds over the reply, and may or may not want the floor: see `barge_in`."""
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
    """The moment of the utterance's onset."""
    running_since: float | None
    """The moment at which the voice last began or resumed; None while it pauses."""
    voiced_ms: int = 0
    """The speech before `running_since`."""
    paused_at: float | None = None
    """The moment the voice fell silent; None while it sounds."""
    asked_to_read: bool = False
    """The utterance classifier was asked for the words before this pause."""
    reading: UtteranceRead | None = None
    """The utterance classifier's answer in this pause."""
    murmured_ms: int = 0
    """The speech that was a murmur by the classifier, and does not count towards an interruption."""
    off_axis: bool = False
    """The voice sounds like another person's."""
    committed: bool = False
    """The whole utterance, said over a reply, was committed."""
    partial_readings: int = 0
    """Times the utterance classifier was asked for the words so far while the voice sounds."""
    sounded_like: UtteranceRead | None = None
    """The utterance classifier's latest answer while the voice sounds."""
    may_last_ms: int = 0
    """The length at which the voice takes the floor although it began like a murmur."""
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
    """Messages typed while the caller spoke: each is a turn of its own after the answer to the speech."""

    @property
    def playing(self) -> bool:
        """True while audio of ours sounds or is queued."""
        return self.playback is not Playback.SILENT

    @property
    def may_speak(self) -> bool:
        """True while the floor is free, or the assistant's."""
        return self.holder is Floor.LISTENING or self.holder is Floor.ASSISTANT

    def begin_playback(self) -> None:
        """Note that audio of ours plays; a protected reply stays protected."""
        if self.playback is Playback.SILENT:
            self.playback = Playback.PLAYING
