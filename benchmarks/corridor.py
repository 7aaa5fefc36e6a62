"""The server's own work for 20 ms of a call: `python -m benchmarks.corridor`.

Eight real calls are set up within this process (ICE, DTLS, SRTP over loopback), then stopped. `benchmarks.half` drives
the server's half by hand, in place of the media clock. Protected packets wait in its sockets and are read, a packet of
each call at a time; its slots are served; and the frames pass endpointing and the Responder's messages as in a call.
The benchmark measures the CPU time of each part, the kernel's work in the sockets included. So a machine that is too
busy for whole calls (`benchmarks.calls`) disturbs it little. Of every few packets the best of several rounds counts.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import uvloop
from rich.console import Console
from rich.table import Table

from backend.media.endpointing import open_endpointing
from backend.media.frame import FRAME_MS, Frame
from backend.media.opus import SILENCE_PACKET
from backend.media.send import CLEAN_AT_FIRST
from backend.responders.codec import RealtimeCodec, Voice
from backend.settings.vad import VadSettings
from backend.testing.speech import frames_of
from benchmarks import speech
from benchmarks.half import Half, half_of
from benchmarks.microphone import packets_of

CALLS = 8
ROUNDS = 8
PACKETS = 250
TOGETHER = 5
"""Packets timed together: reading the clock costs, too."""
Times = list[float]
Value = TypeVar("Value")
SPEAKING, HEARING = 0.48, 0.30
"""Shares of a call in which the callers of `benchmarks.calls` speak, and hear a voice."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of CPU for 20 ms."""

    name: str
    silence: float
    voice: float
    voiced: float
    """Share of a call's time with voice in this benchmark."""

    @property
    def mean(self) -> float:
        """The mean over a call."""
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
    heard: list[Frame] = []
    async with half_of(CALLS, lambda: heard.append) as half:
        return [*_inward(half, heard), *_outward(half)]


def _inward(half: Half, heard: list[Frame]) -> Iterable[Cost]:
    """Packets in, frames to the Responder."""
    voice = (packets_of(frames_of(speech.questions()[0])) * 10)[:PACKETS]
    silent = least(lambda: _arrive(half, [SILENCE_PACKET] * PACKETS))
    silence = heard[-PACKETS:]
    voiced = least(lambda: _arrive(half, voice))
    yield Cost("packet in: socket, SRTP, order, decode", silent, voiced, SPEAKING)
    frames = heard[-PACKETS * CALLS :: CALLS]
    endpointing = open_endpointing(VadSettings.model_validate({}))
    yield Cost(
        "endpointing: gate, detector, segmenter",
        least(lambda: timed(endpointing.process, silence)),
        least(lambda: timed(endpointing.process, frames)),
        SPEAKING,
    )
    codec = RealtimeCodec(Voice("model", "voice", "transcript"))
    pieces = [b"".join(frames[at : at + 3]) for at in range(0, PACKETS - 2, 3)]
    yield Cost("words for the Responder", 0.0, least(lambda: timed(codec.append, pieces)) / 3, SPEAKING)


def _arrive(half: Half, payloads: Sequence[bytes]) -> Times:
    """Read each packet together with those of the other calls."""
    times = []
    for payload in payloads:
        half.send(payload)
        began = time.thread_time_ns()
        half.read()
        times.append((time.thread_time_ns() - began) / len(half.calls))
    return times


def _outward(half: Half) -> Iterable[Cost]:
    """Slots: queue, encoder, SRTP, socket."""
    said = b"".join(frames_of(speech.questions()[0]) * 10)[: PACKETS * 960]
    for call in half.calls:
        for _ in range(CLEAN_AT_FIRST):
            call.transport._on_loss(0.0)  # a network that loses nothing

    def leave(item: str) -> Times:
        for call in half.calls:
            call.transport.flush()
            if item:
                call.transport.play(item, said)
        return [spent / len(half.calls) for spent in timed(lambda _: half.play(), range(PACKETS), 1)]

    items = iter(range(ROUNDS))
    silent = least(lambda: leave(""))
    voiced = least(lambda: leave(f"item {next(items)}"))
    yield Cost("packet out: playout, encode, SRTP, socket", silent, voiced, HEARING)


def timed(stage: Callable[[Value], object], inputs: Sequence[Value], together: int = TOGETHER) -> Times:
    """CPU time for one of `inputs`, the mean of so many together, in nanoseconds."""
    times = []
    for at in range(0, len(inputs), together):
        some = inputs[at : at + together]
        began = time.thread_time_ns()
        for value in some:
            stage(value)
        times.append((time.thread_time_ns() - began) / len(some))
    return times


def least(measure: Callable[[], Times]) -> float:
    """Microseconds: the mean over the parts of a round, each at its fastest."""
    rounds = [measure() for _ in range(ROUNDS)]
    return fmean(min(times) for times in zip(*rounds, strict=True)) / 1000


if __name__ == "__main__":
    main()
