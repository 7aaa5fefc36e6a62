"""What each way to call takes, side by side: `python -m benchmarks.ways`, eight minutes.

One server, and one scripted provider that answers at once; the ways take turns, so that a disturbed machine meets all
of them. Told of each way:

- set-up: from the caller's first request until the caller may speak
- answer: from the last sound of a question to the first sound of its answer, both at the caller. The server waits for
  300 ms of silence before it takes a question for finished (`ENDPOINTING=eager`); all else is what the way adds.
- CPU: of the server's process, per call and second, while calls ask and listen in turns; less what it takes idle.

The callers are a page's own (`client`), stock aiortc, and bare sockets; they share the machine with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
from websockets.asyncio.client import connect

from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio, write_message
from backend.media import g711
from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, SILENCE, Frame
from benchmarks import phone, processes, speech
from benchmarks.figures import AUDIBLE, Spread, spread
from benchmarks.phone import PhoneCaller, spoken_by_telephone
from benchmarks.processes import Cores, usage
from benchmarks.record import Kind
from benchmarks.sip import free_port
from responder_thinker.caller import cut_frames
from responder_thinker.voice_call import Transport, VoiceCall, place_call
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.realtime_peer import RealtimePeer, realtime_peer, stock_peer
from tests.support.sip_phone import HERE, sip_phone
from tests.support.waiting import until

TONE_MS = 600
ROUNDS, QUESTIONS = 5, 3
AT_ONCE, BUSY_S, IDLE_S = 6, 12.0, 3.0
"""Calls, and seconds, in which CPU is measured."""
SETTLE_S = 0.6
ANSWER_WITHIN_S = 6.0
QUIET_S = 0.5
LOOK_S = 0.002
SLOT_S = 0.02
READY = '{"label":"rtvi-ai","type":"client-ready","id":"1","data":{"version":"1.0.0","about":{"library":"benchmark"}}}'


@dataclass(frozen=True, slots=True)
class Line:
    """A call that stands."""

    say: Callable[[bytes], object]
    """Speaks 24 kHz PCM16 in real time, from now on."""
    pieces: Callable[[int], Sequence[bytes]]
    """Given how many were seen before, the further pieces of 20 ms that were heard, as 24 kHz PCM16."""


Way = Callable[[str, int], AbstractAsyncContextManager[Line]]
"""The server's address and SIP's port → a call."""


@dataclass(slots=True)
class Found:
    """What was measured of one way."""

    setup_s: list[float] = field(default_factory=list)
    answer_s: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0


def is_loud(pcm: bytes) -> bool:
    """Return whether there is more than silence in it."""
    samples = memoryview(pcm).cast("h")
    return max(samples) > AUDIBLE or min(samples) < -AUDIBLE


class Sounds:
    """How many pieces with a sound were heard on a line so far."""

    def __init__(self, line: Line) -> None:
        self._pieces = line.pieces
        self._seen = self._loud = 0

    def __call__(self) -> int:
        further = self._pieces(self._seen)
        self._seen += len(further)
        self._loud += sum(map(is_loud, further))
        return self._loud


def cut(heard: bytes | bytearray, seen: int) -> list[bytes]:
    """Return the whole pieces of `heard` beyond those that were seen."""
    return [
        bytes(heard[at : at + FRAME_BYTES])
        for at in range(seen * FRAME_BYTES, len(heard) - FRAME_BYTES + 1, FRAME_BYTES)
    ]


def page(transport: Transport) -> Way:
    """The page's own protocol."""

    @asynccontextmanager
    async def way(url: str, _: int) -> AsyncIterator[Line]:
        async with place_call(url, transport=transport) as call, saying(call.say) as say:
            yield Line(say, lambda seen: _frames(call, seen))

    return way


def _frames(call: VoiceCall, seen: int) -> list[bytes]:
    received = call.received.frames
    return [received[at].frame for at in range(seen, len(received))]


@asynccontextmanager
async def realtime_socket(url: str, _: int) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over a WebSocket."""
    async with realtime_client(url) as client:
        await client.told("session.created")
        async with speaking(client.append) as say:
            yield Line(say, lambda seen: _sent(client, seen))


def _sent(client: RealtimeClient, seen: int) -> list[bytes]:
    if sum(map(len, client.sound.values())) < (seen + 1) * FRAME_BYTES:
        return []
    return cut(b"".join(client.sound.values()), seen)


@asynccontextmanager
async def realtime_webrtc(url: str, _: int) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over WebRTC."""
    async with realtime_peer(url) as peer:
        await peer.told("session.created")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


@asynccontextmanager
async def rtvi_webrtc(url: str, _: int) -> AsyncIterator[Line]:
    """RTVI over WebRTC."""

    async def answer(_: RealtimePeer, sdp: str) -> str:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            answered = await http.post("/api/rtvi/offer", json={"sdp": sdp, "type": "offer"})
        return str(answered.raise_for_status().json()["sdp"])

    async with stock_peer("chat", answer) as peer:
        await until(lambda: peer.channel.readyState == "open")
        peer.channel.send(READY)
        await peer.told("bot-ready")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


@asynccontextmanager
async def rtvi_socket(url: str, _: int) -> AsyncIterator[Line]:
    """RTVI over a WebSocket."""
    heard: list[bytes] = []
    ready = asyncio.Event()
    async with connect(f"{url.replace('http', 'ws', 1)}/api/rtvi", proxy=None, compression=None) as client:

        async def listen() -> None:
            async for message in client:
                frame = read_frame(bytes(message, "utf-8") if isinstance(message, str) else message)
                if isinstance(frame, AudioFrame):
                    heard.append(frame.pcm)
                elif frame is not None and b'"bot-ready"' in frame.text:
                    ready.set()

        listening = asyncio.create_task(listen())
        await client.send(write_message(READY.encode()))
        await ready.wait()
        async with speaking(lambda frame: client.send(write_audio(frame, SAMPLE_RATE))) as say:
            yield Line(say, lambda seen: heard[seen:])
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


@asynccontextmanager
async def twilio(url: str, _: int) -> AsyncIterator[Line]:
    """A telephone, through Twilio's media streams: G.711."""
    caller = PhoneCaller(url, time.monotonic_ns() % 10_000_000)
    await caller.place()
    decoder = g711.Decoder(phone.LAW)
    heard: list[bytes] = []

    def pieces(seen: int) -> list[bytes]:
        heard.extend(decoder.decode(payload) for _, payload in caller.heard.raw()[len(heard) :])
        return heard[seen:]

    try:
        async with saying(lambda pcm: caller.say(spoken_by_telephone(pcm), Kind.QUESTION)) as say:
            yield Line(say, pieces)
    finally:
        await caller.close()


@asynccontextmanager
async def sip(_: str, port: int) -> AsyncIterator[Line]:
    """A telephone by SIP: G.711."""
    async with sip_phone((HERE, port), number=f"+1555{time.monotonic_ns() % 10_000_000:07}") as telephone:
        status = await telephone.call()
        assert status == 200, f"The call was answered with {status}."
        yield Line(telephone.say, lambda seen: telephone.heard[seen:])


@asynccontextmanager
async def saying(speak: Callable[[bytes], Coroutine[Any, Any, None]]) -> AsyncIterator[Callable[[bytes], object]]:
    """Speak in the background; what is being said at the end is said first."""
    tasks: set[asyncio.Task[None]] = set()
    yield lambda pcm: tasks.add(asyncio.create_task(speak(pcm)))
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def speaking(send: Callable[[bytes], Awaitable[object]]) -> AsyncIterator[Callable[[bytes], object]]:
    """A microphone that sends a frame every 20 ms, silence included."""
    waiting: list[Frame] = []

    async def run() -> None:
        due = time.monotonic()
        while True:
            await send(waiting.pop(0) if waiting else SILENCE)
            due = max(due + SLOT_S, time.monotonic() - 5 * SLOT_S)  # who was held up does not send it all at once
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    task = asyncio.create_task(run())
    try:
        yield lambda pcm: waiting.extend(cut_frames(pcm))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


WAYS: dict[str, Way] = {
    "page, WebRTC": page("webrtc"),
    "page, WebSocket": page("ws"),
    "/v1/realtime/calls, WebRTC": realtime_webrtc,
    "/v1/realtime, WebSocket": realtime_socket,
    "RTVI, WebRTC": rtvi_webrtc,
    "RTVI, WebSocket": rtvi_socket,
    "telephone, Twilio": twilio,
    "telephone, SIP": sip,
}


async def ask(line: Line, sounds: Sounds, pcm: bytes) -> float:
    """Ask, listen to the end of the answer; return the seconds between the two."""
    before = sounds()
    line.say(pcm)
    said_at = time.monotonic() + len(pcm) / 2 / SAMPLE_RATE
    await asyncio.sleep(said_at - time.monotonic())
    heard = before
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while heard == before:
            await asyncio.sleep(LOOK_S)
            heard = sounds()
    answered_at = quiet_since = time.monotonic()
    while time.monotonic() < max(quiet_since + QUIET_S, answered_at + TONE_MS / 1000):
        await asyncio.sleep(SLOT_S)
        if sounds() != heard:
            heard, quiet_since = sounds(), time.monotonic()
    return answered_at - said_at


async def measure(url: str, pid: int, port: int, rounds: int) -> dict[str, Found]:
    """Place the calls, way by way and round by round; then several of each at once."""
    found = {name: Found() for name in WAYS}
    questions = speech.questions()
    for number in range(rounds + 1):
        for name, way in WAYS.items():
            began = time.monotonic()
            async with way(url, port) as line:
                setup_s = time.monotonic() - began
                await asyncio.sleep(SETTLE_S)
                sounds = Sounds(line)
                answers = [await ask(line, sounds, questions[each % len(questions)]) for each in range(QUESTIONS)]
            if number:  # the first round loads what is loaded at the first call
                found[name].setup_s.append(setup_s)
                found[name].answer_s += answers
    for name, way in WAYS.items():
        found[name].cpu_ms = await cpu_ms(url, pid, port, way)
    return found


async def cpu_ms(url: str, pid: int, port: int, way: Way) -> float:
    """Return the server's milliseconds of CPU per call and second of calls that ask one question after another."""
    before = usage(pid)
    await asyncio.sleep(IDLE_S)
    idle = usage(pid).since(before).cpu_s / IDLE_S
    questions = speech.questions()
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(way(url, port)) for _ in range(AT_ONCE)]
        await asyncio.sleep(SETTLE_S)

        async def talk(line: Line, number: int) -> None:
            sounds = Sounds(line)
            await asyncio.sleep(number * 0.5)
            while True:
                await ask(line, sounds, questions[number % len(questions)])

        before, began = usage(pid), time.monotonic()
        talks = [asyncio.create_task(talk(line, number)) for number, line in enumerate(lines)]
        await asyncio.sleep(BUSY_S)
        spent, lasted = usage(pid).since(before).cpu_s, time.monotonic() - began
        for task in talks:
            task.cancel()
        for ended in await asyncio.gather(*talks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
    return 1000 * (spent - idle * lasted) / lasted / AT_ONCE


def table(found: dict[str, Found]) -> str:
    """Return the figures as a Markdown table."""
    rows = [
        "| way | set-up ms, p50 / p95 | answer ms, p50 / p95 | server CPU, ms a call-second |",
        "|---|---:|---:|---:|",
    ]
    for name, each in found.items():
        setup, answer = spread(each.setup_s), spread(each.answer_s)
        rows.append(f"| {name} | {_two(setup)} | {_two(answer)} | {each.cpu_ms:.1f} |")
    return "\n".join(rows)


def _two(of: Spread) -> str:
    return f"{of.p50:.0f} / {of.p95:.0f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ways", description="Compare the ways to call.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, choices=range(1, 21), metavar="1-20")
    options = parser.parse_args()
    processes.leave_on_sigterm()
    cores, port = Cores.available(), free_port()
    reply = {"text": "An answer.", "tone": {"hz": 700, "ms": TONE_MS}}
    script = {"turns": [{"hear": "A question?", "reply": reply}], "loop": True}
    settings = phone.SETTINGS | {
        "ENDPOINTING": "eager",
        "SIP__ENABLED": "true",
        "SIP__HOST": HERE,
        "SIP__PORT": str(port),
        "SIP__PEERS": f"{HERE}/32",
        "IDLE_NUDGE_S": "0",
    }
    with (
        processes.provider(script, cores.others) as (provider_url, _),
        processes.server(provider_url, cores.server, settings) as (url, pid),
    ):
        processes.settle(pid, 20.0)
        os.sched_setaffinity(0, cores.others)
        print(
            f"{cores.described(1)}; {options.rounds} calls with {QUESTIONS} questions each, {AT_ONCE} at once for CPU"
        )
        print(table(asyncio.run(measure(url, pid, port, options.rounds))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
