"""How a WebRTC call begins, in whichever process the offer came in: a slot, the answer, and the call's task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backend.errors import TransportLost
from backend.sessions.registry import SessionRegistry
from backend.sessions.session import Session
from backend.transports.base import Transport

ANSWER_WITHIN_S = 10
"""Seconds an answer may take: gathering candidates through a slow STUN server is the longest part."""

AcceptOffer = Callable[[str], Awaitable[tuple[str, Transport]]]
"""SDP offer → (SDP answer, the transport it begins). Raises `BadOffer` or `TooMany`."""


class CallerLeft(Exception):
    """The client that made the offer has left."""


async def connect_offer(
    registry: SessionRegistry,
    session: Session,
    accept_offer: AcceptOffer,
    sdp: str,
    has_left: Callable[[], Awaitable[bool]] | None = None,
) -> str:
    """Return the SDP answer once the call runs; no slot is kept after a failure or a request that was cancelled."""
    transport = None
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            answer, transport = await accept_offer(sdp)
        if has_left is not None and await has_left():
            raise CallerLeft
        registry.connect(session, transport, "webrtc")
    except BaseException as error:
        await registry.end(session, "never_connected" if isinstance(error, CallerLeft) else "error")
        if transport is not None:
            await transport.close()
        if isinstance(error, TimeoutError):
            raise TransportLost("The connection could not be prepared in time.", hint="Try again.") from error
        raise
    return answer
