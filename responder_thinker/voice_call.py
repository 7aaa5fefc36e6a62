"""Calls placed by a program: the Python client library, which `responder-thinker talk` uses as well.

async with place_call("http://localhost:8000", on_event=print) as call:
    await call.say(read_audio(Path("question.wav")))
    await call.answered()
    write_wav(Path("reply.wav"), call.received.pcm())
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any, Literal

import httpx2
from aiortc import RTCIceServer

from backend.errors import TransportLost, VoiceError
from backend.media.frame import milliseconds
from backend.transports.webrtc.ice import IceConfig
from responder_thinker.caller import Caller, ReceivedAudio
from responder_thinker.progress import Progress
from responder_thinker.signalling import ReceivedEvent, Signalling, Ticket, page_events, restore_cookie, save_cookie
from responder_thinker.webrtc import WebRTCCaller
from responder_thinker.websocket import WebSocketCaller

Transport = Literal["webrtc", "ws"]
OnEvent = Callable[[ReceivedEvent], object]
OnAudio = Callable[[bytes], object]

ANSWER_WITHIN_S = 60.0
"""The most seconds to wait for an answer."""
QUIET_AFTER_S = 2.0
"""Seconds without a voice and without news after which an answer is complete."""
SLACK_S = 10.0
"""The most seconds that sending speech may take beyond its own length."""
LOOK_EVERY_S = 0.1
LAST_WORD_WITHIN_S = 1.0
"""Seconds in which the server may send the reason for hanging up."""


class VoiceCall:
    """One connected call, which `place_call` makes. All audio is 24 kHz mono PCM16."""

    def __init__(self, signalling: Signalling, ticket: Ticket, caller: Caller) -> None:
        self.session_id = ticket.session_id
        self.conversation_id = ticket.conversation_id
        """The id of the conversation; pass it to the next call to continue it."""
        self.received: ReceivedAudio = caller.received
        """The audio heard so far, at most the last ten minutes."""
        self._signalling, self._ticket, self._caller = signalling, ticket, caller
        self._progress = Progress(QUIET_AFTER_S)
        self._listening: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """True if the server has hung up, or the connection is lost."""
        return self._caller.hung_up or self._progress.ended is not None

    @property
    def end_reason(self) -> str | None:
        """The server's reason for ending the call (docs/api.md lists them); None while the call goes on."""
        return self._progress.ended

    async def say(self, pcm: bytes) -> None:
        """Speak, and wait until it was sent. Raises `TransportLost` if it cannot be sent in time."""
        self._caller.say(pcm)
        try:
            async with asyncio.timeout(milliseconds(len(pcm)) / 1000 + SLACK_S):
                await self._caller.said()
        except TimeoutError:
            raise TransportLost(
                "The sound could not be sent completely.", hint="The network may be too slow. Try again."
            ) from None
        self._progress.asked(asyncio.get_running_loop().time())

    async def type(self, text: str) -> None:
        """Type into the conversation; the answer is spoken. Raises `CallRefused` or `TransportLost`."""
        await self._signalling.type(self._ticket, text)
        self._progress.asked(asyncio.get_running_loop().time())

    async def answered(self, within_s: float = ANSWER_WITHIN_S, quiet_after_s: float = QUIET_AFTER_S) -> bool:
        """Wait until the last words are answered: a voice was heard, no Thinker works, and it is quiet again.

        Return False if nothing was heard within `within_s` seconds, or the call ended before.
        """
        loop, self._progress.quiet_after_s = asyncio.get_running_loop(), quiet_after_s
        until = loop.time() + within_s
        while loop.time() < until and not self._progress.over(loop.time()) and not self._caller.hung_up:
            await asyncio.sleep(LOOK_EVERY_S)  # until it is over, lost or too late
            if self.received.last_audible_at is not None:
                self._progress.heard(self.received.last_audible_at)
        if self._caller.hung_up and self._listening:
            await asyncio.wait([self._listening], timeout=LAST_WORD_WITHIN_S)
        return self._progress.answered

    async def _listen(self, on_event: OnEvent | None) -> None:
        async with aclosing(page_events(self._signalling.http, self._ticket)) as events:
            async for event in events:
                self._progress.on_event(event.type, event.data, asyncio.get_running_loop().time())
                if on_event:
                    on_event(event)

    @asynccontextmanager
    async def following(self, on_event: OnEvent | None) -> AsyncGenerator[None, None]:
        """Follow the events until the context is left, which then raises an error of `on_event`."""
        self._listening = asyncio.create_task(self._listen(on_event), name="events of a call")
        try:
            yield
        finally:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        if not self._listening.cancelled():
            self._listening.result()

    async def hang_up(self) -> None:
        """End the call, as the end of the `async with` block does."""
        with suppress(VoiceError):  # the session is over already, or the server is
            await self._signalling.disconnect(self._ticket)
        await self._caller.close()


@asynccontextmanager
async def place_call(
    url: str = "http://127.0.0.1:8000",
    *,
    transport: Transport = "webrtc",
    conversation: str | None = None,
    token: str | None = None,
    cookies: httpx2.Cookies | None = None,
    on_event: OnEvent | None = None,
    on_audio: OnAudio | None = None,
) -> AsyncGenerator[VoiceCall, None]:
    """Yield a connected call to the server at `url`, and hang up at the end of the block.

    `conversation` continues an earlier conversation. A key of API_KEYS has signed `token`; without it and without
    `cookies` a continued conversation belongs to the user of last time. `on_event` gets each event of docs/api.md,
    `on_audio` each 20 ms of audio (960 bytes) as it arrives; both are called on the event loop and must not block.
    Raises `CallRefused` with the server's words, or `TransportLost`.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    known = cookies is None and token is None and conversation is not None  # it belongs to the user of last time
    async with (
        httpx2.AsyncClient(base_url=url, trust_env=False, cookies=cookies, headers=headers) as http,
        AsyncExitStack() as stack,
    ):
        if known:
            restore_cookie(http)
        signalling = Signalling(http)
        caller, ticket = await _connect(signalling, transport, stack, conversation, on_audio)
        if known:
            save_cookie(http)
        call = VoiceCall(signalling, ticket, caller)
        stack.push_async_callback(call.hang_up)
        async with call.following(on_event):
            yield call


async def _connect(
    signalling: Signalling,
    transport: Transport,
    stack: AsyncExitStack,
    conversation: str | None,
    on_audio: OnAudio | None,
) -> tuple[Caller, Ticket]:
    """Return a connected caller, closed by `stack`."""
    if transport == "ws":
        socket = WebSocketCaller()
        socket.received.on_frame = on_audio
        stack.push_async_callback(socket.close)
        ticket = await signalling.open_session(conversation)
        await socket.connect(signalling.socket_url(ticket), ticket.token, headers=signalling.cookies())
        return socket, ticket
    peer = WebRTCCaller(IceConfig(ice_servers=_servers(await signalling.ice_servers())))
    peer.received.on_frame = on_audio
    stack.push_async_callback(peer.close)
    answer, ticket = await signalling.offer(await peer.offer(), conversation)
    await peer.accept(answer)
    await peer.connected()
    return peer, ticket


def _servers(listed: list[dict[str, Any]]) -> tuple[RTCIceServer, ...]:
    return tuple(RTCIceServer(each["urls"], each.get("username"), each.get("credential")) for each in listed)
