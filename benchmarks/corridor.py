"""What the server itself does for 20 ms of a call, all of it and nothing else: `python -m benchmarks.corridor`.

A real call is set up within this process (ICE, DTLS, SRTP over loopback), then stopped, and the server's half is driven
by hand: protected packets are handed to it as its socket would, its slots are served as its clock would, and what it
heard is taken through hearing and the Responder's messages as a call would. Measured is the CPU time of each, so that a
busy machine, on which whole calls (`benchmarks.calls`) cannot be measured, disturbs little; the least of several rounds
is given. The system's sockets are real on the way out; on the way in their share is measured by `benchmarks.floor`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import uvloop
from rich.console import Console
from rich.table import Table

from backend.audio.frame import FRAME_MS, Frame
from backend.audio.opus import SILENCE_PACKET
from backend.client.webrtc import WebRTCCaller
from backend.responder.codec import RealtimeCodec, Voice
from backend.session.hearing import open_hearing
from backend.settings import VadSettings
from backend.transports.aiortc_media import PacketReceiver
from backend.transports.beat import current_beat
from backend.transports.repair import CLEAN_AT_FIRST
from backend.transports.rtp import write_packet
from backend.transports.webrtc import WebRTCTransport, accept_offer
from backend.transports.wire import WireConfig
from benchmarks import speech

ROUNDS = 7
PACKETS = 250
Value = TypeVar("Value")
SPEAKING, HEARING = 0.48, 0.30
"""Shares of a call in which `benchmarks.calls` has its callers speak, and hear a voice."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of CPU for 20 ms."""

    name: str
    silence: float
    voice: float
    voiced: float
    """Share of a call's time that is voice here."""

    @property
    def mean(self) -> float:
        """Over a call."""
        return self.voice * self.voiced + self.silence * (1 - self.voiced)


def main() -> None:
    """Measure, and print the table."""
    costs = uvloop.run(measure())
    table = Table("the server's work", "silence µs", "voice µs", "over a call µs", title=f"{FRAME_MS} ms of one call")
    for cost in costs:
        table.add_row(cost.name, f"{cost.silence:.1f}", f"{cost.voice:.1f}", f"{cost.mean:.1f}")
    total = sum(cost.mean for cost in costs)
    table.add_row("together", "", "", f"{total:.1f}", style="bold")
    table.add_row("a call-second", "", "", f"{total / FRAME_MS:.2f} ms", style="bold")
    Console().print(table)


async def measure() -> list[Cost]:
    """Every part of the corridor."""
    caller = WebRTCCaller()
    answer, transport = await accept_offer(await caller.offer(), WireConfig())
    try:
        await caller.accept(answer)
        await caller.connected()
        await asyncio.sleep(0.2)
        return [*_inward(transport, caller), *_outward(transport)]
    finally:
        await transport.close()
        await caller.close()


def _inward(transport: WebRTCTransport, caller: WebRTCCaller) -> Iterable[Cost]:
    """Packets in, frames to the Responder."""
    stop_clock()
    voice = (speech.packets(speech.questions()[0]) * 10)[:PACKETS]
    datagrams = Datagrams(caller)
    receiver = transport._peer._transceiver.receiver
    assert isinstance(receiver, PacketReceiver)
    take = receiver._take_datagram
    inbox = transport._inbox
    heard: list[Frame] = []

    def arrive(data: bytes) -> None:
        take(data, 1)
        heard.append(inbox._frames.pop())

    silent = least(arrive, lambda: datagrams.of([SILENCE_PACKET] * PACKETS))
    silence = heard[-PACKETS:]
    voiced = least(arrive, lambda: datagrams.of(voice))
    yield Cost("packet in: SRTP, order, decode, queue", silent, voiced, SPEAKING)
    frames = heard[-PACKETS:]
    hearing = open_hearing(VadSettings.model_validate({}))
    yield Cost(
        "hearing: gate, detector, segmenter",
        least(lambda frame: list(hearing.hear(frame)), lambda: silence),
        least(lambda frame: list(hearing.hear(frame)), lambda: frames),
        SPEAKING,
    )
    codec = RealtimeCodec(Voice("model", "voice", "transcript"))
    pieces = [b"".join(frames[at : at + 3]) for at in range(0, PACKETS - 2, 3)]
    yield Cost("words for the Responder", 0.0, least(codec.append, lambda: pieces) / 3, SPEAKING)


def _outward(transport: WebRTCTransport) -> Iterable[Cost]:
    """A slot: queue, encoder, SRTP, socket."""
    sender = transport._peer._sender
    slots = iter(range(1_000_000))
    said = b"".join(speech.frames(speech.questions()[0]) * 10)[: PACKETS * 960]

    def play(_: int) -> None:
        sender._play(next(slots))

    def talk() -> range:
        transport.flush()
        transport.play(f"item {next(slots)}", said)
        return range(PACKETS)

    for _ in range(CLEAN_AT_FIRST):
        transport._on_loss(0.0)  # a network that loses nothing
    transport.flush()
    silent = least(play, lambda: range(PACKETS))
    yield Cost("packet out: playout, encode, SRTP, socket", silent, least(play, talk), HEARING)


class Datagrams:
    """What the caller's socket would send."""

    def __init__(self, caller: WebRTCCaller) -> None:
        self._sender = caller.peer._sender
        self._sequence, self._timestamp = self._sender._sequence + 50, 10_000_000

    def of(self, payloads: Sequence[bytes]) -> list[bytes]:
        """Protected, in order."""
        return [self._next(payload) for payload in payloads]

    def _next(self, payload: bytes) -> bytes:
        sender = self._sender
        self._sequence, self._timestamp = (self._sequence + 1) & 0xFFFF, self._timestamp + 960
        packet = write_packet(sender._payload_type, self._sequence, self._timestamp, sender._ssrc, payload)
        return bytes(sender.transport._tx_srtp.protect(packet))


def least(stage: Callable[[Value], object], make: Callable[[], Iterable[Value]]) -> float:
    """Microseconds of CPU for one: the mean over a round, of the best round after a first one that warms up."""
    best = float("inf")
    for number in range(ROUNDS + 1):
        inputs = list(make())
        began = time.thread_time_ns()
        for value in inputs:
            stage(value)
        cost = (time.thread_time_ns() - began) / 1000 / len(inputs)
        best = min(best, cost) if number else best
    return best


def stop_clock() -> None:
    """No call plays by itself any more."""
    for phase in current_beat()._phases:
        for place in list(phase.places):
            place.leave()


if __name__ == "__main__":
    main()
