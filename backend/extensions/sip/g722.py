"""G.722, the wideband codec of desk telephones: 16,000 samples per second in 64 kbit/s, through FFmpeg.

Its RTP clock runs at 8,000 Hz although there are twice as many samples (RFC 3551, 4.5.2), so that a byte is one tick.
Data that FFmpeg cannot decode raise `BadPacket`.
"""

from typing import Literal

import av
import numpy as np

from backend.media import g711
from backend.media.frame import SAMPLE_RATE, SILENCE, Frame
from backend.media.opus import BadPacket
from backend.media.resample import Resampler

RATE = 16_000
"""Samples per second."""


class G722Decoder(g711.Decoder):
    """The decoder of one received stream."""

    rate = RATE

    def __init__(self) -> None:
        super().__init__()
        self._codec = _context("r")

    def _decoded(self, coded: bytes) -> bytes:
        try:
            frames = self._codec.decode(av.Packet(coded))
        except av.FFmpegError as error:
            raise BadPacket(f"G.722: {error}") from None
        return b"".join(frame.to_ndarray().astype("<i2").tobytes() for frame in frames)


class G722Encoder:
    """The encoder of one sent stream."""

    def __init__(self) -> None:
        self._codec = _context("w")
        self._resampler = Resampler(SAMPLE_RATE, RATE, steady=True)

    def encode(self, frame: Frame) -> bytes:
        """Return the frame's 160 bytes."""
        sound = np.frombuffer(self._resampler.push(frame), "<i2").reshape(1, -1)
        coded = av.AudioFrame.from_ndarray(sound, format="s16", layout="mono")
        coded.sample_rate = RATE
        return b"".join(bytes(packet) for packet in self._codec.encode(coded))

    def rest(self) -> bytes:
        """Return 20 ms of silence. It is encoded like any frame, since the codec adapts to each."""
        return self.encode(SILENCE)

    def close(self) -> None:
        """Do nothing: the garbage collector releases the codec."""


def _context(mode: Literal["r", "w"]) -> av.AudioCodecContext:
    context = av.CodecContext.create("g722", mode)
    context.sample_rate = RATE
    context.format = "s16"
    context.layout = "mono"
    return context
