"""The jitter buffer puts RTP packets back in order and reports losses, without delaying packets that are in order.

Theory. On most networks most packets come in order, so a packet that is the next one is delivered immediately: no
delay is added as long as nothing is missing. When one is missing, later packets are held until it comes, or
until it is declared lost: after `max_wait_ms` of media is held behind it, or that much time has passed since
the first of them came. Then everything held is delivered together, and the delay is zero again. (A buffer that
paces its output by a clock would keep the delay of its worst moment for the rest of the call. No pacing
is needed: the audio goes to a detector and a model, not to a loudspeaker.)

It delivers, in the sender's order:

- `Received(payload)`: one packet;
- `Lost(samples)`: one packet that will not come, of its neighbours' length;
- `Silence(samples)`: time in which the sender sent nothing (discontinuous transmission): the sequence goes on but
  the timestamp jumps. At most one second of it is reported, since more would say nothing new.

A jump of more than `MAX_GAP` packets, forward or back, means that the sender started again: the held packets are
delivered and counting begins again at the new packet. Packets older than the last one delivered are dropped.

Sequence numbers are 16 bits and timestamps 32 bits of the codec's clock, which is 48 kHz for Opus and 8 kHz for G.711
and G.722; both wrap (RFC 3550, 3551, 7587).
"""

from collections.abc import Callable
from dataclasses import dataclass

RTP_CLOCK = 48_000
"""Timestamps a second of Opus, whatever its sample rate."""
MAX_GAP = 100
"""The longest jump in packets (2 s at 20 ms each) that is no restart. It also bounds the held packets."""
MAX_SILENCE_S = 1
"""The longest `Silence` that is reported, in seconds."""

_FRAME_SAMPLES_BY_CONFIG = (
    *(480, 960, 1920, 2880) * 3,  # SILK only
    *(480, 960) * 2,  # hybrid
    *(120, 240, 480, 960) * 4,  # CELT only
)
"""Samples in one frame by the five configuration bits of the first byte (RFC 6716, table 2)."""
_FRAMES_BY_CODE = (1, 2, 2, None)
"""Frames in a packet by the last two bits of its first byte; None: see the second byte (RFC 6716, 3.2)."""


@dataclass(frozen=True, slots=True)
class Received:
    """A packet, delivered in order."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """A packet that did not come in time, with its length in samples of the codec's clock."""

    samples: int


@dataclass(frozen=True, slots=True)
class Silence:
    """Time in which the sender sent nothing on purpose, in samples of the codec's clock."""

    samples: int


Delivery = Received | Lost | Silence


@dataclass(frozen=True, slots=True)
class _Held:
    timestamp: int
    payload: bytes
    arrived_at: float


class JitterBuffer:
    """The jitter buffer of one stream. Pure: `now` is an argument, in seconds of any steady clock."""

    def __init__(
        self,
        max_wait_ms: int = 60,
        *,
        clock: int = RTP_CLOCK,
        samples_of: Callable[[bytes], int] | None = None,
    ) -> None:
        """`clock`: timestamps a second; `samples_of`: the length of a payload in them, by default of an Opus packet."""
        self._samples_of = samples_of or packet_samples
        self._max_silence = clock * MAX_SILENCE_S
        self._max_wait_s = max_wait_ms / 1000
        self._max_wait_samples = max_wait_ms * clock // 1000
        self.held: dict[int, _Held] = {}
        """The packets that wait behind a missing one, by 16-bit sequence number."""
        self._next_sequence: int | None = None
        self._next_timestamp = 0
        self._last_duration = clock // 50
        self.lost = 0
        """The number of packets that did not come in time so far."""

    def pass_on(self, sequence: int, timestamp: int, payload: bytes) -> bool:
        """Return True if the packet is the next in order and nothing is held: then it need not be pushed."""
        if sequence != self._next_sequence or timestamp != self._next_timestamp or self.held:
            return False  # something is missing, or silence came before
        self._count(sequence, timestamp, payload)
        return True

    def push(self, sequence: int, timestamp: int, payload: bytes, now: float) -> list[Delivery]:
        """Take a packet and return the deliveries that become ready with it."""
        out: list[Delivery] = []
        if self._next_sequence is None:
            self._begin(sequence, timestamp)
        elif abs(_difference(sequence, self._next_sequence, 16)) > MAX_GAP:
            self._give_up(out, everything=True)
            self._begin(sequence, timestamp)
        if self._is_old(sequence):
            return out
        self.held[sequence] = _Held(timestamp, payload, now)
        self._deliver(out)
        while self.held and sum(self._samples_of(one.payload) for one in self.held.values()) >= self._max_wait_samples:
            self._give_up(out)
        return out

    def expire(self, now: float) -> list[Delivery]:
        """Declare packets lost of which the deadline has passed; return the deliveries that become ready."""
        out: list[Delivery] = []
        while (deadline := self.deadline()) is not None and deadline <= now:
            self._give_up(out)
        return out

    def deadline(self) -> float | None:
        """Return when to call `expire`; None while nothing is missing."""
        if not self.held:
            return None
        return min(held.arrived_at for held in self.held.values()) + self._max_wait_s

    def _begin(self, sequence: int, timestamp: int) -> None:
        self._next_sequence = sequence
        self._next_timestamp = timestamp

    def _is_old(self, sequence: int) -> bool:
        """Return whether the packet was delivered, declared lost, or is held already."""
        assert self._next_sequence is not None
        return sequence in self.held or _difference(sequence, self._next_sequence, 16) < 0

    def _deliver(self, out: list[Delivery]) -> None:
        """Append everything that is next in order."""
        while self._next_sequence is not None and (held := self.held.pop(self._next_sequence, None)) is not None:
            gap = _difference(held.timestamp, self._next_timestamp, 32)
            if gap > 0:
                out.append(Silence(min(gap, self._max_silence)))
            out.append(Received(held.payload))
            self._count(self._next_sequence, held.timestamp, held.payload)

    def _count(self, sequence: int, timestamp: int, payload: bytes) -> None:
        """Note a delivered packet, and the sequence number and timestamp that must come next."""
        duration = self._samples_of(payload)
        self._last_duration = duration or self._last_duration
        self._next_timestamp = (timestamp + duration) & 0xFFFFFFFF
        self._next_sequence = (sequence + 1) & 0xFFFF

    def _give_up(self, out: list[Delivery], *, everything: bool = False) -> None:
        """Declare the packets before the first held one lost, and deliver from there on."""
        while self.held:
            first = min(self.held, key=self._ahead)
            missing, timestamp = self._ahead(first), self.held[first].timestamp
            out += [Lost(self._last_duration)] * missing
            self.lost += missing
            # The lost packets end where we guess, but at most where the next one begins.
            guess = (self._next_timestamp + missing * self._last_duration) & 0xFFFFFFFF
            self._next_timestamp = guess if _difference(timestamp, guess, 32) > 0 else timestamp
            self._next_sequence = first
            self._deliver(out)
            if not everything:
                return

    def _ahead(self, sequence: int) -> int:
        assert self._next_sequence is not None
        return (sequence - self._next_sequence) & 0xFFFF


def packet_samples(payload: bytes) -> int:
    """Return the length of an Opus packet in samples at 48 kHz, from its first bytes; 0 if it is empty or cut short."""
    if not payload:
        return 0
    frames = _FRAMES_BY_CODE[payload[0] & 0b11]
    if frames is None:
        frames = payload[1] & 0b111111 if len(payload) > 1 else 0
    return frames * _FRAME_SAMPLES_BY_CONFIG[payload[0] >> 3]


def _difference(value: int, reference: int, bits: int) -> int:
    """Return `value - reference` on a circle of 2^bits, from -2^(bits-1) to 2^(bits-1) - 1."""
    half = 1 << (bits - 1)
    return ((value - reference + half) & ((1 << bits) - 1)) - half
