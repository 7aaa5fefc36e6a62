"""From RTP packets to frames: reorder, decode, conceal, cut into 20 ms. The caller's microphone, made even.

Theory. The jitter buffer says in which order things happened; this turns each into sound. A lost packet just
before one that came is rebuilt from the redundancy in the latter (FEC), the ones before it are concealed by the
decoder, up to `MAX_CONCEALED` in a row: beyond 100 ms a made-up voice is worse than silence. A pause the sender
made (discontinuous transmission) becomes silence, known only at its end: a transport that has filled the pause by
its clock, since endpointing cannot wait that long, leaves it out. It is `SILENCE` itself, so that whoever follows how
loud the room is can tell it from a recording. Packets may be of any length (2.5 to 120 ms); what comes out is always
whole frames, and less than a frame stays behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from backend.media.jitter_buffer import Delivery, JitterBuffer, Lost, Received, Silence
from backend.media.opus import EMPTY_BYTES, BadPacket, OpusDecoder

MAX_CONCEALED = 5
"""Lost packets in a row that are made up; further ones are silence."""


class VoiceDecoder:
    """One caller's stream. Raises `MissingLibrary` without libopus; a bad packet is only a lost one."""

    def __init__(self, max_wait_ms: int = 60) -> None:
        self.jitter = JitterBuffer(max_wait_ms)
        self.bad_packets = 0
        self.pausing = False
        """Whether the last packet said that nothing follows."""
        self._decoder = OpusDecoder()
        self._pending = bytearray()
        self._lost_in_a_row = 0

    def __repr__(self) -> str:
        return f"VoiceDecoder({self.jitter!r}, bad {self.bad_packets})"

    def receive(self, sequence: int, timestamp: int, payload: bytes, now: float) -> list[Frame]:
        """Take one RTP packet; the frames it completes."""
        if not self.jitter.pass_on(sequence, timestamp, payload):
            return self._play(self.jitter.push(sequence, timestamp, payload, now))
        pcm = self._decode(payload)
        if len(pcm) == FRAME_BYTES and not self._pending:  # one packet, one frame: nearly always
            return [Frame(pcm)]
        self._pending += pcm
        return self._cut()

    def expire(self, now: float) -> list[Frame]:
        """The frames that stop waiting for a missing packet; call it often while it is `waiting`."""
        return self._play(self.jitter.expire(now))

    @property
    def waiting(self) -> bool:
        """Whether a packet is missing, so that `expire` may have something to give."""
        return bool(self.jitter.held)

    def close(self) -> None:
        """Release the native decoder. Safe to call twice."""
        self._decoder.close()

    def _play(self, deliveries: Sequence[Delivery]) -> list[Frame]:
        frames: list[Frame] = []
        for index, delivery in enumerate(deliveries):
            match delivery:
                case Received(payload):
                    self._pending += self._decode(payload)
                case Lost(samples):
                    following = deliveries[index + 1] if index + 1 < len(deliveries) else None
                    self._pending += self._mend(samples // 2, following)
                case Silence(samples):
                    frames += self._cut() + self._silence(samples // 2 * 2)
        return frames + self._cut()

    def _decode(self, payload: bytes) -> bytes:
        if not payload:
            return b""
        try:
            pcm = self._decoder.decode(payload)
        except BadPacket:
            self.bad_packets += 1
            return self._mend(480, None)
        self._lost_in_a_row = 0
        self.pausing = len(payload) <= EMPTY_BYTES
        return pcm

    def _mend(self, samples: int, following: Delivery | None) -> bytes:
        self._lost_in_a_row += 1
        try:
            if isinstance(following, Received):
                return self._decoder.recover(following.payload, samples)
            if self._lost_in_a_row <= MAX_CONCEALED:
                return self._decoder.conceal(samples)
        except BadPacket:
            self.bad_packets += 1
        return bytes(2 * samples)

    def _silence(self, size: int) -> list[Frame]:
        """The frames that `size` bytes of it complete: `SILENCE` itself, unless some sound is left in front of them."""
        if self._pending:
            self._pending += bytes(size)
            return self._cut()
        whole, rest = divmod(size, FRAME_BYTES)
        self._pending += bytes(rest)
        return [SILENCE] * whole

    def _cut(self) -> list[Frame]:
        whole = len(self._pending) - len(self._pending) % FRAME_BYTES
        frames = [Frame(bytes(self._pending[at : at + FRAME_BYTES])) for at in range(0, whole, FRAME_BYTES)]
        del self._pending[:whole]
        return frames
