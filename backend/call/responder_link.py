"""The call's link to its Responder, over as many connections as it takes; each is given what was said before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_chain, wait_fixed

from backend.call.history import CallHistory
from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, PastMessage, Responder, ResponderFactory

PAUSES_S = (0.3, 1.0, 2.0, 3.0)
"""Pauses between attempts to connect; when the last attempt fails, the call ends with a sentence that says so."""
GIVE_UP_AFTER_S = 15.0
"""Seconds all attempts together may take: nobody waits on a dead line for longer."""


class ResponderLink:
    """Connects the Responder, reconnects it, and keeps it briefed."""

    def __init__(self, connect: ResponderFactory, history: CallHistory, on_event: Callable[[ev.Event], None]) -> None:
        self._connect = connect
        self._history = history
        self._on_event = on_event
        self.connection: Responder | None = None
        """The connection that stands; None while one is being made."""
        self.briefing: Briefing | None = None
        """The newest briefing; `run` needs one."""

    def __repr__(self) -> str:
        return f"ResponderLink({self.connection!r})"

    def brief(self, briefing: Briefing) -> None:
        """Replace the instructions if they differ, in mid-call and for connections to come."""
        if briefing != self.briefing:
            self.briefing = briefing
            if self.connection:
                self.connection.brief(briefing)

    async def run(self, on_connected: Callable[[], None]) -> None:
        """Connect, call `on_connected`, then pass on the provider's events; reconnect whenever the connection breaks.

        Raises `ResponderUnavailable` when no connection can be made any more.
        """
        responder = self.connection = await self._connected()
        on_connected()
        while True:
            try:
                await responder.receive_events(self._on_event)
            except ResponderUnavailable as error:
                if not error.retryable:
                    raise
                self._on_event(ev.ResponderLost(str(error)))
            finally:
                await self.close()
            responder = self.connection = await self._connected()
            self._on_event(ev.ResponderRestored())

    async def close(self) -> None:
        """Close the connection, if one stands. Safe to call twice."""
        responder, self.connection = self.connection, None
        if responder:
            await responder.close()

    async def _connected(self) -> Responder:
        """Return a connection that knows the conversation and what is known of the caller by now.

        Raises `ResponderUnavailable` when every attempt failed, at once when another would not help.
        """
        assert self.briefing is not None
        attempts = AsyncRetrying(
            stop=stop_after_attempt(len(PAUSES_S) + 1),
            wait=wait_chain(*map(wait_fixed, PAUSES_S)),
            retry=retry_if_exception(lambda error: isinstance(error, ResponderUnavailable) and error.retryable),
            reraise=True,
        )
        try:
            async with asyncio.timeout(GIVE_UP_AFTER_S):
                return await attempts(self._attempt)
        except TimeoutError as error:
            raise ResponderUnavailable("The Responder could not be reached in time.") from error

    async def _attempt(self) -> Responder:
        briefing, count = self.briefing, self._history.count
        assert briefing is not None
        responder = await self._connect(briefing, self._history.tail())
        for message in self._history.since(count):
            responder.send(_catch_up(message))
        if (newer := self.briefing) is not None and newer != briefing:
            responder.brief(newer)
        return responder


def _catch_up(message: PastMessage) -> do.AddUserText | do.AddNote:
    if message.role == "user":
        return do.AddUserText(message.text)
    return do.AddNote(f"The caller has just heard you say: {message.text}")
