"""The packets of a caller's encoder, during speech and in the silence after it.

A browser that is asked for pauses (`usedtx=1` in the answer) sends silence for another 200 ms, then one packet without
content. Then it sends only such a pair in every 420 ms until its user speaks again. These callers do the same. libopus
makes further packets without content after the first of each row; they are left out, as libwebrtc does.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle

from backend.media.frame import SILENCE, Frame
from backend.media.opus import EMPTY_BYTES, SILENCE_PACKET, OpusEncoder
from backend.testing.speech import frames_of

AT_REST = 50
"""Silent frames encoded before an utterance, so that it begins as one in a call does."""
SETTLING = 10
"""Silent frames until the encoder pauses."""
PERIOD = 21
"""Frames after which its pause begins again."""
NOTHING = b""
"""Stands for a packet that is not sent."""


@dataclass(frozen=True, slots=True)
class Speech:
    """An encoded utterance, and the packets after it: `settling` once, then `pause` over and over."""

    packets: list[bytes]
    settling: list[bytes]
    pause: list[bytes]


@dataclass(frozen=True, slots=True)
class Spoken:
    """An utterance for callers of both kinds."""

    without_pauses: Speech
    with_pauses: Speech


def spoken(pcm: bytes) -> Spoken:
    """24 kHz mono PCM16, encoded both ways."""
    frames = frames_of(pcm)
    return Spoken(Speech(packets_of(frames), [], [SILENCE_PACKET]), with_pauses(frames))


def with_pauses(frames: Sequence[Frame]) -> Speech:
    """An utterance as a browser sends it that pauses in silence."""
    encoder = OpusEncoder(pauses=True)
    try:
        for _ in range(AT_REST):
            encoder.encode(SILENCE)
        packets = [encoder.encode(frame) for frame in frames]
        after = [encoder.encode(SILENCE) for _ in range(SETTLING + 2 * PERIOD)]
    finally:
        encoder.close()
    after = sent(after)
    return Speech(packets, after[:-PERIOD], after[-PERIOD:])


def sent(packets: Sequence[bytes]) -> list[bytes]:
    """Packets, with `NOTHING` for one without content after another."""
    before = [NOTHING.ljust(EMPTY_BYTES + 1), *packets]
    both_empty = (max(len(a), len(b)) <= EMPTY_BYTES for a, b in zip(before, packets, strict=False))
    return [NOTHING if empty else packet for empty, packet in zip(both_empty, packets, strict=True)]


class Microphone:
    """One caller's encoder: ask for the `next` packet every 20 ms."""

    def __init__(self) -> None:
        self._speech: deque[bytes] = deque()
        self._silence: Iterator[bytes] = cycle([SILENCE_PACKET])

    def say(self, spoken: Speech) -> None:
        """Speak from the next packet on."""
        self._speech.extend(spoken.packets)
        self._silence = chain(spoken.settling, cycle(spoken.pause))

    @property
    def left(self) -> int:
        """Packets of speech still to be sent."""
        return len(self._speech)

    def next(self) -> bytes:
        """The packet to send now, or `NOTHING`."""
        return self._speech.popleft() if self._speech else next(self._silence)

    def clear(self) -> None:
        """Stop speaking."""
        self._speech.clear()


def packets_of(frames: Sequence[Frame]) -> list[bytes]:
    """Return silent frames, encoded."""
    encoder = OpusEncoder()
    try:
        return [encoder.encode(frame) for frame in frames]
    finally:
        encoder.close()
