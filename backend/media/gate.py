"""Whether a frame is louder than the room it was recorded in. Pure: levels in, a decision out.

Theory. A detector costs more than everything else done to a frame, and as much for silence as for speech. Yet most of a
call is silence, and a voice stands far above it: what is no louder than the room is not speech. The room's level is not
known, so it is followed: down at once, up by `RISE_DB` a frame, since the quietest of the last seconds is the room even
while somebody speaks (there are 20 ms without a voice in any second of speech). The room is never believed to be louder
than `LOUDEST_ROOM_DBFS`: a fan must not make us deaf. Where a caller's browser sends nothing in a pause, the room is
heard of twice in 420 ms, and has had as long to become louder.

A frame is judged by its last `JUDGED_MS`. Opus decodes 6.5 ms late and rings for about 5, so the last sound of an
utterance always spills into the frame after it; judged whole, that frame was loud, and the end told 20 ms late. Shorter
than the period of a low voice (12.5 ms at 80 Hz), it still meets the ringing of the mouth between two pulses.
"""

from __future__ import annotations

import warnings
from math import log10

from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, Frame

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it left Python with 3.13, and lives on in audioop-lts
    from audioop import rms

JUDGED_MS = 8
"""See the table in `vad`."""
ABOVE_ROOM_DB = 6.0
RISE_DB = 0.06
"""3 dB a second."""
LONGEST_PAUSE = 25
"""Frames between two that tell of the room: no longer pause makes it louder."""
SILENT_DBFS = -62.0
"""What is quieter is silence in any room: the weakest consonants of a quiet speaker are louder."""
LOUDEST_ROOM_DBFS = -38.0
_NOTHING_DBFS = -100.0
_JUDGED_FROM = FRAME_BYTES - JUDGED_MS * BYTES_PER_MS


class Gate:
    """One caller's room."""

    def __init__(self) -> None:
        self._room = SILENT_DBFS
        self._paused = 0

    def __repr__(self) -> str:
        return f"Gate(room {self._room:.0f} dBFS)"

    @property
    def room_dbfs(self) -> float:
        """How loud the room is taken to be."""
        return self._room

    def opens(self, dbfs: float) -> bool:
        """Whether a frame of this level stands out of the room; and follow the room."""
        loud = dbfs > self._room + ABOVE_ROOM_DB and dbfs > SILENT_DBFS
        self._room = min(dbfs, self._room + RISE_DB * (1 + self._paused), LOUDEST_ROOM_DBFS)
        self._paused = 0
        return loud

    def pause(self) -> None:
        """In place of a frame that nobody sent."""
        self._paused = min(self._paused + 1, LONGEST_PAUSE)


def level(frame: Frame) -> float:
    """Root mean square of a frame's last `JUDGED_MS`, in dB of full scale; -100 for nothing.

    By whole sample values, down to -90: where it matters, at -62, that is a third of a decibel. By numpy it would take
    five times as long.
    """
    loudness = rms(frame[_JUDGED_FROM:], 2)
    return 20 * log10(loudness / 32768) if loudness else _NOTHING_DBFS
