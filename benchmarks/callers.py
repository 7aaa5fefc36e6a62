"""All callers of one run, in a process of their own: `python -m benchmarks.callers`, started by `benchmarks.calls`.

A plan comes in on standard input as one JSON line. Lines with the phase of the run go out, `{"phase": …}`, and at the
end one line with the whole `CallersReport`. The process ends when standard input closes, since its starter is gone.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum

import httpx2
import msgspec

from backend.errors import VoiceError
from backend.runtime import parent
from benchmarks import speech
from benchmarks.caller import CONNECT_WITHIN_S, MeasuredCaller
from benchmarks.conversation import OutOfStep, Voices, chatter, converse, fall_into_step, judge
from benchmarks.drained import CallersLoop
from benchmarks.measurements import CallersReport, CallMeasurements, Packets, encode
from benchmarks.microphone import spoken
from benchmarks.page_reader import PageReader
from benchmarks.phone import PhoneCaller, spoken_by_telephone
from responder_thinker.signalling import Signalling

SETTLE_S = 1.0
"""Seconds between the last call's set-up and the beginning of the measurement."""
LATENESS_EVERY_S = 0.05
ROUND_S = 8.0
PLACE_WITHIN_S, PLACE_EACH_S = 20.0, 0.3
"""Seconds for setting up all calls, whatever their number, and for each: three times the usual."""
FINISH_WITHIN_S = 40.0
"""Seconds for finishing a round that is running when time is up."""


class Talk(StrEnum):
    """The behaviour of callers."""

    ROUNDS = "rounds"
    """Ask, speak over the reply, hear the answer: in step with the script of `conversation`."""
    CHATTER = "chatter"
    """Speak half the time, ignoring the replies: for servers that take no turns."""


class By(StrEnum):
    """How callers reach the server."""

    WEBRTC = "webrtc"
    TWILIO = "twilio"
    """By telephone, through a media stream: G.711."""


class Plan(msgspec.Struct):
    """The plan of a run."""

    url: str
    """The server."""
    calls: int
    seconds: float
    seed: int = 1
    soak: bool = False
    """Go on after a failure until time is up, and leave growing lists out of the report."""
    talk: Talk = Talk.ROUNDS
    by: By = By.WEBRTC

    def caller(self, number: int) -> MeasuredCaller:
        """Return a caller before their first call."""
        return PhoneCaller(self.url, number) if self.by is By.TWILIO else MeasuredCaller(soak=self.soak)


@dataclass(slots=True)
class Call:
    """A caller, and the event stream of their page."""

    http: httpx2.AsyncClient
    caller: MeasuredCaller
    page: PageReader = field(default_factory=PageReader)

    async def place(self) -> None:
        """Connect, and read the page's events as a page would. Raises `VoiceError`, `TimeoutError`."""
        if isinstance(self.caller, PhoneCaller):
            await self.caller.place()
            return
        ticket = await self.caller.connect(Signalling(self.http))
        await self.page.open(str(self.http.base_url), ticket, CONNECT_WITHIN_S)

    async def close(self) -> None:
        """Hang up."""
        self.page.close()
        await self.caller.close()

    def judged(self, soak: bool) -> CallMeasurements:
        """The record of the call, its sound decoded."""
        judge(self.caller)
        self.caller.record.turn_metrics, self.caller.record.discarded = self.page.turn_metrics(), self.page.discarded
        self.caller.record.transcribed, self.caller.record.shown = self.page.transcribed(), self.page.shown()
        if soak:
            self.caller.record.packets = Packets()
        return self.caller.record


async def run(plan: Plan) -> CallersReport:
    """Place the calls one after another, let them talk, hang up, and then judge the received sound."""
    voices = _voices(plan)
    limits = httpx2.Limits(max_keepalive_connections=0)  # as different callers have: several processes share them
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(base_url=plan.url, trust_env=False, limits=limits))
        calls = [Call(http, plan.caller(number)) for number in range(plan.calls)]
        until = asyncio.get_running_loop().time() + PLACE_WITHIN_S + PLACE_EACH_S * plan.calls
        for call in calls:
            stack.push_async_callback(call.close)
            await _placed(call, until)
        gc.collect()
        gc.freeze()
        say_phase("connected")
        await asyncio.sleep(SETTLE_S)
        began, ended, lateness = await _measure(plan, calls, voices)
    return CallersReport([call.judged(plan.soak) for call in calls], began, ended, lateness)


def _voices(plan: Plan) -> Voices:
    """Return the speech of all callers."""
    heard_as = spoken if plan.by is By.WEBRTC else spoken_by_telephone
    return Voices([heard_as(pcm) for pcm in speech.questions()], [heard_as(pcm) for pcm in speech.interruptions()])


async def _placed(call: Call, until: float) -> None:
    """Call once, or again after a failure: a full server makes some wait, and the others go on."""
    try:
        async with asyncio.timeout_at(until):
            await call.place()
    except (VoiceError, TimeoutError, OSError) as error:
        call.caller.record.trouble = f"A call could not be placed: {str(error) or 'it took too long.'}"
        call.caller.record.troubles += 1


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _measure(plan: Plan, calls: list[Call], voices: Voices) -> tuple[float, float, list[float]]:
    """The beginning and end of the measurement, and how late our loop was."""
    began = time.monotonic()
    say_phase("measuring")
    lateness: list[float] = []
    ticking = asyncio.create_task(_tick(lateness))
    talks = [
        asyncio.create_task(_talk(call, number, plan, voices, began + plan.seconds))
        for number, call in enumerate(calls)
    ]
    await asyncio.sleep(plan.seconds)
    ended = time.monotonic()
    say_phase("measured")
    await asyncio.wait(talks, timeout=FINISH_WITHIN_S)
    for task in (*talks, ticking):
        await _end(task)
    return began, ended, lateness


async def _talk(call: Call, number: int, plan: Plan, voices: Voices, until: float) -> None:
    """Talk, staggered over one round, so that calls are in every part of it. A soak places lost calls again."""
    await asyncio.sleep(ROUND_S * number / plan.calls)
    chance, caller, out_of_step = random.Random(plan.seed * 1000 + number), call.caller, False
    while True:
        try:
            if not caller.stands:
                if not plan.soak:
                    return
                await call.close()
                await call.place()
            if out_of_step:
                await fall_into_step(caller, voices, chance)
            out_of_step = False
            match plan.talk:
                case Talk.ROUNDS:
                    await converse(caller, voices, until, chance)
                case Talk.CHATTER:
                    await chatter(caller, voices, until, chance)
        except (VoiceError, TimeoutError, OSError) as error:
            caller.record.trouble = str(error) or type(error).__name__
            caller.record.troubles += 1
            out_of_step = isinstance(error, OutOfStep)
        if not plan.soak or time.monotonic() > until - ROUND_S:
            return
        await asyncio.sleep(1)


async def _tick(lateness: list[float]) -> None:
    while True:
        due = time.monotonic() + LATENESS_EVERY_S
        await asyncio.sleep(LATENESS_EVERY_S)
        lateness.append(max(0.0, time.monotonic() - due) * 1000)


def say_phase(phase: str) -> None:
    """Report the phase of the run to the starter."""
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
    with asyncio.Runner(loop_factory=CallersLoop) as runner:
        say(encode(runner.run(run(plan))))


if __name__ == "__main__":
    main()
