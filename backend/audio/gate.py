"""Whether a frame is louder than the room it was recorded in. Pure: levels in, a decision out.

Theory. A detector costs more than everything else done to a frame, and as much for silence as for speech. Yet most of a
call is silence, and a voice stands far above it: what is no louder than the room is not speech. The room's level is not
known, so it is followed: down at once, up by `RISE_DB` a frame, since the quietest of the last seconds is the room even
while somebody speaks (there are 20 ms without a voice in any second of speech). The room is never believed to be louder
than `LOUDEST_ROOM_DBFS`: a fan must not make us deaf.

A frame is judged by its last `JUDGED_MS`. Opus decodes 6.5 ms late and rings for about 5, so the last sound of an
utterance always spills into the frame after it; judged whole, that frame was loud, and the end told 20 ms late. Shorter
than the period of a low voice (12.5 ms at 80 Hz), it still meets the ringing of the mouth between two pulses.
"""

from __future__ import annotations

from math import log10

import numpy as np

from backend.audio.frame import FRAME_BYTES, SAMPLE_RATE, SILENCE, Frame

JUDGED_MS = 8
"""See the table in `vad`."""
ABOVE_ROOM_DB = 6.0
RISE_DB = 0.06
"""3 dB a second."""
SILENT_DBFS = -62.0
"""What is quieter is silence in any room: the weakest consonants of a quiet speaker are louder."""
LOUDEST_ROOM_DBFS = -38.0
_NOTHING_DBFS = -100.0
_JUDGED_SAMPLES = SAMPLE_RATE * JUDGED_MS // 1000
_JUDGED_FROM = FRAME_BYTES - 2 * _JUDGED_SAMPLES
_FULL_SCALE = _JUDGED_SAMPLES * 32768.0**2


class Gate:
    """One caller's room."""

    def __init__(self) -> None:
        self._room = SILENT_DBFS

    def __repr__(self) -> str:
        return f"Gate(room {self._room:.0f} dBFS)"

    @property
    def room_dbfs(self) -> float:
        """How loud the room is taken to be."""
        return self._room

    def opens(self, dbfs: float) -> bool:
        """Whether a frame of this level stands out of the room; and follow the room."""
        loud = dbfs > self._room + ABOVE_ROOM_DB and dbfs > SILENT_DBFS
        self._room = min(dbfs, self._room + RISE_DB, LOUDEST_ROOM_DBFS)
        return loud


def level(frame: Frame) -> float:
    """Root mean square of a frame's last `JUDGED_MS`, in dB of full scale; -100 for nothing."""
    if frame is SILENCE:
        return _NOTHING_DBFS
    samples = np.frombuffer(frame, "<i2", _JUDGED_SAMPLES, _JUDGED_FROM).astype(np.float32)
    energy = float(samples @ samples)
    return 10 * log10(energy / _FULL_SCALE) if energy > 0 else _NOTHING_DBFS
