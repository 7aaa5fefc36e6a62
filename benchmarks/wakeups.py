"""The cost of a wake-up: `python -m benchmarks.wakeups`.

The server's half of a call for 20 ms (a packet in, detection, a packet out), driven by hand as in
`benchmarks.corridor`, but with sleep in between, as in a server that is not busy. Packets come singly, or several in a
row after one sleep as long as all of theirs together. A core that has slept has lost our code and data from its caches.
The table shows the cost of that, and so why `media.clock` reads and plays for many calls at one wake-up. CPU time; of
each wake-up the best of several rounds.
"""

import time
from collections.abc import Sequence
from statistics import fmean

import uvloop
from rich.console import Console
from rich.table import Table

from backend.media.endpointing import open_endpointing
from backend.media.opus import SILENCE_PACKET
from backend.settings.vad import VadSettings
from backend.testing.speech import frames_of
from benchmarks import speech
from benchmarks.half import Half, half_of
from benchmarks.microphone import packets_of

ROUNDS = 4
SLEEPS = 60
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
    async with half_of(max(IN_A_ROW), lambda: open_endpointing(VadSettings.model_validate({})).process) as half:
        voice = packets_of(frames_of(speech.questions()[0]))[:SLEEPS]
        silence = [SILENCE_PACKET] * SLEEPS
        return [(calls, _cost_us(half, silence, calls), _cost_us(half, voice, calls)) for calls in IN_A_ROW]


def _cost_us(half: Half, payloads: Sequence[bytes], calls: int) -> float:
    """Microseconds for a packet in and one out, with those of so many calls after each sleep."""
    rounds = [_times_ns(half, payloads, calls) for _ in range(ROUNDS)]
    return fmean(min(times) for times in zip(*rounds, strict=True)) / 1000 / calls


def _times_ns(half: Half, payloads: Sequence[bytes], calls: int) -> list[int]:
    times = []
    for payload in payloads:
        half.send(payload, calls)
        time.sleep(APART_S * calls)
        began = time.thread_time_ns()
        half.play(calls)
        half.read()
        times.append(time.thread_time_ns() - began)
    return times


if __name__ == "__main__":
    main()
