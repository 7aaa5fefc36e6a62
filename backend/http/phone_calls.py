"""How a call by telephone begins, whatever line it comes by: it is admitted, and a session is reserved for it."""

from __future__ import annotations

from collections import Counter

from backend.access.permits import PermitKind
from backend.access.usage import CALL, Payer
from backend.errors import VoiceError
from backend.http.context import Context
from backend.sessions.registry import Session

PHONE = "telephone"
"""The name of calls by a telephone line, as events and descriptions show it."""


async def reserve_phone_call(here: Context, payer: Payer) -> Session:
    """Admit a call by telephone and reserve its session. Raises `TooMany` over a limit or a budget, or when full."""
    await here.offers.take(payer.address, here.now())
    budgets = here.services.people.budgets
    await budgets.admit(payer, CALL, Counter())
    permit = await budgets.permits.take(PermitKind.CALLS, payer)
    try:
        return here.services.calls.registry.reserve(payer.user, session_id=permit.id)
    except VoiceError:
        await permit.release()
        raise
