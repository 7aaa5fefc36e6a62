"""A telephone call by SIP, over real sockets, for the suite that every transport passes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from backend.extensions.sip.transport import SipTransport
from tests.extensions.sip.sip_agents import user_agent
from tests.extensions.sip.sip_phone import HERE, SipPhone, sip_phone
from tests.support.callers import PhoneRig, Rig


@asynccontextmanager
async def sip_rig() -> AsyncIterator[Rig]:
    """A telephone call by SIP, over real sockets."""
    async with sip_call() as (transport, phone):
        yield PhoneRig(transport, phone)


@asynccontextmanager
async def sip_call(**options: Any) -> AsyncIterator[tuple[SipTransport, SipPhone]]:
    """An open call; both ends are closed at the end. `options` are the telephone's."""
    transports: asyncio.Queue[SipTransport] = asyncio.Queue()
    async with (
        user_agent(lambda call: transports.put_nowait(call.accept())) as agent,
        sip_phone((HERE, agent.port), **options) as phone,
    ):
        assert await phone.call() == 200
        transport = await transports.get()
        try:
            await transport.wait_arrived()
            yield transport, phone
        finally:
            await transport.close()


RIGS = [sip_rig]
