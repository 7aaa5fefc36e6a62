"""What is done to the microphone before the Responder hears it: nothing, or our own endpointing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from backend.conversation import events as ev
from backend.media.frame import Frame
from backend.media.levels import Levels
from backend.media.segmenter import Edge, Ended, Onset, Paused, Resumed, Segmenter, SegmenterState
from backend.media.vad import Vad, make_vad
from backend.settings.vad import VadSettings


class Endpointing(Protocol):
    """Turns frames into what is forwarded and what happened, in order."""

    name: str
    """'ten', 'silero' or 'provider'."""
    endpointing: Literal["local", "provider"]
    levels: Levels | None
    """What the detector makes of each frame; None where nothing is detected here."""

    def process(self, frame: Frame) -> Iterable[Frame | ev.SpeechEvent]:
        """Frames are for the Responder, events for the turn machine."""
        ...

    def close(self) -> None:
        """Release the detector."""
        ...


class LocalEndpointing:
    """VAD and segmenter: only speech is forwarded, with its pre-roll and a bounded tail."""

    endpointing: Literal["local", "provider"] = "local"

    def __init__(self, vad: Vad, segmenter: Segmenter, threshold: float, onset: float = 1.0) -> None:
        """`threshold`: the score from which a frame is speech; in silence the lower one of `onset` is enough."""
        self.name = vad.name
        self._vad = vad
        self._segmenter = segmenter
        self._threshold = threshold
        self._onset = min(onset, threshold)
        self.levels: Levels | None = Levels(threshold)
        self._note = self.levels.note

    def __repr__(self) -> str:
        return f"LocalEndpointing({self._vad!r}, {self._segmenter!r})"

    def process(self, frame: Frame) -> list[Frame | ev.SpeechEvent]:
        """See `Endpointing`."""
        score = self._vad.score(frame)
        self._note(score)
        begins = score >= self._onset and self._segmenter.state is SegmenterState.SILENCE
        heard = self._segmenter.push(frame, begins or score >= self._threshold)
        return [piece if isinstance(piece, bytes) else _event(piece) for piece in heard] if heard else []

    def close(self) -> None:
        """See `Endpointing`."""
        self._vad.close()


class ProviderEndpointing:
    """Everything is forwarded; the provider finds the turns."""

    name = "provider"
    endpointing: Literal["local", "provider"] = "provider"
    levels: Levels | None = None

    def process(self, frame: Frame) -> tuple[Frame]:
        """See `Endpointing`."""
        return (frame,)

    def close(self) -> None:
        """See `Endpointing`."""


def open_endpointing(settings: VadSettings) -> Endpointing:
    """The hearing the settings ask for, new for each call. Raises `MissingLibrary`."""
    if not settings.enabled:
        return ProviderEndpointing()
    vad = make_vad(settings)
    segmenter = Segmenter(settings.pre_roll_ms, settings.post_roll_ms, settings.hangover_frames)
    # TEN VAD takes coughs and knocks for speech with scores that Silero keeps for the beginnings of words.
    onset = settings.onset_threshold if vad.name == "silero" else settings.threshold
    return LocalEndpointing(vad, segmenter, settings.threshold, onset)


def _event(edge: Edge) -> ev.SpeechEvent:
    match edge:
        case Onset():
            return ev.SpeechStarted()
        case Paused(voiced_ms):
            return ev.SpeechPaused(voiced_ms)
        case Resumed(voiced_ms):
            return ev.SpeechResumed(voiced_ms)
        case Ended(voiced_ms, hangover_ms):
            return ev.SpeechStopped(voiced_ms, hangover_ms)
