"""The scripted peer: a WebSocket server with the rules of the Live API, as far as they are documented.

A wrong message ends the connection with code 1007 and the fault as its reason, as is reported of the API
(python-genai issue 1720, pipecat issues 1347 and 4403); its reference names no codes.
"""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from backend.extensions.gemini.schema import WrongMessage, parse

Message = dict[str, Any]
CHUNK_MS = 100
TONE = b"\x00\x10" * 12 + b"\x00\xf0" * 12
"""A millisecond at 24 kHz: one wave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """The content of one turn."""

    hear: str = ""
    text: str = ""
    sound_ms: int = 0
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    pace: float = 0.0
    """Seconds of real time for a second of sound; 0: as fast as possible."""
    played_s: float = 0.0
    """Seconds from `generationComplete` to `turnComplete`: the API waits as long as playing takes."""
    ends: bool = True
    """False: nothing follows its calls until they are answered."""
    go_away: str = ""
    """The announced time left, sent before the reply."""


@dataclass
class Session:
    """The state that outlives a connection."""

    contents: list[Message] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


@dataclass
class GeminiPeer:
    """Follows a script, one reply a turn, over any number of connections."""

    replies: list[ScriptedReply]
    url: str = ""
    resumes_in_s: float = 0.0
    """Seconds until it resumes a session."""
    received: list[tuple[int, Message]] = field(default_factory=list)
    """Every message with the number of its connection."""
    refused: list[str] = field(default_factory=list)
    connections: int = 0
    sessions: dict[str, Session] = field(default_factory=dict)
    """By handle."""

    async def serve_one(self, socket: ServerConnection) -> None:
        """Serve one connection."""
        self.connections += 1
        try:
            await _Conversation(self, socket, self.connections).run()
        except WrongMessage as error:
            self.refused.append(str(error))
            await socket.close(1007, str(error)[:120])
        except ConnectionClosed:
            pass


@asynccontextmanager
async def gemini_peer(*replies: ScriptedReply) -> AsyncIterator[GeminiPeer]:
    """A peer on a free port of this machine."""
    peer = GeminiPeer(list(replies))
    async with serve(peer.serve_one, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        peer.url = f"ws://127.0.0.1:{port}/live"
        yield peer


class _Conversation:
    def __init__(self, peer: GeminiPeer, socket: ServerConnection, number: int) -> None:
        self._peer = peer
        self._socket = socket
        self._number = number
        self._session = Session()
        self._speaking: asyncio.Task[None] | None = None
        self._active = False
        self._heard_bytes = 0
        self._open_calls: set[str] = set()

    async def run(self) -> None:
        first = await self._next()
        if "setup" not in first:
            raise WrongMessage("The first message is a setup")
        if handle := first["setup"]["sessionResumption"].get("handle"):
            if handle not in self._peer.sessions:
                raise WrongMessage("No session has this handle")
            self._session = self._peer.sessions[handle]
            await asyncio.sleep(self._peer.resumes_in_s)
        await self._say(setupComplete={})
        try:
            while True:
                await self._take(await self._next())
        finally:
            await self._hush()

    async def _next(self) -> Message:
        message = parse(await self._socket.recv())
        self._peer.received.append((self._number, message))
        return message

    async def _take(self, message: Message) -> None:
        match message:
            case {"setup": _}:
                raise WrongMessage("A setup is only the first message")
            case {"clientContent": said}:
                await self._interrupt()
                self._session.contents += said["turns"]
                if said["turnComplete"]:
                    self._answer()
            case {"toolResponse": {"functionResponses": results}}:
                for each in results:
                    if each["id"] not in self._open_calls:
                        raise WrongMessage(f"No open call is {each['id']}")
                    self._open_calls.remove(each["id"])
                    self._session.results.append(each["id"])
            case {"realtimeInput": {"audio": sound}}:
                if not self._active:
                    raise WrongMessage("Audio outside an activity")
                self._heard_bytes += len(b64decode(sound["data"]))
            case {"realtimeInput": spoken}:
                await self._listen("activityStart" in spoken, "activityEnd" in spoken)

    async def _listen(self, starts: bool, ends: bool) -> None:
        if (starts and self._active) or (ends and not self._active):
            raise WrongMessage("Activities begin and end in turn")
        if starts:
            await self._interrupt()
            self._active, self._heard_bytes = True, 0
        if ends:
            if not self._heard_bytes:
                raise WrongMessage("No turn to complete")
            self._active = False
            self._answer()

    async def _interrupt(self) -> None:
        if await self._hush():
            await self._say(serverContent={"interrupted": True})
            if self._open_calls:
                await self._say(toolCallCancellation={"ids": sorted(self._open_calls)})
                self._open_calls.clear()
            await self._say(serverContent={"turnComplete": True})

    async def _hush(self) -> bool:
        speaking, self._speaking = self._speaking, None
        if speaking is None or speaking.done():
            return False
        speaking.cancel()
        await asyncio.wait([speaking])
        return True

    def _answer(self) -> None:
        reply = self._peer.replies.pop(0) if self._peer.replies else ScriptedReply(text="Yes.", sound_ms=CHUNK_MS)
        self._speaking = asyncio.create_task(self._speak(reply))

    async def _speak(self, reply: ScriptedReply) -> None:
        if reply.go_away:
            await self._say(goAway={"timeLeft": reply.go_away})
        await self._say(sessionResumptionUpdate={"resumable": False})
        if reply.hear:
            await self._say(serverContent={"inputTranscription": {"text": reply.hear}})
        if reply.text:
            await self._say(serverContent={"outputTranscription": {"text": reply.text}})
        for at_ms in range(0, reply.sound_ms, CHUNK_MS):
            length_ms = min(CHUNK_MS, reply.sound_ms - at_ms)
            sound = {"mimeType": "audio/pcm;rate=24000", "data": TONE * length_ms}
            await self._say(serverContent={"modelTurn": {"parts": [{"inlineData": sound}]}})
            await asyncio.sleep(length_ms / 1000 * reply.pace)
        if reply.calls:
            calls = [{"id": f"call-{n}", "name": name, "args": args} for n, (name, args) in enumerate(reply.calls)]
            self._open_calls = {f"call-{number}" for number in range(len(calls))}
            await self._say(toolCall={"functionCalls": calls})
        if not reply.ends:
            return
        await self._say(serverContent={"generationComplete": True})
        await asyncio.sleep(reply.played_s)
        await self._say(serverContent={"turnComplete": True}, usageMetadata=self._usage(reply))
        handle = f"handle-{len(self._peer.sessions)}"
        self._peer.sessions[handle] = self._session
        await self._say(sessionResumptionUpdate={"resumable": True, "newHandle": handle})

    def _usage(self, reply: ScriptedReply) -> dict[str, Any]:
        """Twenty-five tokens for a second of sound, as the pricing page counts them."""
        heard, self._heard_bytes = self._heard_bytes * 25 // 32_000, 0
        return {"promptTokenCount": heard, "responseTokenCount": reply.sound_ms * 25 // 1000}

    async def _say(self, **message: Any) -> None:
        await self._socket.send(msgspec.json.encode(message))
