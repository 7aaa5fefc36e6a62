"""What a caller hears when the provider dies in mid-answer: `python -m benchmarks.failover [--rounds 20]`.

Two scripted peers as processes, a serving process with both as its providers, and a real WebRTC call to it. In each
round the peer that serves the call begins a long answer, a tone of 440 Hz at the pace of speech, and is killed by
SIGKILL somewhere in its second second. The other one finishes the answer with a tone of 880 Hz. Then the dead one is
started again, at its address.

*silence* is the longest time without any sound between the kill and the end of the answer's rest, *to the answer* the
time from the last 440 Hz to the first 880 Hz, the server's own words in between included. An answer is lost when no
rest of it is heard, and doubled when it is heard twice, or the long tone again after the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from backend.media.frame import SAMPLE_RATE
from benchmarks.figures import percentile
from responder_thinker.caller import ReceivedFrame
from tests.support.mortal_peer import MortalPeer, mortal_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.waiting import until

BEGUN_HZ, REST_HZ = 440, 880
SCRIPT: dict[str, Any] = {
    "turns": [
        {"hear": "go on", "reply": {"text": "And the rest.", "tone": {"hz": REST_HZ, "ms": 600}, "pace": 1}},
        {"hear": "go on", "reply": {"text": "A long story.", "tone": {"hz": BEGUN_HZ, "ms": 8000}, "pace": 1}},
    ],
}
"""On a new connection the first answer is the rest of the one before; from then on there are long ones."""
PURITY = 0.7
"""Share of a frame's power that lies at the tone it is taken for."""
QUIET_S = 1.0
"""Seconds of quiet after which a round is over."""
WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Took:
    """One round, in seconds; nothing where the answer was lost."""

    silence: float
    to_answer: float | None
    rests: int
    begun_again: bool


async def main() -> None:
    """Measure, and print."""
    rounds = _rounds()
    with tempfile.TemporaryDirectory() as folder:
        async with (
            mortal_peer(Path(folder, "one.json"), SCRIPT) as one,
            mortal_peer(Path(folder, "two.json"), SCRIPT) as two,
        ):
            settings = {"RESPONDERS": "openai,local", "OFFLINE_URL": two.peer.url, "IDLE_NUDGE_S": "0"}
            with running_server(one.peer, **settings) as server:
                async with placed_call(server) as call:
                    took = [await _round(call, one, two) for _ in range(rounds)]
    _show(took)


async def _round(call: PlacedCall, one: MortalPeer, two: MortalPeer) -> Took:
    clock = asyncio.get_running_loop().time
    await _begin_long(call)
    await asyncio.sleep(random.uniform(1.0, 2.0))
    serving = one if _serving(call) == "OpenAI Realtime API" else two
    rests_before, killed = _rests(call), clock()
    serving.go()
    try:
        await until(lambda: _first(call, REST_HZ, killed) is not None, WITHIN_S)
        await call.hears_nothing_for(QUIET_S, WITHIN_S)
    except AssertionError:
        return Took(clock() - killed, None, 0, begun_again=False)
    finally:
        await serving.come()
    begun = [frame.at for frame in _since(call, killed - 1) if _is(frame, BEGUN_HZ)]
    rest = [frame.at for frame in _since(call, killed) if _is(frame, REST_HZ)]
    heard = [killed, *(frame.at for frame in _since(call, killed) if frame.audible and frame.at <= rest[-1])]
    return Took(
        max(later - earlier for earlier, later in pairwise(heard)),
        rest[0] - max(at for at in begun if at < rest[0]),
        _rests(call) - rests_before,
        any(at > rest[0] for at in begun),
    )


async def _begin_long(call: PlacedCall) -> None:
    """Ask until a long answer sounds: what a new connection answers first is short."""
    while True:
        asked = asyncio.get_running_loop().time()
        sent = await call.http.post(
            f"/api/sessions/{call.ticket.session_id}/messages",
            json={"text": "go on"},
            headers={"authorization": f"Bearer {call.ticket.token}"},
        )
        sent.raise_for_status()
        await until(_sounds(call, asked), WITHIN_S)
        if _first(call, BEGUN_HZ, asked) is not None:
            return
        await call.hears_nothing_for(QUIET_S, WITHIN_S)


def _sounds(call: PlacedCall, since: float) -> Callable[[], bool]:
    return lambda: any(_first(call, hz, since) is not None for hz in (BEGUN_HZ, REST_HZ))


def _serving(call: PlacedCall) -> str:
    """Who serves the call, as the page was told."""
    named = [e.data["responder"] for e in call.events if e.type in ("session_started", "responder_changed")]
    return str([name for name in named if name][-1])


def _rests(call: PlacedCall) -> int:
    return sum(data["content"] == "And the rest." for data in call.all_told("transcript"))


def _since(call: PlacedCall, since: float) -> list[ReceivedFrame]:
    return [frame for frame in call.caller.received.frames if frame.at > since]


def _first(call: PlacedCall, hz: int, since: float) -> float | None:
    return next((frame.at for frame in _since(call, since) if _is(frame, hz)), None)


def _is(frame: ReceivedFrame, hz: int) -> bool:
    """Whether a frame is that tone: most of its power is there."""
    samples = np.frombuffer(frame.frame, dtype="<i2").astype(float)
    power = float(np.dot(samples, samples))
    if not frame.audible:
        return False
    wave = np.exp(-2j * np.pi * hz * np.arange(len(samples)) / SAMPLE_RATE)
    return bool(2 * abs(np.dot(samples, wave)) ** 2 / len(samples) > PURITY * power)


def _rounds() -> int:
    parser = argparse.ArgumentParser(description="What a caller hears when the provider dies in mid-answer.")
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    return rounds


def _show(took: list[Took]) -> None:
    answered = [each.to_answer for each in took if each.to_answer is not None]
    table = Table("", "p50 s", "p95 s", "worst s", title=f"The provider dies in mid-answer, {len(took)} times")
    for name, figures in {"silence": [each.silence for each in took], "to the answer": answered}.items():
        ordered = sorted(figures)
        table.add_row(name, *(f"{percentile(ordered, share):.2f}" for share in (50, 95, 100)))
    Console().print(table)
    lost = len(took) - len(answered)
    doubled = sum(each.rests > 1 or each.begun_again for each in took)
    print(f"answers lost {lost}, doubled {doubled}; taken at {time.strftime('%H:%M')}")


if __name__ == "__main__":
    uvloop.run(main())
