"""Getting the Responder on the line: several attempts, each told everything that has been said by then."""

from __future__ import annotations

import asyncio

from backend.call.history import History
from backend.conversation.commands import AddNote, AddUserText
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, PastMessage, Responder, ResponderFactory

PAUSES_S = (0.0, 0.3, 1.0, 2.0, 3.0)
"""Pauses before each attempt; when the last fails, the call ends with a word."""
GIVE_UP_AFTER_S = 15.0
"""However long single attempts take: nobody waits on a dead line for longer."""


async def dial_patiently(dial: ResponderFactory, briefing: Briefing, history: History) -> Responder:
    """A connection that knows the conversation, what was said while it was being made included.

    Raises `ResponderUnavailable` when every attempt failed, at once when no other would help.
    """
    try:
        async with asyncio.timeout(GIVE_UP_AFTER_S):
            return await _dial(dial, briefing, history)
    except TimeoutError as error:
        raise ResponderUnavailable("The Responder could not be reached in time.") from error


async def _dial(dial: ResponderFactory, briefing: Briefing, history: History) -> Responder:
    failure: ResponderUnavailable | None = None
    for pause in PAUSES_S:
        await asyncio.sleep(pause)
        told = history.count
        try:
            responder = await dial(briefing, history.tail())
        except ResponderUnavailable as error:
            failure = error
            if not error.retryable:
                break
        else:
            for said in history.since(told):
                responder.send(_catch_up(said))
            return responder
    assert failure is not None
    raise failure


def _catch_up(said: PastMessage) -> AddUserText | AddNote:
    if said.role == "user":
        return AddUserText(said.text)
    return AddNote(f"The caller has just heard you say: {said.text}")
