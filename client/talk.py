"""`responder-thinker talk`: place a call without a microphone, play a sound file, print and save what comes back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, Literal

import httpx2
from aiortc import RTCIceServer
from rich.console import Console

from backend.errors import TransportLost, VoiceError
from backend.media.frame import BYTES_PER_MS, milliseconds
from backend.media.wav import write_wav
from backend.transports.webrtc.ice import IceConfig
from client.audio_file import read_audio
from client.caller import Caller
from client.narrator import Narrator
from client.proof_of_work import ProvingWork
from client.signalling import Signalling, Ticket, page_events, restore_cookie, save_cookie
from client.webrtc import WebRTCCaller
from client.websocket import WebSocketCaller

LEAD_IN_MS = 300
"""Milliseconds of silence before the file, as before anybody's first word."""
CALL_WITHIN_S = 60.0
"""Seconds the call may last after the file has been played."""
SLACK_S = 10.0
"""Seconds the file may take longer than its length."""
LOOK_EVERY_S = 0.1
LAST_WORD_WITHIN_S = 1.0
"""Seconds the server has to say why it hung up."""

AT_WORK = frozenset({"routed", "working"})
NEWS = frozenset({"thinker", "transcript", "transcript_delta", "transcript_done", "transcript_interrupted", "error"})

HEARD_AN_ANSWER = 0
HEARD_NOTHING = 1
NOT_CONNECTED = 2


async def talk(
    file: Path,
    *,
    out: Path | None = None,
    url: str = "http://127.0.0.1:8000",
    transport: Literal["webrtc", "ws"] = "webrtc",
    conversation: str | None = None,
    cookies: httpx2.Cookies | None = None,
    quiet_after_s: float = 2.0,
    within_s: float = CALL_WITHIN_S,
    console: Console | None = None,
) -> int:
    """Play a sound file to the server at `url` and save what is heard to `out`; return 0 when an answer was heard.

    `conversation` continues one of ours, typed or spoken; without `cookies` we are whom the server knew last time.
    """
    narrator = Narrator(console or Console(highlight=False))
    try:
        speech = read_audio(file)
        async with (
            httpx2.AsyncClient(base_url=url, trust_env=False, cookies=cookies, auth=ProvingWork()) as http,
            AsyncExitStack() as stack,
        ):
            if conversation and cookies is None:
                restore_cookie(http)
            caller, ticket = await _place(Signalling(http), transport, stack, conversation)
            if conversation and cookies is None:
                save_cookie(http)
            narrator.connected(ticket.session_id, transport)
            progress = Progress(quiet_after_s)
            await _converse(
                http, ticket, caller, bytes(BYTES_PER_MS * LEAD_IN_MS) + speech, progress, narrator, within_s
            )
            await _hang_up(Signalling(http), ticket)
    except VoiceError as error:
        narrator.failed(error)
        return NOT_CONNECTED
    if out is not None:
        write_wav(out, caller.received.pcm())
    narrator.finished(progress.answered, out)
    return HEARD_AN_ANSWER if progress.answered else HEARD_NOTHING


async def _place(
    signalling: Signalling, transport: Literal["webrtc", "ws"], stack: AsyncExitStack, conversation: str | None
) -> tuple[Caller, Ticket]:
    """Return a connected caller, closed by `stack`."""
    if transport == "ws":
        socket = WebSocketCaller()
        stack.push_async_callback(socket.close)
        ticket = await signalling.open_session(conversation)
        await socket.connect(signalling.socket_url(ticket), ticket.token, headers=signalling.cookies())
        return socket, ticket
    peer = WebRTCCaller(IceConfig(ice_servers=_servers(await signalling.ice_servers())))
    stack.push_async_callback(peer.close)
    answer, ticket = await signalling.offer(await peer.offer(), conversation)
    await peer.accept(answer)
    await peer.connected()
    return peer, ticket


def _servers(listed: list[dict[str, Any]]) -> tuple[RTCIceServer, ...]:
    return tuple(RTCIceServer(each["urls"], each.get("username"), each.get("credential")) for each in listed)


async def _converse(
    http: httpx2.AsyncClient,
    ticket: Ticket,
    caller: Caller,
    speech: bytes,
    progress: Progress,
    narrator: Narrator,
    within_s: float,
) -> None:
    listening = asyncio.create_task(_listen(http, ticket, progress, narrator), name="events")
    try:
        await _say(caller, speech)
        loop = asyncio.get_running_loop()
        progress.asked(loop.time())
        until = loop.time() + within_s
        while loop.time() < until and not progress.over(loop.time()) and not caller.hung_up:
            await asyncio.sleep(LOOK_EVERY_S)
            if caller.received.last_audible_at is not None:
                progress.heard(caller.received.last_audible_at)
        if caller.hung_up:
            await asyncio.wait([listening], timeout=LAST_WORD_WITHIN_S)
    finally:
        listening.cancel()
        await asyncio.wait([listening])
    if not listening.cancelled():
        listening.result()


async def _say(caller: Caller, speech: bytes) -> None:
    caller.say(speech)
    try:
        async with asyncio.timeout(milliseconds(len(speech)) / 1000 + SLACK_S):
            await caller.said()
    except TimeoutError:
        raise TransportLost("The file could not be played to its end.", hint="Is the network very slow?") from None


async def _listen(http: httpx2.AsyncClient, ticket: Ticket, progress: Progress, narrator: Narrator) -> None:
    async with aclosing(page_events(http, ticket)) as events:
        async for event in events:
            progress.on_event(event.type, event.data, asyncio.get_running_loop().time())
            narrator.on_event(event.type, event.data)


async def _hang_up(signalling: Signalling, ticket: Ticket) -> None:
    try:
        await signalling.disconnect(ticket)
    except VoiceError:
        return  # the session is over already, or the server is: the call has been had


class Progress:
    """Decides when a call made by a program is over. Pure: time is an argument, in seconds of any steady clock.

    It is when the question has been asked, something has been heard since, no Thinker is at work, and it has been quiet
    for a while: no voice and no news.
    """

    def __init__(self, quiet_after_s: float) -> None:
        self._quiet_after_s = quiet_after_s
        self._asked_at: float | None = None
        self._heard_at: float | None = None
        self._news_at = 0.0
        self._thinkers: set[str] = set()
        self.ended: str | None = None

    def __repr__(self) -> str:
        return f"Progress(asked {self._asked_at}, heard {self._heard_at}, {len(self._thinkers)} Thinkers at work)"

    @property
    def answered(self) -> bool:
        """True when anything was heard after the question."""
        return self._heard_at is not None

    def asked(self, now: float) -> None:
        """Note that the file has been spoken."""
        self._asked_at = now

    def heard(self, at: float) -> None:
        """Note that a voice was last heard at `at`."""
        if self._asked_at is not None and at >= self._asked_at:
            self._heard_at = at

    def on_event(self, type_: str, data: dict[str, Any], now: float) -> None:
        """Note an event of the page."""
        if type_ in NEWS:
            self._news_at = now
        if type_ == "thinker":
            (self._thinkers.add if data["event"] in AT_WORK else self._thinkers.discard)(data["call_id"])
        if type_ == "session_ended":
            self.ended = str(data.get("reason", ""))

    def over(self, now: float) -> bool:
        """Return whether there is nothing left to wait for."""
        if self.ended is not None:
            return True
        if self._heard_at is None or self._thinkers:
            return False
        return now - max(self._heard_at, self._news_at) >= self._quiet_after_s
