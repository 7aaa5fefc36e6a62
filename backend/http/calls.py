"""How a call begins, whatever way it comes by: it is admitted at its payer's expense, and a session is reserved."""

from __future__ import annotations

from collections import Counter

from starlette.requests import HTTPConnection

from backend.access.payers import current_payer
from backend.access.permits import Permit, PermitKind
from backend.access.principal import Principal
from backend.access.reach import Reach
from backend.access.usage import CALL, Payer
from backend.errors import Forbidden, VoiceError
from backend.http.budgets import payer_of
from backend.http.context import Context, identity_of
from backend.sessions.recorder import not_recorded
from backend.sessions.session import Session, SessionRequest

PHONE = "telephone"
"""The name of calls by a telephone line, as events and descriptions show it."""


async def admit_client(connection: HTTPConnection, here: Context) -> Permit:
    """Admit a call of a client that speaks another protocol. Raises `TooMany` over a limit or a budget."""
    return await _admit(here, payer_of(connection))


async def reserve_phone_call(here: Context, payer: Payer) -> Session:
    """Admit a call by telephone and reserve its session. Raises `TooMany` over a limit or a budget, or when full."""
    permit = await _admit(here, payer)
    return await _reserve(here, permit, SessionRequest(payer.user, session_id=permit.id))


async def reserve_for(
    connection: HTTPConnection,
    here: Context,
    permit: Permit,
    conversation_id: str | None = None,
    *,
    interruptions: bool | None = None,
    record: bool = False,
) -> Session:
    """Reserve a session for the caller, which may continue a conversation of theirs. Raises `TooMany` or `Forbidden`.

    The permit is released when there is no session.
    """
    principal = identity_of(connection).principal
    try:
        if principal.credential == "session":
            raise Forbidden(
                "A session's token gives access to that session only.", hint="Leave it out to start another call."
            )
        if record and not here.services.records:
            raise not_recorded()
        asked = session_request(principal, conversation_id, interruptions, record=record, session_id=permit.id)
    except VoiceError:
        await permit.release()
        raise
    return await _reserve(here, permit, asked)


def session_request(
    principal: Principal,
    conversation_id: str | None,
    interruptions: bool | None = None,
    *,
    record: bool = False,
    session_id: str | None = None,
) -> SessionRequest:
    """Return what the caller's session is asked for with. Raises `Forbidden` for another's conversation."""
    conversation_id = conversation_for(principal, conversation_id)
    return SessionRequest(principal.user, conversation_id, interruptions, record, Reach.of(principal), session_id)


def conversation_for(principal: Principal, named: str | None) -> str | None:
    """Return the conversation that a request is about. Raises `Forbidden` for another than the caller's one."""
    if principal.conversation is not None and named not in (None, principal.conversation):
        raise Forbidden("This token is for another conversation.", hint="Leave `conversation_id` out.")
    return principal.conversation or named


async def _admit(here: Context, payer: Payer) -> Permit:
    await here.offers.take(payer.address, here.now())
    current_payer.set(payer)
    budgets = here.services.budgets
    await budgets.admit(payer, CALL, Counter())
    return await budgets.permits.take(PermitKind.CALLS, payer)


async def _reserve(here: Context, permit: Permit, asked: SessionRequest) -> Session:
    try:
        return here.services.registry.reserve(asked)
    except VoiceError:
        await permit.release()
        raise
