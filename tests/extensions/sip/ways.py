"""The way to call by SIP."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.extensions.sip.sip_load import free_port, sip_settings
from tests.extensions.sip.sip_phone import HERE, sip_phone
from tests.support.every_way import Line, Way

PORT = free_port()


@asynccontextmanager
async def sip(_: str) -> AsyncIterator[Line]:
    """A telephone by SIP: G.711."""
    async with sip_phone((HERE, PORT), number=f"+1555{time.monotonic_ns() % 10_000_000:07}") as telephone:
        status = await telephone.call()
        assert status == 200, f"The call was answered with {status}."
        yield Line(telephone.say, lambda seen: telephone.heard[seen:])


WAYS: dict[str, Way] = {"telephone, SIP": sip}
SETTINGS = sip_settings(HERE) | {"SIP__PORT": str(PORT), "SIP__RTP_PORTS": "27000-27199"}
