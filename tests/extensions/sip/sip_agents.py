"""User agents for tests: one that listens on loopback and gives each call to the test."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from backend.extensions.sip.agent import UserAgent
from backend.extensions.sip.call import SipCall
from backend.extensions.sip.digest import DigestAuth
from backend.extensions.sip.gate import Gate
from backend.extensions.sip.settings import SipSettings
from tests.extensions.sip.sip_phone import HERE

SETTINGS = {"host": HERE, "port": 0, "rtp_ports": "22000-22999"}


@asynccontextmanager
async def user_agent(
    on_call: Callable[[SipCall], Any],
    *,
    peers: tuple[str, ...] = ("127.0.0.0/8",),
    users: dict[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[UserAgent]:
    """A user agent; `on_call` answers or refuses each call, which then goes on until it is over."""

    async def answer(call: SipCall) -> None:
        outcome = on_call(call)
        if asyncio.iscoroutine(outcome):
            await outcome
        await call.over.wait()

    gate = Gate(peers, DigestAuth(b"k" * 32, "test", users) if users else None)
    agent = UserAgent(SipSettings.model_validate(SETTINGS | settings), gate, answer)
    await agent.open()
    try:
        yield agent
    finally:
        await agent.close()
