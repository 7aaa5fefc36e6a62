"""The way to call by SIP."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.extensions.sip.sip_phone import HERE, free_port, sip_phone
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
SETTINGS = {
    "SIP__ENABLED": "true",
    "SIP__HOST": HERE,
    "SIP__PORT": str(PORT),
    "SIP__PEERS": f"{HERE}/32",
    "SIP__RTP_PORTS": "27000-27199",
    "SIP__MAX_CALLS": "500",
}
