"""Media in: the caller's RTP packets become frames, in order and on time. Pure: time is an argument.

A packet in order is a frame at once; what is missing is waited for, rebuilt or concealed by the decoder; where
nothing is sent, silence is put: at once if the sender said so, by a packet without content. Browsers do when they are
asked for discontinuous transmission, and then send two packets in 420 ms (libopus; RFC 6716, 2.1.9). Who does so and
leaves a gap without a word was held up in what it says: that gap is closed. Nothing for `lost_after_s` means that the
caller is gone.
"""

from __future__ import annotations

from backend.media.dtx import DtxSilence
from backend.media.frame import SILENCE, Frame
from backend.media.voice_decoder import VoiceDecoder


class ReceivePipeline:
    """One microphone. Call `expire` every 20 ms or so; give up at `lost_at`."""

    def __init__(self, now: float, *, lost_after_s: float) -> None:
        self._decoder = VoiceDecoder()
        self._dtx = DtxSilence(now, ahead_s=0.0)
        self._lost_after_s = lost_after_s
        self._last_packet = now
        self._source: int | None = None
        self._filled = 0  # frames of silence put in since the last packet
        self.packets = 0

    def __repr__(self) -> str:
        return f"ReceivePipeline({self.packets} packets, {self._decoder!r})"

    def receive(self, source: int, sequence: int, timestamp: int, payload: bytes, now: float) -> list[Frame]:
        """Take a packet of stream `source` (SSRC); the frames it completes."""
        if self._source is not None and source != self._source:
            self._decoder.close()
            self._decoder = VoiceDecoder()
        self._source = source
        self._last_packet = now
        self.packets += 1
        lost = self._decoder.jitter.lost
        frames = self._decoder.receive(sequence, timestamp, payload, now)
        if self._filled:
            frames = self._less_filled(frames)
        elif self._dtx.stalled and self._decoder.jitter.lost == lost:  # else the word may be what was lost
            frames = [frame for frame in frames if frame is not SILENCE]
        self._heard(frames, now)
        return frames

    @property
    def lost_at(self) -> float:
        """When to give up, if no packet comes before."""
        return self._last_packet + self._lost_after_s

    def expire(self, now: float) -> list[Frame]:
        """The frames that will not be waited for any longer, and the silence that is due: mostly nothing."""
        if now < self._dtx.due and not self._decoder.waiting:
            return []
        frames = self._decoder.expire(now)
        if frames:
            self._heard(frames, now)
        silence = self._dtx.expire(now)
        self._filled += len(silence)
        return frames + silence

    def close(self) -> None:
        """Release the decoder. Safe to call twice."""
        self._decoder.close()

    def stats(self) -> dict[str, int]:
        """Packets so far: taken, lost (concealed or not), too late, repeated, not Opus."""
        jitter = self._decoder.jitter
        return {
            "packets_in": self.packets,
            "lost": jitter.lost,
            "late": jitter.late,
            "duplicates": jitter.duplicates,
            "bad": self._decoder.bad_packets,
        }

    def _heard(self, frames: list[Frame], now: float) -> None:
        self._dtx.heard(len(frames), now)
        if self._decoder.pausing:
            self._dtx.pause()

    def _less_filled(self, frames: list[Frame]) -> list[Frame]:
        """After a pause the decoder tells its silence once more; leave out what has been put in already."""
        repeated = 0
        while repeated < min(self._filled, len(frames)) and frames[repeated] == SILENCE:
            repeated += 1
        self._filled = 0
        return frames[repeated:]
