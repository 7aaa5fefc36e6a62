"""The onset hint: a few frames in which a voice may begin, before the detector is sure of it.

A detector needs some 45 ms of a voice, and of a soft consonant ("stop", "hold on") 100 to 300, before it reports
speech. A reply can be turned down sooner: if that was wrong, it is turned up again and nothing is lost. So a score far
below that of speech is enough for a sound that stands out of a quiet room at nearly the caller's level
(`PrimarySpeaker.may_begin`). A hint stands for `KEPT_FRAMES` after the last such frame and `LONGEST_FRAMES` at most;
a wrong hint is followed by a rest, so that no noise turns a reply down again and again.

Pure: scores in, a decision out; the frames, 20 ms each, are its only clock.
"""

from typing import Final

HINT_SCORE: Final = 0.2
KEPT_FRAMES: Final = 5
"""100 ms."""
LONGEST_FRAMES: Final = 15
REST_FRAMES: Final = 100
"""2 s."""


class OnsetHint:
    """Decides whether one caller's voice may just be beginning."""

    def __init__(self) -> None:
        self._kept_frames = 0
        self._stood_frames = 0
        self._rest_frames = 0

    @property
    def stands(self) -> bool:
        """Return whether a voice may be beginning."""
        return self._kept_frames > 0

    def follow(self, score: float, *, is_near: bool) -> None:
        """Take the score of a frame without speech. `is_near`: by its level it may be the caller's first sound."""
        if self._rest_frames:
            self._rest_frames -= 1
            return
        if is_near and score >= HINT_SCORE:
            self._kept_frames = KEPT_FRAMES
        elif self._kept_frames:
            self._kept_frames -= 1
        if self._kept_frames and self._stood_frames < LONGEST_FRAMES:
            self._stood_frames += 1
        elif self._stood_frames:
            self.settle()
            self._rest_frames = REST_FRAMES

    def settle(self) -> None:
        """Drop the hint: a voice has begun."""
        self._kept_frames = self._stood_frames = self._rest_frames = 0
