"""G.711, the codec of the telephone: one byte a sample, 8,000 samples a second, in two laws.

μ-law (PCMU, North America and Japan) and A-law (PCMA, elsewhere) hold 14 and 13 bits in 8, with steps that grow with
the level (ITU-T G.711). `encode` and `decode` change the format alone; `Decoder` and `Encoder` are one direction of a
call each, and also change the rate, once: 8 kHz on the line, 24 kHz frames in the server. Both are steady: 20 ms in,
20 ms out, 2 ms late.
"""

from __future__ import annotations

import warnings
from enum import StrEnum

from backend.errors import BadRequest
from backend.media.frame import FRAME_MS, SAMPLE_RATE, SILENCE, Frame
from backend.media.resample import Resampler

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it left Python with 3.13, and lives on in audioop-lts
    from audioop import alaw2lin, lin2alaw, lin2ulaw, mul, ulaw2lin

RATE = 8_000
"""Samples per second, and bytes."""
PACKET_BYTES = RATE * FRAME_MS // 1000
"""Bytes in 20 ms."""


class Law(StrEnum):
    """How a sample becomes a byte; the values are the names in SDP (RFC 3551)."""

    MU = "PCMU"
    A = "PCMA"

    @classmethod
    def named(cls, name: str) -> Law:
        """Return the law of a format's name, such as `PCMU`, `audio/pcmu` or `g711_ulaw`. Raises `BadRequest`."""
        law = _NAMES.get(name.strip().lower().removeprefix("audio/"))
        if law is None:
            raise BadRequest(f"{name[:40]!r} is no G.711 format.", hint="Use audio/pcmu or audio/pcma.")
        return law

    @property
    def silence(self) -> int:
        """The byte of a sample of nothing."""
        return 0xFF if self is Law.MU else 0xD5


_NAMES = {
    "pcmu": Law.MU,
    "g711_ulaw": Law.MU,
    "x-mulaw": Law.MU,
    "mulaw": Law.MU,
    "pcma": Law.A,
    "g711_alaw": Law.A,
    "x-alaw": Law.A,
    "alaw": Law.A,
}


def decode(coded: bytes, law: Law) -> bytes:
    """Return 8 kHz PCM16, twice as many bytes."""
    return ulaw2lin(coded, 2) if law is Law.MU else alaw2lin(coded, 2)


def encode(pcm: bytes, law: Law) -> bytes:
    """Return G.711 of 8 kHz PCM16 in whole samples, half as many bytes."""
    return lin2ulaw(pcm, 2) if law is Law.MU else lin2alaw(pcm, 2)


class Decoder:
    """One stream of G.711 on its way in: bytes of any number → 24 kHz PCM16, which is whole 20 ms for whole 20 ms."""

    clock = RATE
    rate = RATE
    """Samples per second, which another codec of the telephone may have more of."""
    empty_bytes = 0
    samples = staticmethod(len)

    def __init__(self, law: Law = Law.MU) -> None:
        self.law = law
        self._resampler = Resampler(self.rate, SAMPLE_RATE, steady=True)
        self._last = b""  # decoded, to go on with

    def decode(self, coded: bytes) -> bytes:
        """Return 24 kHz PCM16: six bytes for one."""
        self._last = self._decoded(coded)
        return self._resampler.push(self._last)

    def conceal(self, samples: int) -> bytes:
        """Go on with what came last, half as loud each time, as many 24 kHz samples as are missing."""
        wanted = 2 * (samples * self.rate // SAMPLE_RATE)
        if not self._last:
            return self._resampler.push(bytes(wanted))
        self._last = mul(self._last, 2, 0.5)
        return self._resampler.push((self._last * (wanted // len(self._last) + 1))[:wanted])

    def recover(self, next_payload: bytes, samples: int) -> bytes:
        """The next packet holds nothing of the one before it: conceal."""
        return self.conceal(samples)

    def close(self) -> None:
        """Nothing is held."""

    def _decoded(self, coded: bytes) -> bytes:
        return decode(coded, self.law)


class Encoder:
    """One stream of frames on its way out, as G.711. What lies above 4 kHz is filtered out first."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self._resampler = Resampler(SAMPLE_RATE, RATE, steady=True)
        self.silence = bytes([law.silence]) * PACKET_BYTES
        """Twenty milliseconds of nothing, coded."""
        self._at_rest = True

    def encode(self, frame: Frame) -> bytes:
        """Return the frame's 160 bytes."""
        self._at_rest = False
        return encode(self._resampler.push(frame), self.law)

    def rest(self) -> bytes:
        """Return 20 ms in which nothing plays: at first the last 2 ms of what was encoded before it."""
        if self._at_rest:
            return self.silence
        coded = self.encode(SILENCE)
        self._at_rest = True
        return coded

    def close(self) -> None:
        """Nothing is held."""
