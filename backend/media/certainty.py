"""Whether a caller surely goes on speaking, so that the detector need not be asked. Pure: levels and scores in.

Theory. In the middle of a sentence a detector says the same again and again: "speech, 0.99 and more". As long as the
voice stays about as loud as it has been, that is known without asking; an end, even one in a noisy room, is a fall of
the level first. So a frame that is not much quieter than the voice may pass unasked, but never more than
`UNASKED_FRAMES` in a row: what follows a voice at once and is as loud (a vacuum cleaner) is found out by asking, and
after an answer below `SURE` every frame is asked again until the detector is sure.

What passes unasked the detector never hears. Handing it in later, when the level falls or the detector doubts, costs
most of what was saved, and sooner than 10 ms no end was told by it.
"""

from __future__ import annotations

SURE = 0.99
"""A detector's scores fall slowly after a voice; the first to be lower than this tells of it."""
NEAR_DB = 6.0
"""How much quieter than the voice a frame may be."""
FALL_DB = 0.5
"""25 dB a second: by how much the voice is taken to become quieter with each frame that is."""
UNASKED_FRAMES = 2
"""The answer is at most 60 ms old."""
_NOTHING_DBFS = -100.0


class Certainty:
    """About one caller."""

    def __init__(self) -> None:
        self._voice = _NOTHING_DBFS
        self._sure = False
        self._unasked = 0

    def __repr__(self) -> str:
        return f"Certainty(voice {self._voice:.0f} dBFS{', sure' if self._sure else ''})"

    def holds(self, dbfs: float) -> bool:
        """Whether a frame of this level is surely speech like those before; and follow the voice."""
        self._voice = max(dbfs, self._voice - FALL_DB)
        known = self._sure and dbfs > self._voice - NEAR_DB and self._unasked < UNASKED_FRAMES
        self._unasked = self._unasked + 1 if known else 0
        return known

    def learn(self, score: float) -> None:
        """What the detector said of a frame when it was asked."""
        self._sure = score >= SURE
