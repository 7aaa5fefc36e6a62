"""The call's link to its Responder, over as many connections as it takes; each is given what was said before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_chain, wait_fixed, wait_random

from backend.call.history import CallHistory
from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, PastMessage, Responder, ResponderFactory

PAUSES_S = (0.3, 0.6, 1.0)
"""Pauses between attempts to connect; the last one is kept to. A provider that is back is found within two seconds."""
SPREAD_S = 0.3
"""A pause is longer by up to this, so that not all calls of a server connect in the same moment."""
LATE_AFTER_S = 1.5
"""Seconds after which a caller who has just called is told that connecting takes longer."""


@dataclass(frozen=True, slots=True)
class ResponderInfo:
    """The names of the Responder and its model, as the page shows them when a call begins."""

    responder: str
    model: str
    offline: bool
    """True for the demonstration, which needs no key."""


class ResponderLink:
    """Connects the Responder, reconnects it, and keeps it briefed.

    A connection that is lost is made again for `patience_s` seconds; the call goes on meanwhile.
    """

    def __init__(
        self,
        connect: ResponderFactory,
        history: CallHistory,
        on_event: Callable[[ev.Event], None],
        patience_s: float,
        about: ResponderInfo,
    ) -> None:
        self._connect = connect
        self._about = about
        self._patience_s = patience_s
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

        Raises `ResponderUnavailable` when no connection could be made for the seconds of patience.
        """
        responder, was_late = await self._first()
        on_connected()
        if was_late:
            self._on_event(ev.ResponderRestored(self._about.responder, self._about.model))
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
            self._on_event(ev.ResponderRestored(self._about.responder, self._about.model))

    async def close(self) -> None:
        """Close the connection, if one stands. Safe to call twice."""
        responder, self.connection = self.connection, None
        if responder:
            await responder.close()

    async def _first(self) -> tuple[Responder, bool]:
        """Return the call's first connection, and whether the call was told that it is late in coming."""
        is_late = False

        def report() -> None:
            nonlocal is_late
            is_late = True
            self._on_event(ev.ResponderLost("It cannot be reached yet."))

        reporting = asyncio.get_running_loop().call_later(LATE_AFTER_S, report)
        try:
            self.connection = await self._connected()
        finally:
            reporting.cancel()
        return self.connection, is_late

    async def _connected(self) -> Responder:
        """Return a connection that knows the conversation and what is known of the caller by now.

        Raises `ResponderUnavailable` when every attempt failed, at once when another would not help.
        """
        assert self.briefing is not None
        attempts = AsyncRetrying(
            stop=stop_after_delay(self._patience_s),
            wait=wait_chain(*map(wait_fixed, PAUSES_S)) + wait_random(0, SPREAD_S),
            retry=retry_if_exception(lambda error: isinstance(error, ResponderUnavailable) and error.retryable),
            reraise=True,
        )
        try:
            async with asyncio.timeout(self._patience_s):
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
