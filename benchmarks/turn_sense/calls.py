"""All callers of a run, in a process of their own: `python -m benchmarks.turn_sense.calls`, started by `run`.

A plan comes in on standard input as one JSON line. The calls' results go into files beside the plan's clips. The
process prints a line for each finished call, and at the end how late its own event loop was.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx2
import msgspec

from backend.errors import TransportLost, VoiceError
from backend.runtime import parent
from benchmarks.caller import MeasuredCaller
from benchmarks.callers import LATENESS_EVERY_S, say
from benchmarks.drained import CallersLoop
from benchmarks.measurements import Kind as SpokenAs
from benchmarks.microphone import Speech, Spoken
from benchmarks.phone import PhoneCaller
from benchmarks.turn_sense import render
from benchmarks.turn_sense.plan import IN_NOISE, NOBODY_CALLS, Call, CallResult, Clip, Played, Scene
from benchmarks.turn_sense.provider import Began
from responder_thinker.signalling import Signalling

REPLY_WITHIN_S = 4.0
"""Seconds for a reply to begin; a scene without one ends then."""
QUIET_PACKETS = 40
"""Seconds of silence after which a reply is over."""
QUIET_WITHIN_S = 14.0
AFTER_SECOND_S = 2.6
"""The least time for watching a reply after something was said into it."""
PLACE_WITHIN_S = 20.0

SETTLE_S = 0.6
ASK_EVERY_S = 0.5
ASK_WITHIN_S = 10.0


class Work(msgspec.Struct):
    """The work of the process."""

    url: str
    provider_url: str
    folder: str
    calls: list[Call]
    at_once: int
    seconds: float
    """Seconds after which no call begins, and running ones are hung up."""
    telephone: bool = False
    """Whether the callers telephone."""


class Lateness(msgspec.Struct):
    """The load of the machine, in milliseconds."""

    lateness_ms: list[float]
    """How late this process's event loop woke, every 50 ms."""
    server_ms: list[float]
    """The time of the server's answer to a health check, every half second: its event loop's lag, and a little more."""


async def run(work: Work) -> Lateness:
    """Make all calls, at most so many in parallel."""
    lateness: list[float] = []
    answered: list[float] = []
    waiting = list(reversed(work.calls))
    placing = asyncio.Lock()
    limits = httpx2.Limits(max_keepalive_connections=0)
    until = time.monotonic() + work.seconds
    async with (
        httpx2.AsyncClient(base_url=work.url, trust_env=False, limits=limits) as server,
        httpx2.AsyncClient(base_url=work.provider_url, trust_env=False) as provider,
    ):
        watching = [asyncio.create_task(_tick(lateness)), asyncio.create_task(_ask(server, answered))]

        async def work_off() -> None:
            while waiting and time.monotonic() < until:
                caller = OneCall(waiting.pop(), work, server, provider)
                result = await caller.made(placing, until)
                (Path(work.folder) / f"{result.number}.result").write_bytes(msgspec.msgpack.encode(result))
                say(msgspec.json.encode({"over": result.number, "trouble": result.trouble}))

        await asyncio.gather(*(work_off() for _ in range(work.at_once)))
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
    return Lateness(lateness, answered)


class OneCall:
    """One caller, through all scenes of its call."""

    def __init__(self, call: Call, work: Work, server: httpx2.AsyncClient, provider: httpx2.AsyncClient) -> None:
        self._call, self._server, self._provider = call, server, provider
        self._clips = render.read(Path(work.folder), call)
        self._caller = PhoneCaller(work.url, call.number) if work.telephone else MeasuredCaller()
        self._played: list[Played] = []

    def __repr__(self) -> str:
        return f"OneCall({self._call.number}, {len(self._played)} of {len(self._call.scenes)} scenes)"

    async def made(self, placing: asyncio.Lock, until: float) -> CallResult:
        """Place the call, go through its scenes, hang up."""
        trouble = ""
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await self._place(placing)
                await asyncio.sleep(SETTLE_S)
                for number in range(len(self._call.scenes)):
                    await self._play(number)
        except (VoiceError, TimeoutError, OSError, httpx2.HTTPError) as error:
            trouble = str(error) or "It took too long."
        finally:
            await self._caller.close()
        kept = self._caller.heard.raw()
        return CallResult(
            self._call.number, self._played, [at for at, _ in kept], [packet for _, packet in kept], trouble
        )

    async def _place(self, placing: asyncio.Lock) -> None:
        """One at a time, so that the provider knows the call of its next connection."""
        async with placing, asyncio.timeout(PLACE_WITHIN_S):
            await self._provider.post(f"/expect/{self._call.number}/{self._call.provider_ms}")
            if isinstance(self._caller, PhoneCaller):
                await self._caller.place()
            else:
                await self._caller.connect(Signalling(self._server))
            await self._provider.get(f"/connected/{self._call.number}")

    async def _play(self, number: int) -> None:
        """Play one scene. Raises `TransportLost` when the call is lost."""
        scene, clips = self._call.scenes[number], self._clips[number]
        await asyncio.sleep(scene.rest_s)
        played = Played(scene.number, time.monotonic(), [])
        self._played.append(played)
        try:
            if scene.kind in (*IN_NOISE, *NOBODY_CALLS):
                await self._say(number, 0, clips[0], played)
            elif len(clips) == 1:
                await self._say(number, 0, clips[0], played)
                await self._caller.until_audible("a reply", REPLY_WITHIN_S)
            else:
                await self._into_a_reply(number, scene, clips, played)
            await self._caller.until_quiet("the end of a reply", QUIET_PACKETS, QUIET_WITHIN_S)
        except TransportLost as error:
            if not self._caller.stands:
                raise
            played.trouble = str(error)
        finally:
            played.ended = time.monotonic()

    async def _into_a_reply(self, number: int, scene: Scene, clips: Sequence[Clip], played: Played) -> None:
        await self._say(number, 0, clips[0], played)
        await self._caller.until_audible("a reply", REPLY_WITHIN_S)
        await asyncio.sleep(scene.after_s)
        await self._say(number, 1, clips[1], played)
        await asyncio.sleep(AFTER_SECOND_S)

    async def _say(self, number: int, which: int, clip: Clip, played: Played) -> None:
        scene = self._call.scenes[number]
        following = self._call.scenes[number + 1] if number + 1 < len(self._call.scenes) else None
        began = Began(
            *(self._call.number, scene.number, which, time.monotonic() + 0.005, clip.words),
            *(scene.reply_ms, scene.follow_ms, scene.tool, following.prompt if following else ""),
        )
        telling = asyncio.create_task(self._provider.post("/began", content=msgspec.json.encode(began)))
        speech = Speech(clip.packets, clip.settling, clip.pause)
        await self._caller.say(Spoken(speech, speech), SpokenAs.QUESTION)
        said = self._caller.record.said[-1]
        played.said.append((said.began, said.ended))
        with suppress(httpx2.HTTPError):
            await telling


async def _tick(lateness: list[float]) -> None:
    while True:
        due = time.monotonic() + LATENESS_EVERY_S
        await asyncio.sleep(LATENESS_EVERY_S)
        lateness.append(max(0.0, time.monotonic() - due) * 1000)


async def _ask(server: httpx2.AsyncClient, answered: list[float]) -> None:
    while True:
        began = time.monotonic()
        with suppress(httpx2.HTTPError):
            await server.get("/healthz", timeout=ASK_WITHIN_S)
        answered.append(1000 * (time.monotonic() - began))
        await asyncio.sleep(ASK_EVERY_S)


def main() -> None:
    """Read the work, do it, print how late the loop was."""
    logging.basicConfig(level="ERROR")
    work = msgspec.json.decode(sys.stdin.buffer.readline(), type=Work)
    parent.when_gone(lambda: None)
    with asyncio.Runner(loop_factory=CallersLoop) as runner:
        say(msgspec.json.encode(runner.run(run(work))))


if __name__ == "__main__":
    main()
