"""What a wake-up costs: `python -m benchmarks.wakeups`.

The server's half of a call for 20 ms (a packet in, hearing, a packet out), driven by hand as in `benchmarks.corridor`,
but with sleep in between, as in a server that is not busy: packets come singly, or several in a row after one sleep
as long as all of theirs together. A core that has slept has forgotten our code and data: the table says what that
costs, and so why `transports.beat` reads and plays for many calls at one wake-up. CPU time, the best of several rounds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import count

import uvloop
from rich.console import Console
from rich.table import Table

from backend.audio.opus import SILENCE_PACKET
from backend.client.webrtc import WebRTCCaller
from backend.session.hearing import Hearing, open_hearing
from backend.settings import VadSettings
from backend.transports.aiortc_media import PacketReceiver
from backend.transports.webrtc import WebRTCTransport, accept_offer
from backend.transports.wire import WireConfig
from benchmarks import speech
from benchmarks.corridor import Datagrams, stop_clock

ROUNDS = 3
PACKETS = 320
APART_S = 0.0025
"""Between two packets of eight calls, on average."""
IN_A_ROW = (1, 2, 4, 8, 16)


def main() -> None:
    """Measure, and print the table."""
    table = Table("packets after one sleep", "silence µs", "voice in, silence out µs", title="20 ms of one call")
    for in_a_row, silence, voice in uvloop.run(measure()):
        table.add_row(str(in_a_row), f"{silence:.0f}", f"{voice:.0f}")
    Console().print(table)


async def measure() -> list[tuple[int, float, float]]:
    """Packets in a row, and microseconds for each kind."""
    caller = WebRTCCaller()
    answer, transport = await accept_offer(await caller.offer(), WireConfig())
    try:
        await caller.accept(answer)
        await caller.connected()
        await asyncio.sleep(0.2)
        stop_clock()
        return list(_rows(Half(transport), Datagrams(caller)))
    finally:
        await transport.close()
        await caller.close()


class Half:
    """The server's half of a call, by hand."""

    def __init__(self, transport: WebRTCTransport) -> None:
        receiver = transport._peer._transceiver.receiver
        assert isinstance(receiver, PacketReceiver)
        self._take = receiver._take_datagram
        self._inbox = transport._inbox
        self._sender = transport._peer._sender
        self._hearing: Hearing = open_hearing(VadSettings.model_validate({}))
        self._slots = count()

    def serve(self, data: bytes) -> None:
        """20 ms."""
        self._take(data, 1)
        self._hearing.hear(self._inbox._frames.pop())
        self._sender._play(next(self._slots))


def _rows(half: Half, datagrams: Datagrams) -> Iterator[tuple[int, float, float]]:
    voice = (speech.packets(speech.questions()[0]) * 10)[:PACKETS]
    for in_a_row in IN_A_ROW:
        silent = _least_us(half, datagrams, [SILENCE_PACKET] * PACKETS, in_a_row)
        yield in_a_row, silent, _least_us(half, datagrams, voice, in_a_row)


def _least_us(half: Half, datagrams: Datagrams, payloads: Sequence[bytes], in_a_row: int) -> float:
    return min(_cost_us(half, datagrams.of(payloads), in_a_row) for _ in range(ROUNDS))


def _cost_us(half: Half, packets: Sequence[bytes], in_a_row: int) -> float:
    spent = 0
    for at in range(0, len(packets), in_a_row):
        time.sleep(APART_S * in_a_row)
        began = time.thread_time_ns()
        for data in packets[at : at + in_a_row]:
            half.serve(data)
        spent += time.thread_time_ns() - began
    return spent / 1000 / len(packets)


if __name__ == "__main__":
    main()
