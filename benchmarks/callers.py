"""All callers of one run, in a process of their own: `python -m benchmarks.callers`, started by `benchmarks.calls`.

A plan comes in on standard input as one JSON line; out go lines that say where the run stands, `{"phase": …}`, and
at the end one line with the whole `CallersReport`. When standard input closes, the starter is gone, and so are we.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import sys
import time
from contextlib import AsyncExitStack, aclosing

import httpx2
import msgspec
import uvloop

from backend.client.signalling import Signalling, Ticket
from backend.client.sse import page_events
from backend.errors import VoiceError
from backend.offline import parent
from benchmarks import speech
from benchmarks.caller import MeasuredCaller
from benchmarks.conversation import Voices, converse, judge
from benchmarks.record import CallersReport, Packets, encode

SETTLE_S = 1.0
"""Between the last call's set-up and the beginning of the measurement."""
LATENESS_EVERY_S = 0.05
ROUND_S = 8.0
FINISH_WITHIN_S = 40.0
"""A round that is under way when time is up is finished, within this."""


class Plan(msgspec.Struct):
    """What to do."""

    url: str
    """The server."""
    calls: int
    seconds: float
    seed: int = 1
    soak: bool = False
    """Go on after trouble until time is up, and leave out of the report what grows with time."""


async def run(plan: Plan) -> CallersReport:
    """Place the calls one after another, let them talk, hang up."""
    voices = Voices(
        [speech.packets(pcm) for pcm in speech.questions()], [speech.packets(pcm) for pcm in speech.interruptions()]
    )
    limits = httpx2.Limits(max_connections=plan.calls + 10)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(base_url=plan.url, trust_env=False, limits=limits))
        callers = [MeasuredCaller(keep=2 if plan.soak else None) for _ in range(plan.calls)]
        for caller in callers:
            stack.push_async_callback(caller.close)
            await _place(caller, http, stack)
        gc.collect()
        gc.freeze()
        say_phase("connected")
        await asyncio.sleep(SETTLE_S)
        return await _measure(plan, callers, voices)


async def _place(caller: MeasuredCaller, http: httpx2.AsyncClient, stack: AsyncExitStack) -> None:
    """Connect, and read the page's events as a page would."""
    ready = asyncio.Event()
    ticket = await caller.connect(Signalling(http))
    reading = asyncio.create_task(_read_page(caller, http, ticket, ready))
    stack.push_async_callback(_end, reading)
    async with asyncio.timeout(10):
        await ready.wait()


async def _read_page(caller: MeasuredCaller, http: httpx2.AsyncClient, ticket: Ticket, ready: asyncio.Event) -> None:
    async with aclosing(page_events(http, ticket)) as events:
        async for event in events:
            if event.type == "session_started":
                ready.set()
            elif event.type == "turn_metrics":
                legs = {name: value for name, value in event.data.items() if name.endswith("_ms")}
                caller.record.told.append(legs)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _measure(plan: Plan, callers: list[MeasuredCaller], voices: Voices) -> CallersReport:
    began = time.monotonic()
    say_phase("measuring")
    lateness: list[float] = []
    ticking = asyncio.create_task(_tick(lateness))
    talks = [
        asyncio.create_task(_talk(caller, number, plan, voices, began + plan.seconds))
        for number, caller in enumerate(callers)
    ]
    await asyncio.sleep(plan.seconds)
    ended = time.monotonic()
    say_phase("measured")
    await asyncio.wait(talks, timeout=FINISH_WITHIN_S)
    for task in (*talks, ticking):
        await _end(task)
    for caller in callers:
        judge(caller)
        if plan.soak:
            caller.record.packets = Packets()
    return CallersReport([caller.record for caller in callers], began, ended, lateness)


async def _talk(caller: MeasuredCaller, number: int, plan: Plan, voices: Voices, until: float) -> None:
    """Staggered over one round, so that calls are everywhere in it at any time."""
    await asyncio.sleep(ROUND_S * number / plan.calls)
    chance = random.Random(plan.seed * 1000 + number)
    while True:
        try:
            await converse(caller, voices, until, chance)
        except (VoiceError, TimeoutError) as error:
            caller.record.trouble = str(error) or type(error).__name__
        if not plan.soak or time.monotonic() > until - ROUND_S:
            return
        await asyncio.sleep(1)


async def _tick(lateness: list[float]) -> None:
    while True:
        due = time.monotonic() + LATENESS_EVERY_S
        await asyncio.sleep(LATENESS_EVERY_S)
        lateness.append(max(0.0, time.monotonic() - due) * 1000)


def say_phase(phase: str) -> None:
    """Tell the starter where the run stands."""
    say(msgspec.json.encode({"phase": phase}))


def say(line: bytes) -> None:
    """One line out."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Read the plan, run it, print the report."""
    logging.basicConfig(level="ERROR")
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    parent.when_gone(lambda: None)
    say(encode(uvloop.run(run(plan))))


if __name__ == "__main__":
    main()
