"""The SIP server admits callers, finds their user, and connects their calls.

The limits and budgets of its number apply to a call, as with a telephone provider, and its session is like any other.
If several processes of the server run on one machine, the one that has the SIP port takes the calls. When it ends,
another one takes over.
"""

import asyncio
import errno
import hmac
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from backend.access.addresses import network_of
from backend.access.concurrency import PermitKind
from backend.access.rates import Buckets
from backend.access.secret_key import secret_keys
from backend.errors import BadOffer, SetupError, TooMany, VoiceError
from backend.extensions.sip.agent import UserAgent
from backend.extensions.sip.call import CallState, SipCall
from backend.extensions.sip.digest import DigestAuth
from backend.extensions.sip.gate import Gate
from backend.extensions.sip.registration import Registration
from backend.extensions.sip.settings import SipSettings
from backend.http.calls import PHONE, reserve_phone_call
from backend.http.context import Context
from backend.runtime.supervisor import supervising

log = logging.getLogger(__name__)

TRUNKS = "sip_trunks"
"""The name in `/readyz` for the state of registrations at trunks."""
REALM = "responder-thinker"
"""The realm of the digest authentication."""
TAKE_OVER_S = 2.0
"""Seconds between two attempts to get the port."""
FAILURES_PER_MINUTE = 20
"""The most refusals per minute for one address."""
REQUESTS_PER_MINUTE = 120
"""The most answered requests per minute of a stranger's address."""


@asynccontextmanager
async def serve_sip(here: Context) -> AsyncIterator[tuple[str, str] | None]:
    """Accept calls by SIP within the block, if they are enabled. Raises `SetupError` for a port in use."""
    settings = here.services.settings
    options = settings.of(SipSettings)
    if not options.enabled:
        yield None
        return
    async with AsyncExitStack() as stack:
        try:
            summary = await stack.enter_async_context(_agent(here))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not settings.server.share_sessions:
                raise SetupError(
                    f"Cannot listen on port {options.port} for SIP: {error.strerror}.",
                    hint="Set SIP__PORT to a free port, or SIP__HOST to an address of this machine.",
                ) from error
            await stack.enter_async_context(supervising("sip", lambda: _take_over(here)))
            summary = "another process of this server takes the calls"
        yield "SIP", summary


async def _take_over(here: Context) -> None:
    """Wait until the port is free, then accept calls until cancelled."""
    while True:
        with suppress(OSError):
            async with _agent(here):
                log.info("SIP: this process now takes the calls")
                await asyncio.Event().wait()
        await asyncio.sleep(TAKE_OVER_S)


@asynccontextmanager
async def _agent(here: Context) -> AsyncIterator[str]:
    """Listen and stay registered within the block; yield a line for the operator. Raises `OSError`."""
    options = here.services.settings.of(SipSettings)
    failures = Buckets(FAILURES_PER_MINUTE, what="refused SIP calls")
    requests = Buckets(REQUESTS_PER_MINUTE, what="SIP requests")
    key = hmac.digest(secret_keys(here.services.settings)[0], b"sip", "sha256")
    digest = DigestAuth(key, REALM, options.passwords) if options.passwords else None
    gate = Gate(options.peers, digest, lambda address: _may(failures, here, address))

    async def on_call(call: SipCall) -> None:
        await take_call(here, call)

    agent = UserAgent(options, gate, on_call, lambda address: _may(requests, here, address))
    await agent.open()
    here.services.state.metrics.watch_queue("sip_calls", lambda: agent.live)
    try:
        async with AsyncExitStack() as stack:
            if options.trunk:
                registration = Registration(agent, options.trunk)
                stack.push_async_callback(registration.close)
                here.services.state.further_states[TRUNKS] = {options.trunk: lambda: registration.state}
                await stack.enter_async_context(supervising("sip registration", registration.run))
            yield f"port {agent.port}, UDP and TCP{', registering at the trunk' if options.trunk else ''}"
    finally:
        await agent.close()
        here.services.state.further_states.pop(TRUNKS, None)


async def take_call(here: Context, call: SipCall) -> None:
    """Admit and answer a call, and return when it is over. Refuse it over a limit or without a common codec."""
    billed = here.callers.billed(call.caller)
    try:
        session = await reserve_phone_call(here, billed)
    except TooMany as error:
        call.refuse(503, error.retry_after_s)
        return
    registry = here.services.calls.registry
    transport = None
    try:
        if call.state is CallState.RINGING:  # the caller may have given up in the meantime
            transport = call.accept()
    except BadOffer:
        call.refuse(488)
    except TooMany as error:
        call.refuse(503, error.retry_after_s)
    if transport is None:
        await registry.end(session, "never_connected")
        await here.services.people.budgets.concurrency.hold(PermitKind.CALLS, billed, session.id).release()
        return
    try:
        registry.connect(session, transport, PHONE)
    except VoiceError:  # its reservation has been ended meanwhile
        await transport.close()
        return
    await registry.wait(session)


def _may(buckets: Buckets, here: Context, address: str) -> bool:
    try:
        buckets.take_here(network_of(address), here.now())
    except TooMany:
        return False
    return True
