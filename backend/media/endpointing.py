"""Endpointing decides which frames of the microphone the Responder gets, and when the caller's speech begins and ends.

It is local (our VAD, `PrimarySpeaker` and `Segmenter`) or the provider's (everything is forwarded); while no provider
is connected, local endpointing stands in. The detector's score of each frame can be watched (`Levels`). Each watcher
has a ring of its own; a watcher that reads too seldom loses the oldest scores, and never delays the call.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from backend.errors import TooMany
from backend.media.frame import Frame
from backend.media.onset_hint import OnsetHint
from backend.media.primary_speaker import PrimarySpeaker
from backend.media.segmenter import Segmenter, SegmenterState
from backend.media.vad import HopVad, RestingVad, RoomGate, Vad, VadEngine
from backend.media.vad_silero import SileroEngine
from backend.settings.vad import VadSettings
from backend.turns import events as ev

HELD_MS = 500
"""The most milliseconds of a doubtful voice that are kept, and sent if it proves to be the caller's."""
RING_FRAMES = 250
"""The most scores that a watcher can leave unread: five seconds of 20 ms frames."""
WATCHERS = 4
"""The most watchers of one call at the same time."""

Ring = deque[float]


class LocalEndpointing:
    """Endpointing by VAD and segmenter: only speech is forwarded, with its pre-roll and a bounded tail."""

    def __init__(
        self,
        vad: Vad,
        segmenter: Segmenter,
        threshold: float,
        near: PrimarySpeaker | None = None,
        engine: type[VadEngine] = SileroEngine,
    ) -> None:
        """`threshold` is the score from which a frame is speech; after silence the engine's `onset`, if it is lower.

        With `near`, only the caller's voice is speech: other voices in the room count as silence.
        """
        self.name = engine.name
        self._near = near
        self._vad = vad
        self._segmenter = segmenter
        self._threshold = threshold
        self._onset = min(engine.onset, threshold)
        self._hint = OnsetHint()
        self.near_sound = False
        """True while the latest frame, in silence, is as loud as the caller's first sound may be.

        This notices a voice some 20 ms sooner than the hint, but also more sounds that are no voice.
        """
        self.levels = Levels(threshold)

    @property
    def off_axis(self) -> bool:
        """Return whether the present utterance, or the last, is off-axis: of another person, or turned away.

        This is known from 320 ms of voice on. It is False before, and while the caller's voice is not known.
        """
        return self._near is not None and self._near.off_axis

    @property
    def hinted(self) -> bool:
        """Return whether the caller's voice may just be beginning, as of the latest frame: see `OnsetHint`."""
        return self._hint.stands

    def process(self, frame: Frame) -> list[Frame | ev.SpeechEvent]:
        """Return frames for the Responder and events for the turn machine, in order."""
        score = self._vad.score(frame)
        self.levels.note(score)
        is_begun = self._segmenter.state is not SegmenterState.SILENCE
        is_voice = score >= (self._threshold if is_begun else self._onset)
        if self._near is None:
            return self._segmenter.push(frame, is_voice)
        out = self._segmenter.push(frame, self._near.accepts(frame, is_voice, is_begun), is_voice)
        if is_begun or self._segmenter.state is not SegmenterState.SILENCE:
            self._hint.settle()
            self.near_sound = False
        else:
            self.near_sound = score > 0 and self._near.may_begin()
            self._hint.follow(score, is_near=self.near_sound)
        return out

    def follow_line(self, *, stands: bool) -> list[ev.SpeechEvent]:
        """Do nothing: the server's own detector does not depend on the connection to the provider."""
        return []

    def finish(self) -> list[ev.SpeechEvent]:
        """End the present utterance, if there is one, and return the events for it."""
        return self._segmenter.finish()


class ProviderEndpointing:
    """Endpointing by the provider or the caller's program: everything is forwarded, nothing is detected here.

    While no provider is connected, local endpointing stands in.
    """

    levels: None = None
    off_axis = hinted = near_sound = False

    def __init__(
        self,
        open_stand_in: Callable[[], LocalEndpointing] | None = None,
        name: Literal["provider", "client"] = "provider",
    ) -> None:
        """Without `open_stand_in`, speech is not noticed while no provider is connected."""
        self.name = name
        self._open_stand_in = open_stand_in
        self._stand_in: LocalEndpointing | None = None

    def process(self, frame: Frame) -> Iterable[Frame | ev.SpeechEvent]:
        """Return the frame itself, or the result of the endpointing that stands in."""
        return self._stand_in.process(frame) if self._stand_in else (frame,)

    def follow_line(self, *, stands: bool) -> list[ev.SpeechEvent]:
        """Note that the connection to the provider is lost or stands again; return the events of speech that ends."""
        if not stands:
            if self._open_stand_in and not self._stand_in:
                self._stand_in = self._open_stand_in()
            return []
        stood_in, self._stand_in = self._stand_in, None
        return stood_in.finish() if stood_in else []


Endpointing = LocalEndpointing | ProviderEndpointing
"""One caller's endpointing: frames in, frames to forward and speech events out."""


class Levels:
    """The scores of one call's microphone; `threshold` is the probability from which a frame counts as speech."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rings: tuple[Ring, ...] = ()

    def note(self, score: float) -> None:
        """Give a frame's probability of speech, 0 to 1, to its watchers."""
        for ring in self._rings:
            ring.append(score)

    def require_room(self) -> None:
        """Raise `TooMany` if the call already has `WATCHERS` watchers."""
        if len(self._rings) >= WATCHERS:
            raise TooMany("Too many developer panels watch this call.", retry_after_s=5, hint="Close one of them.")

    @contextmanager
    def watch(self) -> Iterator[Ring]:
        """Yield a ring that fills until the context is left; its reader empties it. Raises `TooMany`."""
        self.require_room()
        ring: Ring = deque(maxlen=RING_FRAMES)
        self._rings = (*self._rings, ring)
        try:
            yield ring
        finally:
            self._rings = tuple(other for other in self._rings if other is not ring)


def open_endpointing(settings: VadSettings, engine: type[VadEngine] = SileroEngine) -> LocalEndpointing:
    """Return new local endpointing for a call, by the settings."""
    vad = RestingVad(HopVad(engine(), settings.threshold), RoomGate())
    near = PrimarySpeaker() if settings.primary_speaker else None
    segmenter = Segmenter(settings.pre_roll_ms, settings.post_roll_ms, settings.hangover_frames, HELD_MS if near else 0)
    return LocalEndpointing(vad, segmenter, settings.threshold, near, engine)
