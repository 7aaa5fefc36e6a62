"""How a call of a client that speaks another protocol begins: it is admitted, and a session is reserved for it."""

from __future__ import annotations

from collections import Counter

from starlette.requests import HTTPConnection

from backend.access.addresses import address_key
from backend.access.payers import current_payer
from backend.access.permits import Permit, PermitKind
from backend.access.reach import Reach
from backend.access.usage import CALL
from backend.errors import Forbidden, VoiceError
from backend.http.budgets import payer_of, take_permit
from backend.http.context import Context, identity_of
from backend.http.signalling import conversation_for
from backend.sessions.registry import Session


async def admit_client(connection: HTTPConnection, here: Context) -> Permit:
    """Count a new call and admit it at its caller's expense. Raises `TooMany` over a limit or a budget."""
    await here.offers.take(address_key(connection), here.now())
    payer = payer_of(connection)
    current_payer.set(payer)
    await here.services.people.budgets.admit(payer, CALL, Counter())
    return await take_permit(connection, PermitKind.CALLS)


async def reserve_for(
    connection: HTTPConnection, here: Context, permit: Permit, conversation_id: str | None = None
) -> Session:
    """Reserve a session for the caller; releases the permit when there is no room. Raises `TooMany`.

    `conversation_id` names a conversation of theirs to continue.
    """
    caller = identity_of(connection)
    try:
        if caller.principal.credential == "session":
            raise Forbidden(
                "A session's token gives access to that session only.", hint="Use a key, or a client secret."
            )
        return here.services.calls.registry.reserve(
            caller.user,
            conversation_for(caller.principal, conversation_id),
            reach=Reach.of(caller.principal),
            session_id=permit.id,
        )
    except VoiceError:
        await permit.release()
        raise
