"""The receive pipeline turns the caller's RTP packets into frames, in order and on time. Pure: time is an argument.

`ReceivePipeline` is one microphone. A packet in order becomes a frame immediately. `VoiceDecoder` waits for missing
packets (`jitter_buffer`), and rebuilds or conceals them. Where nothing is sent, `DtxSilence` inserts silence.

A sender may pause (discontinuous transmission, DTX). Browsers do so on request: they announce a pause by a packet
without content, and then send two packets in 420 ms (libopus; RFC 6716, 2.1.9); silence is inserted immediately.
Endpointing counts frames, so a microphone that stops sending without an announcement would keep a turn open forever. So
after 100 ms without a packet the gap is filled, first up to now, then with a frame every 20 ms. But if a sender that
announces its pauses leaves a gap unannounced, its network or its machine is late: half a second of that does not end
the utterance, and the gap is closed.

A lost packet just before one that came is rebuilt from the redundancy in the latter (FEC). The decoder conceals those
before it, up to `MAX_CONCEALED` in a row: beyond 100 ms an invented voice is worse than silence. Packets may be of any
length (2.5 to 120 ms); the output is always whole frames, and less than a frame stays behind. Silence is the object
`SILENCE`, so that a follower of the room's level can distinguish it from a recording.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from backend.media.clock import FRAME_S
from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, SILENCE, Frame
from backend.media.jitter_buffer import Delivery, JitterBuffer, Lost, Received, Silence
from backend.media.opus import BadPacket, OpusDecoder

MAX_CONCEALED = 5
"""The most lost packets in a row that are concealed; further ones are silence."""
SILENT_AFTER_S = 0.1
"""Seconds without audio before silence is put in its place; longer than the jitter worth waiting for."""
STALLED_AFTER_S = 0.5
"""Seconds to wait for a sender that announces its pauses; longer than the 420 ms after which it does so again."""
MOST_AT_ONCE = 50
"""The most frames of silence that are made together after a stall of this process."""
ROUNDING = 1e-6
"""The share of a frame by which a sum of 20 ms steps may fall short of a whole number of them."""


class PacketDecoder(Protocol):
    """Decodes one stream's payloads, in order, into 24 kHz mono PCM16; `samples` are counted at that rate."""

    clock: int
    """RTP timestamps a second."""
    empty_bytes: int
    """The most bytes of a payload that announces a pause."""

    def samples(self, payload: bytes) -> int:
        """Return the length of a payload in timestamps; 0 for one without sound."""

    def decode(self, payload: bytes, /) -> bytes:
        """Return the payload's sound. Raises `BadPacket`."""

    def recover(self, next_payload: bytes, samples: int, /) -> bytes:
        """Return the sound of the packet lost just before `next_payload`."""

    def conceal(self, samples: int, /) -> bytes:
        """Return a continuation of the latest sound."""

    def close(self) -> None:
        """Release the decoder's resources. Safe to call twice."""


class ReceivePipeline:
    """One microphone. From `due` on, call `expire` every 20 ms or so; at `lost_at` the caller counts as gone."""

    def __init__(
        self, now: float, *, lost_after_s: float, open_decoder: Callable[[], PacketDecoder] = OpusDecoder
    ) -> None:
        self._open_decoder = open_decoder
        self._decoder = VoiceDecoder(open_decoder=open_decoder)
        self._dtx = DtxSilence(now, ahead_s=0.0)
        self._lost_after_s = lost_after_s
        self._last_packet = now
        self._source: int | None = None
        self._filled = 0  # frames of silence put in since the last packet
        self.due = self._dtx.due
        """The moment from which `expire` may return frames."""

    def receive(self, source: int, sequence: int, timestamp: int, payload: bytes, now: float) -> list[Frame]:
        """Take a packet of stream `source` (SSRC) and return the frames it completes."""
        if self._source is not None and source != self._source:
            self._decoder.close()
            self._decoder = VoiceDecoder(open_decoder=self._open_decoder)
        self._source = source
        self._last_packet = now
        jitter = self._decoder.jitter
        lost = jitter.lost
        frames = self._decoder.receive(sequence, timestamp, payload, now)
        if self._filled:
            frames = self._without_filled(frames)
        elif self._dtx.stalled and jitter.lost == lost:  # otherwise a word may have been lost
            frames = [frame for frame in frames if frame is not SILENCE]
        self._delivered(frames, now)
        return frames

    @property
    def lost_at(self) -> float:
        """The moment at which the caller counts as gone, if no packet comes before."""
        return self._last_packet + self._lost_after_s

    def expire(self, now: float) -> list[Frame]:
        """Return the frames that stop waiting for a missing packet, and the silence that is due: mostly nothing."""
        frames = self._decoder.expire(now)
        if frames:
            self._delivered(frames, now)
        silence = self._dtx.expire(now)
        self._filled += len(silence)
        self._set_due()
        return frames + silence

    def close(self) -> None:
        """Release the decoder. Safe to call twice."""
        self._decoder.close()

    def _delivered(self, frames: list[Frame], now: float) -> None:
        self._dtx.delivered(len(frames), now)
        if self._decoder.pausing:
            self._dtx.pause()
        self._set_due()

    def _set_due(self) -> None:
        self.due = -inf if self._decoder.jitter.held else self._dtx.due

    def _without_filled(self, frames: list[Frame]) -> list[Frame]:
        """Leave out silence that was inserted already: after a pause the decoder reports it once more."""
        repeated = 0
        while repeated < min(self._filled, len(frames)) and frames[repeated] == SILENCE:
            repeated += 1
        self._filled = 0
        return frames[repeated:]


class VoiceDecoder:
    """One caller's stream from packets to frames, by default of Opus (`MissingLibrary` without libopus).

    A packet that is not of the codec counts as a lost one, and one without a payload as no sound.
    """

    def __init__(self, max_wait_ms: int = 60, *, open_decoder: Callable[[], PacketDecoder] = OpusDecoder) -> None:
        self._decoder = open_decoder()
        self.jitter = JitterBuffer(max_wait_ms, clock=self._decoder.clock, samples_of=self._decoder.samples)
        self.pausing = False
        """True if the last packet announced a pause."""
        self._clock = self._decoder.clock
        self._empty_bytes = self._decoder.empty_bytes
        self._pending = bytearray()
        self._lost_in_a_row = 0

    def receive(self, sequence: int, timestamp: int, payload: bytes, now: float) -> list[Frame]:
        """Take one RTP packet and return the frames it completes."""
        if not self.jitter.pass_on(sequence, timestamp, payload):
            return self._play(self.jitter.push(sequence, timestamp, payload, now))
        pcm = self._decode(payload)
        if len(pcm) == FRAME_BYTES and not self._pending:  # one packet, one frame: nearly always
            return [Frame(pcm)]
        self._pending += pcm
        return self._cut()

    def expire(self, now: float) -> list[Frame]:
        """Return the frames that stop waiting for a missing packet."""
        return self._play(self.jitter.expire(now)) if self.jitter.held else []

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
                    self._pending += self._mend(self._here(samples), following)
                case Silence(samples):
                    frames += self._cut() + self._silence(2 * self._here(samples))
        return frames + self._cut()

    def _here(self, samples: int) -> int:
        """Return samples at 24 kHz for samples of the codec's clock."""
        return samples * SAMPLE_RATE // self._clock

    def _decode(self, payload: bytes) -> bytes:
        if not payload:
            return b""
        try:
            pcm = self._decoder.decode(payload)
        except BadPacket:
            return self._mend(480, None)
        self._lost_in_a_row = 0
        self.pausing = len(payload) <= self._empty_bytes
        return pcm

    def _mend(self, samples: int, following: Delivery | None) -> bytes:
        self._lost_in_a_row += 1
        try:
            if isinstance(following, Received):
                return self._decoder.recover(following.payload, samples)
            if self._lost_in_a_row <= MAX_CONCEALED:
                return self._decoder.conceal(samples)
        except BadPacket:
            pass  # the next packet has nothing of the lost one: silence
        return bytes(2 * samples)

    def _silence(self, size: int) -> list[Frame]:
        """Return the frames that `size` bytes of silence complete: `SILENCE` itself, unless sound waits before it."""
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


class DtxSilence:
    """The silence in place of missing audio: muted, paused (DTX) or stalled; see the theory above.

    It keeps the moment up to which audio has been delivered. The end of speech must not be known later by a pause than
    by packets: called every 20 ms, `expire` returns each frame at the last time before it is due. When the sender goes
    on, one frame of silence too many may have been returned.
    """

    def __init__(self, now: float, *, ahead_s: float) -> None:
        """Begin at `now`; `ahead_s` is the most seconds by which a sender may run ahead of time."""
        self._covered = now
        self._early = 0  # frames before their time
        self._wait_s = SILENT_AFTER_S
        self.due = now + SILENT_AFTER_S
        """The moment from which `expire` returns silence."""
        self._ahead_s = ahead_s

    @property
    def stalled(self) -> bool:
        """True if missing audio is late: the sender announces its pauses, and is not in one."""
        return self._wait_s == STALLED_AFTER_S and not self._early

    def delivered(self, frames: int, now: float) -> None:
        """Note that `frames` frames of real audio were delivered."""
        covered = self._covered + frames * FRAME_S
        if covered < now:
            covered = now
        elif covered > now + self._ahead_s:
            covered = now + self._ahead_s
        self._covered = covered
        self._early = 0
        self.due = self._covered + self._wait_s

    def pause(self) -> None:
        """Note that the sender has announced a pause."""
        self._early = 1
        self._wait_s = STALLED_AFTER_S
        self.due = self._covered

    def expire(self, now: float) -> list[Frame]:
        """Return the silence that is due at `now`."""
        if now < self.due:
            return []
        missing = max(1, int((now - self._covered) / FRAME_S + ROUNDING) + self._early)
        self._covered += missing * FRAME_S
        self.due = self._covered + (1 - self._early) * FRAME_S
        return [SILENCE] * min(missing, MOST_AT_ONCE)
