"""The turn detection of this end (`server_vad`, `semantic_vad`): loudness over a noise floor that follows the room.

Pure: audio in, onsets and ends out, both in milliseconds of audio received so far. It is good enough to test a client
that leaves endpointing to the provider; since it does not know the meaning, `semantic_vad` merely waits longer.
"""

import math
from dataclasses import dataclass
from operator import mul
from typing import Any

from backend.media.frame import FRAME_BYTES, FRAME_MS

ONSET_FRAMES = 3
"""The loud frames in a row that make an onset."""
QUIETEST_RMS = 60.0
"""The lowest noise floor, so that digital silence does not make a whisper loud."""
RATIO = 4.0
"""The ratio to the noise floor from which a frame is loud: 12 dB."""
PREFIX_MS = 300
"""Milliseconds of audio kept from before an onset."""
SEMANTIC_SILENCE_MS = 700
"""Milliseconds of silence that end a turn under semantic_vad."""


@dataclass(frozen=True, slots=True)
class VoiceBegan:
    """Speech started at `at_ms` of the audio received."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class VoiceEnded:
    """Speech ended at `at_ms` of the audio received."""

    at_ms: int


class TurnDetector:
    """Detects the turns in one stream of audio."""

    def __init__(self, detection: dict[str, Any]) -> None:
        self._silence_ms: int = detection.get("silence_duration_ms", SEMANTIC_SILENCE_MS)
        self._rest = b""
        self._floor = QUIETEST_RMS
        self._heard_ms = 0
        self._loud = 0
        self._quiet_ms = 0
        self.speaking = False

    def feed(self, pcm: bytes) -> list[VoiceBegan | VoiceEnded]:
        """Take 24 kHz mono PCM16 of any length; return the onsets and ends in it."""
        stream = self._rest + pcm
        whole = len(stream) - len(stream) % FRAME_BYTES
        self._rest = stream[whole:]
        found: list[VoiceBegan | VoiceEnded] = []
        for start in range(0, whole, FRAME_BYTES):
            change = self._frame(stream[start : start + FRAME_BYTES])
            if change:
                found.append(change)
        return found

    def _frame(self, frame: bytes) -> VoiceBegan | VoiceEnded | None:
        self._heard_ms += FRAME_MS
        samples = memoryview(frame).cast("h")
        rms = math.sqrt(sum(map(mul, samples, samples)) / len(samples))
        loud = rms > self._floor * RATIO
        if not loud and not self.speaking:
            self._floor = max(QUIETEST_RMS, 0.95 * self._floor + 0.05 * rms)
        return self._speaking(loud) if self.speaking else self._silent(loud)

    def _silent(self, loud: bool) -> VoiceBegan | None:
        self._loud = self._loud + 1 if loud else 0
        if self._loud < ONSET_FRAMES:
            return None
        self.speaking, self._quiet_ms, self._loud = True, 0, 0
        return VoiceBegan(self._heard_ms - ONSET_FRAMES * FRAME_MS)

    def _speaking(self, loud: bool) -> VoiceEnded | None:
        self._quiet_ms = 0 if loud else self._quiet_ms + FRAME_MS
        if self._quiet_ms < self._silence_ms:
            return None
        self.speaking = False
        return VoiceEnded(self._heard_ms)
