"""The segmenter cuts scored frames into utterances: it chooses the frames for the Responder, and finds begin and end.

Theory. A detector decides for every 20 ms frame whether it is speech. Forwarding only those frames would lose the
first syllable (detectors need some of it to decide) and cut words at every short pause. So three things are added
around the speech:

- the *pre-roll*: a ring of the latest frames that were not forwarded. An onset sends it first, and before it the *held*
  frames: those directly before it with a voice that was perhaps not the caller's;
- the *hangover*: this many silent frames in a row end the utterance, fewer are a pause within it;
- the *post-roll*: in the hangover only this much trailing audio is forwarded; the rest goes to the ring, so that a
  voice that goes on after a longer pause gets its pre-roll too.

Silence beyond the pre-roll and the post-roll is never forwarded, and no frame is forwarded twice.

    state     | speech frame                                | silent frame
    ----------+---------------------------------------------+---------------------------------------------
    SILENCE   | SpeechStarted, ring, frame       → SPEECH   | frame into the ring
    SPEECH    | the frame                                   | SpeechPaused, then as HANGOVER  → HANGOVER
    HANGOVER  | SpeechResumed, ring, frame       → SPEECH   | within the post-roll: the frame; else into the ring.
              |                                             | The last of the hangover: SpeechStopped  → SILENCE
"""

from collections import deque
from enum import Enum
from itertools import islice

from backend.media.frame import FRAME_MS, Frame
from backend.turns.events import SpeechEvent, SpeechPaused, SpeechResumed, SpeechStarted, SpeechStopped


class SegmenterState(Enum):
    """The states of the table above."""

    SILENCE = "silence"
    SPEECH = "speech"
    HANGOVER = "hangover"


class Segmenter:
    """The segmenter of one caller. Pure: the frames, 20 ms each, are its only clock."""

    def __init__(self, pre_roll_ms: int, post_roll_ms: int, hangover_frames: int, held_ms: int = 0) -> None:
        """The pre-roll is rounded up to whole frames, and the post-roll down.

        Up to `held_ms` of a doubtful voice are kept in addition to the pre-roll.
        """
        self._pre_roll_frames = -(-pre_roll_ms // FRAME_MS)
        self._ring: deque[Frame] = deque(maxlen=self._pre_roll_frames + held_ms // FRAME_MS)
        self._held_frames = 0
        self._post_roll_frames = post_roll_ms // FRAME_MS
        self._hangover_frames = max(1, hangover_frames)
        self.state = SegmenterState.SILENCE
        self._voiced_frames = 0
        self._silent_frames = 0

    def push(self, frame: Frame, is_speech: bool, is_held: bool = False) -> list[Frame | SpeechEvent]:
        """Return frames to forward and events, in order. `is_held`: the frame is a voice, perhaps not the caller's."""
        if is_speech:
            return self._speech(frame)
        self._held_frames = self._held_frames + 1 if is_held else 0
        return self._silence(frame)

    def _speech(self, frame: Frame) -> list[Frame | SpeechEvent]:
        out: list[Frame | SpeechEvent] = []
        if self.state is SegmenterState.SILENCE:
            self._voiced_frames = 0
            out.append(SpeechStarted())
        elif self.state is SegmenterState.HANGOVER:
            out.append(SpeechResumed(self._voiced_ms))
        if self._ring:
            surplus = len(self._ring) - self._pre_roll_frames - self._held_frames
            out.extend(islice(self._ring, max(0, surplus), None))
            self._ring.clear()
        out.append(frame)
        self._held_frames = 0
        self.state = SegmenterState.SPEECH
        self._voiced_frames += 1
        return out

    def _silence(self, frame: Frame) -> list[Frame | SpeechEvent]:
        if self.state is SegmenterState.SILENCE:
            self._ring.append(frame)
            return []
        out: list[Frame | SpeechEvent] = []
        if self.state is SegmenterState.SPEECH:
            self.state = SegmenterState.HANGOVER
            self._silent_frames = 0
            out.append(SpeechPaused(self._voiced_ms))
        self._silent_frames += 1
        if self._silent_frames <= self._post_roll_frames:
            out.append(frame)
        else:
            self._ring.append(frame)
        if self._silent_frames >= self._hangover_frames:
            self.state = SegmenterState.SILENCE
            out.append(SpeechStopped(self._voiced_ms, self._silent_frames * FRAME_MS))
        return out

    def finish(self) -> list[SpeechEvent]:
        """End the present utterance, if there is one, and return the events for it."""
        is_over = self.state is SegmenterState.SILENCE
        self.state = SegmenterState.SILENCE
        return [] if is_over else [SpeechStopped(self._voiced_ms)]

    @property
    def _voiced_ms(self) -> int:
        return self._voiced_frames * FRAME_MS
