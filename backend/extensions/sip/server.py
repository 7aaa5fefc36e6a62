"""The SIP user agent, where it is enabled: who may call, as which user, and what becomes of a call.

A call is admitted as one by a telephone provider is: by the limits and budgets of its number, into a session like any
other. Of several processes that serve one port, the one that has got SIP's port takes its calls; when it ends, another
one takes its place.
"""

from __future__ import annotations

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
"""What telephones log in to."""
TAKE_OVER_S = 2.0
"""Seconds between two looks whether the port has become free."""
FAILURES_PER_MINUTE = 20
"""Refusals that one address gets."""
REQUESTS_PER_MINUTE = 120
"""Requests of a stranger's address that are answered."""


@asynccontextmanager
async def serve_sip(here: Context) -> AsyncIterator[tuple[str, str] | None]:
    """Take calls by SIP within the block, where they are enabled. Raises `SetupError` for a port in use."""
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
    """Wait until the port is free, then take calls until cancelled."""
    while True:
        with suppress(OSError):
            async with _agent(here):
                log.info("SIP: this process takes the calls now")
                await asyncio.Event().wait()
        await asyncio.sleep(TAKE_OVER_S)


@asynccontextmanager
async def _agent(here: Context) -> AsyncIterator[str]:
    """Listen, and stay registered, within the block; yield a line for the operator. Raises `OSError`."""
    options = here.services.settings.of(SipSettings)
    failures = Buckets(FAILURES_PER_MINUTE, what="SIP calls without leave")
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
    """Admit a call, answer it, and return when it is over; refuse it over a limit or without an agreement."""
    billed = here.callers.billed(call.caller)
    try:
        session = await reserve_phone_call(here, billed)
    except TooMany as error:
        call.refuse(503, error.retry_after_s)
        return
    registry = here.services.calls.registry
    transport = None
    try:
        if call.state is CallState.RINGING:  # and its caller has not given up meanwhile
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
