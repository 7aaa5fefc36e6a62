"""What a call cannot cost less than, with these parts: `python -m benchmarks.floor`.

Opus, SRTP, UDP, timers and the Responder's messages, each alone, as bare as Python lets them be: no WebRTC library, no
detector, no session. The sum is the floor of 20 ms of a call in which both sides speak; what `benchmarks.calls` shows
beyond it is what this server, its WebRTC library and its detector add. CPU time of this process, not wall time.
"""

from __future__ import annotations

import asyncio
import base64
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import msgspec
import uvloop
from aiortc.rtp import RtpPacket
from pylibsrtp import Policy, Session
from rich.console import Console
from rich.table import Table

from backend.media.frame import FRAME_MS
from backend.media.opus import OpusDecoder, OpusEncoder
from benchmarks import speech

ROUNDS = 3
KEY = bytes(range(30))
"""SRTP master key and salt."""
DATAGRAMS = 5000
SLEEPERS, SLEEP_S, SLEEPS = 100, 0.02, 50

Value = TypeVar("Value")
Part = tuple[str, float]


def main() -> None:
    """Measure every part and print the table."""
    frames = speech.frames(speech.questions()[0]) * ROUNDS
    encoder = OpusEncoder()
    packets = [encoder.encode(frame) for frame in frames]
    parts: list[Part] = [
        ("Opus decode", each(OpusDecoder().decode, packets)),
        ("Opus encode", each(OpusEncoder().encode, frames)),
        *srtp(packets),
        ("UDP out and in, through uvloop", uvloop.run(datagrams(packets[0]))),
        ("a timer, through uvloop", uvloop.run(timers())),
        ("a frame as JSON for the Responder", each(append_event, frames)),
        ("a frame as JSON from the Responder", each(msgspec.json.decode, [append_event(frame) for frame in frames])),
    ]
    total = sum(cost for _, cost in parts)
    table = Table("part", "µs of CPU", title=f"The floor of {FRAME_MS} ms of a call")
    for name, cost in parts:
        table.add_row(name, f"{cost:.1f}")
    table.add_row("together", f"{total:.1f}", style="bold")
    table.add_row("a call-second", f"{total / FRAME_MS:.1f} ms", style="bold")
    Console().print(table)


def each(stage: Callable[[Value], object], inputs: Sequence[Value]) -> float:
    """Median microseconds of one call of `stage`."""
    costs = []
    for value in inputs:
        began = time.thread_time_ns()
        stage(value)
        costs.append((time.thread_time_ns() - began) / 1000)
    return statistics.median(costs)


def srtp(payloads: Sequence[bytes]) -> list[Part]:
    """Protecting packets, and taking the protection off."""
    plain = [
        RtpPacket(payload_type=96, sequence_number=number, timestamp=number * 960, ssrc=1, payload=payload).serialize()
        for number, payload in enumerate(payloads)
    ]
    out = Session(Policy(key=KEY, ssrc_type=Policy.SSRC_ANY_OUTBOUND))
    protected: list[bytes] = []
    sending = each(lambda packet: protected.append(out.protect(packet)), plain)
    inward = Session(Policy(key=KEY, ssrc_type=Policy.SSRC_ANY_INBOUND))
    return [("SRTP out", sending), ("SRTP in", each(inward.unprotect, protected))]


def append_event(pcm: bytes) -> bytes:
    """The audio message of the Realtime protocol."""
    return msgspec.json.encode({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()})


class _Echo(asyncio.DatagramProtocol):
    """Sends itself what it gets, so many times."""

    def __init__(self, done: asyncio.Future[None]) -> None:
        self._left, self._done = DATAGRAMS, done
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)  # uvloop's is one in all but name

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._left -= 1
        if self._left:
            self.transport.sendto(data, addr)
        elif not self._done.done():
            self._done.set_result(None)


async def datagrams(payload: bytes) -> float:
    """Microseconds for one out and one in, with the loop's own work."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    transport, echo = await loop.create_datagram_endpoint(lambda: _Echo(done), local_addr=("127.0.0.1", 0))
    began = time.process_time_ns()
    transport.sendto(payload, transport.get_extra_info("sockname"))
    async with asyncio.timeout(10):
        await done
    echo.transport.close()
    return (time.process_time_ns() - began) / 1000 / DATAGRAMS


async def timers() -> float:
    """Microseconds for one wake-up of one of many sleepers."""

    async def sleeper() -> None:
        for _ in range(SLEEPS):
            await asyncio.sleep(SLEEP_S)

    began = time.process_time_ns()
    async with asyncio.TaskGroup() as group:
        for _ in range(SLEEPERS):
            group.create_task(sleeper())
    return (time.process_time_ns() - began) / 1000 / (SLEEPERS * SLEEPS)


if __name__ == "__main__":
    main()
