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
    """The two laws by which a sample becomes a byte. The values are the names in SDP (RFC 3551)."""

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
        """The byte of a silent sample."""
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
    """Return 8 kHz PCM16 of G.711, twice as many bytes."""
    return ulaw2lin(coded, 2) if law is Law.MU else alaw2lin(coded, 2)


def encode(pcm: bytes, law: Law) -> bytes:
    """Return G.711 of 8 kHz PCM16 in whole samples, half as many bytes."""
    return lin2ulaw(pcm, 2) if law is Law.MU else lin2alaw(pcm, 2)


class Decoder:
    """One incoming stream of G.711: any number of bytes → 24 kHz PCM16; whole 20 ms give whole 20 ms."""

    clock = RATE
    rate = RATE
    """Samples per second; other telephone codecs may have more."""
    empty_bytes = 0
    samples = staticmethod(len)

    def __init__(self, law: Law = Law.MU) -> None:
        self.law = law
        self._resampler = Resampler(self.rate, SAMPLE_RATE, steady=True)
        self._last = b""  # the latest PCM, which conceals a loss

    def decode(self, coded: bytes) -> bytes:
        """Return 24 kHz PCM16, six bytes for each."""
        self._last = self._decoded(coded)
        return self._resampler.push(self._last)

    def conceal(self, samples: int) -> bytes:
        """Return `samples` of 24 kHz PCM16 that repeat the latest sound, half as loud each time."""
        wanted = 2 * (samples * self.rate // SAMPLE_RATE)
        if not self._last:
            return self._resampler.push(bytes(wanted))
        self._last = mul(self._last, 2, 0.5)
        return self._resampler.push((self._last * (wanted // len(self._last) + 1))[:wanted])

    def recover(self, next_payload: bytes, samples: int) -> bytes:
        """Conceal: in G.711 the next packet holds nothing of the one before it."""
        return self.conceal(samples)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _decoded(self, coded: bytes) -> bytes:
        return decode(coded, self.law)


class Encoder:
    """One outgoing stream of frames as G.711; frequencies above 4 kHz are filtered out first."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self._resampler = Resampler(SAMPLE_RATE, RATE, steady=True)
        self.silence = bytes([law.silence]) * PACKET_BYTES
        """Twenty milliseconds of silence, encoded."""
        self._at_rest = True

    def encode(self, frame: Frame) -> bytes:
        """Return the 160 bytes of a frame."""
        self._at_rest = False
        return encode(self._resampler.push(frame), self.law)

    def rest(self) -> bytes:
        """Return 20 ms of silence; the first time they begin with the last 2 ms of the sound before."""
        if self._at_rest:
            return self.silence
        coded = self.encode(SILENCE)
        self._at_rest = True
        return coded

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
