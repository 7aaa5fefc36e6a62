"""When a visitor signs in, what they left before becomes the user's: every store of user data moves its part.

A store that fails keeps what it has not moved, stops neither the others nor the sign-in, and is asked again when the
user signs in the next time, as is everything that a killed process left behind.
"""

from __future__ import annotations

import asyncio
import logging

from backend.errors import VoiceError
from backend.http.context import Context

log = logging.getLogger(__name__)

MERGE_WITHIN_S = 10.0
"""Seconds a sign-in waits for its visitor's data; what is left then is moved at the next one."""


async def merge_visitors(here: Context, user: str, visitor: str) -> None:
    """Give the user what `visitor` (empty: nobody) left, and what earlier merges left undone. May be repeated.

    The visitor's credentials are void from now on. Raises `MemoryUnavailable` when it cannot even be noted.
    """
    merges = here.services.people.merges
    if visitor:
        await merges.note(user, visitor)
        await here.services.people.access_store.revoke(visitor)
    try:
        async with asyncio.timeout(MERGE_WITHIN_S):
            for each in await merges.unfinished(user):
                async with merges.alone(each):
                    await _move(here, each, user)
    except (VoiceError, TimeoutError) as error:
        log.warning("a visitor's data is moved at the user's next sign-in: %s", type(error).__name__)


async def _move(here: Context, visitor: str, user: str) -> None:
    for session in await here.services.calls.sessions.owned_by(visitor):
        await session.end("signed_in")
    failed = []
    for name, store in here.services.data.user_data.items():
        try:
            await store.move(visitor, user)
        except VoiceError as error:
            failed.append(f"{name} ({type(error).__name__})")
    if failed:
        log.warning("some of a visitor's data is moved at the user's next sign-in: %s", ", ".join(failed))
    else:
        await here.services.people.merges.finish(user, visitor)
