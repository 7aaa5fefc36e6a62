"""Calls that a test or a benchmark places to a running server, with the audio and the page events that they got."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx2

from backend.testing.waiting import TIMEOUT_S, until
from responder_thinker.caller import ReceivedFrame
from responder_thinker.signalling import ReceivedEvent, Signalling, Ticket, page_events
from responder_thinker.webrtc import WebRTCCaller
from responder_thinker.websocket import WebSocketCaller


@dataclass
class PlacedCall:
    """One call, as its caller sees it."""

    http: httpx2.AsyncClient
    ticket: Ticket
    caller: WebRTCCaller | WebSocketCaller
    events: list[ReceivedEvent] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)

    async def event(self, type_: str, within_s: float = TIMEOUT_S, **data: Any) -> ReceivedEvent:
        """Wait until the page has got an event of that type with that data, and return the first one."""
        await until(lambda: any(_fits(event, type_, data) for event in self.events), within_s)
        return next(event for event in self.events if _fits(event, type_, data))

    def events_of(self, type_: str) -> list[dict[str, Any]]:
        """Return the data of all events of a type so far."""
        return [event.data for event in self.events if event.type == type_]

    async def say(self, pcm: bytes) -> None:
        """Speak, and wait until it has been said."""
        self.caller.say(pcm)
        await self.caller.said()

    def audible(self) -> list[ReceivedFrame]:
        """Return the frames that were heard, without silent ones."""
        return [heard for heard in self.caller.received.frames if heard.audible]

    async def hears_something(self, within_s: float = TIMEOUT_S) -> None:
        """Wait for the first sound after now."""
        before = len(self.audible())
        await until(lambda: len(self.audible()) > before, within_s)

    async def hears_nothing_for(self, seconds: float, within_s: float = TIMEOUT_S) -> None:
        """Wait until it has been quiet for `seconds`."""

        def quiet() -> bool:
            last = self.caller.received.last_audible_at
            return last is not None and asyncio.get_running_loop().time() - last >= seconds

        await until(quiet, within_s)


def _fits(event: ReceivedEvent, type_: str, data: Mapping[str, Any]) -> bool:
    return event.type == type_ and all(event.data.get(key) == value for key, value in data.items())


@asynccontextmanager
async def call_to(
    url: str,
    *,
    transport: str = "webrtc",
    browser: httpx2.AsyncClient | None = None,
    conversation: str | None = None,
    within_s: float = TIMEOUT_S,
) -> AsyncIterator[PlacedCall]:
    """Yield a connected call when its session has started, and hang up at the end.

    `browser` has the caller's cookie; without it the caller is unknown. `conversation` continues that conversation.
    """
    async with browser_of(url) if browser is None else nullcontext(browser) as http:
        signalling = Signalling(http)
        caller: WebRTCCaller | WebSocketCaller
        if transport == "ws":
            ticket = await signalling.open_session(conversation)
            caller = WebSocketCaller()
            await caller.connect(signalling.socket_url(ticket), ticket.token, headers=signalling.cookies())
        else:
            caller = WebRTCCaller()
            answer, ticket = await signalling.offer(await caller.offer(), conversation)
            await caller.accept(answer)
            await caller.connected()
        call = PlacedCall(http, ticket, caller)
        listening = asyncio.create_task(_listen(call))
        try:
            await call.event("session_started", within_s)
            yield call
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await caller.close()


def browser_of(url: str) -> httpx2.AsyncClient:
    """Return a client of that server with a cookie jar of its own; the caller closes it with `async with`."""
    return httpx2.AsyncClient(base_url=url, trust_env=False, timeout=20)


async def _listen(call: PlacedCall) -> None:
    async with aclosing(page_events(call.http, call.ticket)) as events:
        async for event in events:
            call.events.append(event)
            call.arrivals.append(asyncio.get_running_loop().time())
