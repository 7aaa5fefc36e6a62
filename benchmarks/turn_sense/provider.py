"""The provider of a run: the offline server's Realtime protocol with a model that knows all spoken words and times.

`python -m benchmarks.turn_sense.provider` serves it. The callers report over HTTP which clip they begin to say, and
when. From the times of the appended sound it derives the words of a committed segment. 300 ms later it sends them as
the transcript, in lower case and without punctuation. It answers after the call's own delay, much faster than real
time, in tones. Each reply of a call has a pitch of its own, by which it is recognised in the caller's sound.
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec
import numpy as np
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from backend.extensions.local.app import answered
from backend.media.frame import SAMPLE_RATE, milliseconds
from backend.realtime.items import Item
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Order
from backend.realtime.serving.handler import Handler
from backend.realtime.serving.parts import (
    Begin,
    Call,
    End,
    HearingPart,
    ReplyPart,
    ReplySound,
    TranscriptDone,
    TranscriptGrew,
    Words,
)
from backend.responders.serving.completions import complete
from backend.responders.serving.server import ABORT, UvicornServer, listen
from backend.responders.serving.service import MODEL
from backend.responders.serving.shell import Connection
from backend.runtime import parent
from backend.testing.offline.connection_log import ConnectionLog
from backend.testing.offline.script.handler import words_of
from benchmarks.turn_sense import texts
from benchmarks.turn_sense.plan import Commit, ProviderLog, Reply, Word

TRANSCRIPT_S = 0.3
"""From a commit until its transcript."""
PACE = 10.0
"""How much faster than real time a reply is sent."""
CHUNK_MS = 100
TONES_HZ = tuple(range(300, 1300, 100))
"""One for each reply of a call, in turn; the codec keeps them apart."""
TONE_LEVEL = 0.15
CHARACTERS_PER_S = 15
WAIT_TOOL = "wait_for_user"
RUN_ENDS_S = 0.5
"""Seconds without appended sound, after which a new run begins."""
SLACK_S = 0.06
"""Seconds by which a word's middle may lie outside of the appended sound: the network, and frames that are not full."""


class Began(msgspec.Struct):
    """A caller's report: it begins to say a clip."""

    call: int
    scene: int
    clip: int
    at: float
    """On the steady clock."""
    words: list[Word]
    reply_ms: int
    follow_ms: int
    tool: bool
    prompt: str
    """How the reply ends."""


@dataclass(slots=True)
class Sounding:
    """A word on the steady clock."""

    id: str
    text: str
    who: str
    begin: float
    end: float
    taken: bool = False


@dataclass(slots=True)
class Run:
    """Sound that was appended without a gap: its beginning and its end."""

    begin: float
    end: float
    audio_s: float


class CallState:
    """One call: its clips, its appended sound, and its replies."""

    def __init__(self, number: int, delay_s: float) -> None:
        self.log = ProviderLog(number)
        self.delay_s = delay_s
        self.scene = Began(number, -1, 0, 0.0, [], 1000, 1000, False, "")
        self.replies: dict[str, Reply] = {}
        self.of_item: dict[str, list[Sounding]] = {}
        self._words: list[Sounding] = []
        self._runs: list[Run] = []

    def __repr__(self) -> str:
        return f"CallState({self.log.call}, scene {self.scene.scene}, {len(self.replies)} replies)"

    def begin(self, began: Began) -> None:
        """Record that the caller says a clip."""
        self.scene = began
        name = f"{began.scene}.{began.clip}"
        self._words += [
            Sounding(f"{name}.{number}", word.text, word.who, began.at + word.begin, began.at + word.end)
            for number, word in enumerate(began.words)
        ]

    def append(self, audio_ms: int) -> None:
        """Take appended sound."""
        now, last = time.monotonic(), self._runs[-1] if self._runs else None
        if last is None or now - last.end > RUN_ENDS_S:
            last = Run(now, now, 0.0)
            self._runs.append(last)
        last.audio_s += audio_ms / 1000
        last.begin, last.end = min(last.begin, now - last.audio_s), now

    def clear(self) -> None:
        """Drop the appended sound."""
        self._runs.clear()

    def take(self, item: Item) -> list[Sounding]:
        """The words of the committed segment."""
        found = [
            word
            for word in self._words
            if not word.taken
            and any(run.begin - SLACK_S < (word.begin + word.end) / 2 < run.end + SLACK_S for run in self._runs)
        ]
        for word in found:
            word.taken = True
        self._runs.clear()
        self.of_item[item.id] = found
        self.log.commits.append(Commit(time.monotonic(), item.audio_ms, " ".join(word.text for word in found)))
        return found

    def new_reply(self, order: Order, at: float) -> Reply:
        """Begin a requested reply."""
        words = [word for item in order.items for word in self.of_item.get(item.id, ())]
        reply = Reply(
            order.response_id,
            self.scene.scene,
            order.purpose or "",
            len(self.log.replies) % len(TONES_HZ),
            at,
            [word.id for word in words],
            [item.id for item in order.items if item.role == "assistant"],
        )
        newest = self._newest(order)
        typed = any(item.role == "user" and item.kind == "input_text" for item in _since_reply(order))
        here = f"{self.scene.scene}."
        into_reply = any(word.id.startswith(f"{here}1.") for word in words)
        reply.audio_ms = self.scene.follow_ms if into_reply or not newest else self.scene.reply_ms
        offered = any(tool.get("name") == WAIT_TOOL for tool in order.tools)
        reply.waits = self.scene.tool and offered and not typed and bool(newest)
        reply.waits = reply.waits and all(word.who == "aside" for word in newest)
        self.log.replies.append(reply)
        self.replies[reply.id] = reply
        return reply

    def _newest(self, order: Order) -> list[Sounding]:
        return [word for item in _since_reply(order) for word in self.of_item.get(item.id, ())]


def _since_reply(order: Order) -> list[Item]:
    """The conversation after the model's last contribution."""
    newest: list[Item] = []
    for item in reversed(order.items):
        if item.role == "assistant" or item.type != "message":
            break
        newest.append(item)
    return newest[::-1]


class SceneBrain(Handler):
    """The model."""

    def __init__(self, call: CallState) -> None:
        self._call = call

    def __repr__(self) -> str:
        return f"SceneBrain({self._call})"

    def transcribe(self, item: Item) -> AsyncIterator[HearingPart]:
        """The words that were said while this was recorded."""
        return _transcribed(" ".join(word.text for word in self._call.take(item)))

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """A tone of the scene's length, or a call of the tool for words to others."""
        return self._said(self._call.new_reply(order, time.monotonic()), order)

    async def _said(self, reply: Reply, order: Order) -> AsyncIterator[ReplyPart]:
        yield Begin()
        if order.items and order.items[-1].type == "function_call_output":
            yield End()
            return
        await asyncio.sleep(self._call.delay_s)
        if reply.waits:
            yield Call(WAIT_TOOL, "{}")
            yield End()
            return
        words, given = words_of(text_of(reply.audio_ms, self._call.scene.prompt)), 0
        began, sound = time.monotonic(), tone(TONES_HZ[reply.tone])
        for start in range(0, reply.audio_ms, CHUNK_MS):
            await asyncio.sleep(max(0.0, began + start / 1000 / PACE - time.monotonic()))
            share = -(-len(words) * (start + CHUNK_MS) // reply.audio_ms)
            for word in words[given:share]:
                yield Words(word)
            given = max(given, share)
            yield ReplySound(sound)
        for word in words[given:]:
            yield Words(word)
        yield End()


async def _transcribed(words: str) -> AsyncIterator[HearingPart]:
    await asyncio.sleep(TRANSCRIPT_S)
    for piece in words_of(words):
        yield TranscriptGrew(piece)
    yield TranscriptDone(words)


def text_of(audio_ms: int, prompt: str) -> str:
    """Words for so long a reply, with the scene's question at its end."""
    if prompt:
        return prompt
    if audio_ms < 2500:
        return texts.SHORT_REPLY
    return texts.REPLY[: audio_ms * CHARACTERS_PER_S // 1000].rsplit(" ", 1)[0] + "."


@cache
def tone(hertz: int) -> bytes:
    """One chunk; whole periods, so that chunks join."""
    time_s = np.arange(SAMPLE_RATE * CHUNK_MS // 1000) / SAMPLE_RATE
    wave = sum(np.sin(2 * np.pi * hertz * n * time_s) / n**2 for n in (1, 2, 3))
    return np.asarray(wave * TONE_LEVEL * 32767).astype("<i2").tobytes()


class SceneRecord(ConnectionLog):
    """Follows the messages on the wire."""

    def __init__(self, call: CallState) -> None:
        super().__init__(call.log.call)
        self._call = call

    def received(self, event: Any) -> None:
        """Take a client event."""
        kind = event.get("type") if isinstance(event, dict) else None
        counts = self._call.log.counts
        counts[str(kind)] = counts.get(str(kind), 0) + 1
        if kind == "input_audio_buffer.append":
            audio = event.get("audio", "")
            self._call.append(milliseconds(len(audio) * 3 // 4))
        elif kind == "input_audio_buffer.clear":
            self._call.clear()
        elif kind == "conversation.item.delete":
            for reply in self._call.log.replies:
                reply.deleted |= event.get("item_id") in reply.items

    def sent(self, event: dict[str, Any]) -> None:
        """Take a server event."""
        kind = event["type"]
        if kind == "response.output_audio.delta":
            reply = self._call.replies.get(event["response_id"])
            if reply and not reply.first_audio:
                reply.first_audio = time.monotonic()
        elif kind == "response.output_item.added":
            if reply := self._call.replies.get(event["response_id"]):
                reply.items.append(event["item"]["id"])
        elif kind == "response.done":
            done = event["response"]
            if reply := self._call.replies.get(done["id"]):
                reply.done, reply.status = time.monotonic(), done["status"]
                reply.tokens = done["usage"]["total_tokens"]
        elif kind == "error":
            self._call.log.errors.append(f"{event['error'].get('code')}: {event['error'].get('message')}")


@dataclass(slots=True)
class Provider:
    """All calls."""

    calls: dict[int, CallState] = field(default_factory=dict)
    awaited: CallState | None = None
    """The call of the next connection."""
    connected: dict[int, asyncio.Event] = field(default_factory=dict)
    unexpected: int = 0

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                WebSocketRoute("/v1/realtime", self._realtime),
                Route("/v1/chat/completions", _chat, methods=["POST"]),
                Route("/expect/{call:int}/{delay_ms:int}", self._expect, methods=["POST"]),
                Route("/connected/{call:int}", self._connected),
                Route("/began", self._began, methods=["POST"]),
                Route("/log", self._log),
            ]
        )

    async def _realtime(self, socket: WebSocket) -> None:
        state, self.awaited = self.awaited, None
        await socket.accept()
        if state is None:
            self.unexpected += 1
            state = CallState(-self.unexpected, 0.25)
        self.calls[state.log.call] = state
        self.connected.setdefault(state.log.call, asyncio.Event()).set()
        core = Realtime(MODEL)
        abort = socket.scope["extensions"][ABORT]
        await Connection(socket, core, SceneBrain(state), SceneRecord(state), abort=abort).run()

    async def _expect(self, request: Request) -> Response:
        self.awaited = CallState(request.path_params["call"], request.path_params["delay_ms"] / 1000)
        return Response()

    async def _connected(self, request: Request) -> Response:
        """Answer at the due time."""
        await self.connected.setdefault(request.path_params["call"], asyncio.Event()).wait()
        return Response()

    async def _began(self, request: Request) -> Response:
        began = msgspec.json.decode(await request.body(), type=Began)
        if state := self.calls.get(began.call):
            state.begin(began)
        return Response()

    async def _log(self, _: Request) -> Response:
        logs = [state.log for state in self.calls.values()]
        return Response(msgspec.json.encode(logs), media_type="application/json")


async def _chat(request: Request) -> Response:
    return await complete(await request.body(), MODEL, answered)


async def _serve(listening: socket.socket) -> None:
    server = UvicornServer(Provider().app())
    parent.when_gone(server.stop)
    print(json.dumps({"listening": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
    await server.serve(listening)


def main() -> None:
    """Serve on a free port of this machine, and print it."""
    uvloop.run(_serve(listen("127.0.0.1", 0)))


if __name__ == "__main__":
    main()
