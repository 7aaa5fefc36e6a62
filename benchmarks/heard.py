"""What a caller received: kept as it came during the run, decoded after it.

Decoding costs more than receiving, and a hundred callers share a core with the Responder. So a packet is put aside
with its moment, and all that is reported, loudness and chirps, is taken from decoded samples later. What a caller must
know at once, whether it hears somebody, shows well enough in a packet's length: silence takes few bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from backend.media.frame import SILENCE
from backend.media.opus import EMPTY_BYTES, SILENCE_PACKETS, BadPacket, OpusDecoder
from backend.transports.webrtc.srtp import read_packet
from benchmarks.figures import AUDIBLE
from benchmarks.measurements import Packets

SOUNDING_BYTES = 52
"""RTP packets of so many bytes are taken for sound while the call lasts: a voice has about 110, silence 30 to 34."""
RESTED_AFTER = 10
"""Silent packets after which a decoder has nothing left to ring on with."""
SOAK_PACKETS = 3000
"""How many packets, the newest, a soak keeps of each call: a minute."""


class Heard:
    """One call's packets, in the order of arrival."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: how many are kept, the newest; None: all."""
        self._at: deque[float] = deque(maxlen=most)
        self._packets: deque[bytes] = deque(maxlen=most)

    def __repr__(self) -> str:
        return f"Heard({len(self._at)} packets)"

    def keep(self, packet: bytes, at: float) -> bool:
        """Put an RTP packet aside. Returns whether somebody speaks in it, as far as its length tells."""
        self._at.append(at)
        self._packets.append(packet)
        return len(packet) >= SOUNDING_BYTES

    def raw(self) -> list[tuple[float, bytes]]:
        """Return what is kept: when each packet came, and the packet."""
        return list(zip(self._at, self._packets, strict=True))

    def decoded(self) -> Decoded:
        """All of it, decoded: 25 µs for every packet with a sound."""
        found = ((at, read_packet(packet)) for at, packet in zip(self._at, self._packets, strict=True))
        read = [(at, packet) for at, packet in found if packet is not None]
        sounds = list(_sounds(packet.payload for _, packet in read))
        packets = Packets(
            [at for at, _ in read],
            [packet.sequence_number for _, packet in read],
            [packet.timestamp for _, packet in read],
            [peak for peak, _ in sounds],
            [len(packet.payload) <= EMPTY_BYTES for _, packet in read],
        )
        full = len(self._at) == self._at.maxlen
        return Decoded(packets, [pcm for _, pcm in sounds], self._at[0] if full else 0.0)


class Decoded:
    """The same with its samples."""

    def __init__(self, packets: Packets, pcm: list[bytes], since: float) -> None:
        """`since`: what came before may have been thrown away."""
        self.packets = packets
        self._since = since
        self._pcm = pcm

    def __repr__(self) -> str:
        return f"Decoded({len(self._pcm)} packets)"

    @property
    def sounds(self) -> list[bytes]:
        """The sound of each packet: 24 kHz mono PCM16, empty where it could not be decoded."""
        return self._pcm

    def between(self, began: float, ended: float) -> bytes:
        """24 kHz mono PCM16 from the first audible packet after `began`; empty when that is no longer kept."""
        at, peaks = self.packets.at, self.packets.peak
        if began < self._since:
            return b""
        first, last = bisect_left(at, began), bisect_left(at, ended)
        audible = next((index for index in range(first, last) if peaks[index] > AUDIBLE), last)
        return b"".join(self._pcm[audible:last])


def _sounds(payloads: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The loudest sample and the sound of each. The server's prepared silence, two thirds of all, is known unheard."""
    decoder, quiet = OpusDecoder(), 0
    for payload in payloads:
        peak, pcm = 0, bytes(SILENCE)
        if payload not in SILENCE_PACKETS or quiet <= RESTED_AFTER:
            peak, pcm = _listen(decoder, payload)
        quiet = 0 if peak > AUDIBLE else quiet + 1
        yield peak, pcm
    decoder.close()


def _listen(decoder: OpusDecoder, payload: bytes) -> tuple[int, bytes]:
    try:
        pcm = decoder.decode(payload)
    except BadPacket:
        return 0, b""
    return int(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max(initial=0)), pcm
