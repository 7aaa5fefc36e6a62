"""The call's link to its Responder, over one connection after another; each new connection gets the history."""

import asyncio
import json
from collections.abc import Callable

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_chain, wait_fixed, wait_random

from backend.call.history import CallHistory
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Capabilities, PastMessage, Responder, ResponderFactory
from backend.responders.failover import MUTE, ProviderChoice, ResponderInfo
from backend.runtime.supervisor import cancel_all
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import ResponderCommand

RECONNECT_S = 90.0
"""Seconds for which a call tries to reach a Responder before it ends with a sentence."""
PAUSES_S = (0.3, 0.6, 1.0)
"""Seconds between attempts to connect; the last pause repeats. A provider that is back is found within two seconds."""
SPREAD_S = 0.3
"""The most seconds by which a pause is longer at random, so that the calls of a server do not connect in one moment."""
GO_BACK_EVERY_S = 2.0
"""Seconds between two checks whether a preferred provider is back and the call is between two turns."""
RENEW_BEFORE_S = 180.0
"""Seconds before a connection expires, from which on it is replaced by a new one between two turns."""
RENEW_LOOK_S = 0.5
"""Seconds between two checks whether an expiring connection can be replaced."""
LONGEST_SLEEP_S = 3600.0
UNSEEN = "[The caller has shown a picture here. You cannot see it: say so.]"
HEARD_ONLY = "The caller interrupted you, and of your last reply has heard only this: {words}"
LATE_AFTER_S = 1.5
"""Seconds of the first connection after which the caller hears that it takes longer."""


class ResponderLink:
    """Connects the Responder, reconnects it, and keeps it briefed.

    For a lost connection it tries for `RECONNECT_S` seconds to make another, also with other providers; the call goes
    on meanwhile. A mute provider is left for another. Between two turns, while `at_rest`, the link goes back to a
    preferred provider, and replaces a connection that is about to expire.
    """

    def __init__(self, choice: ProviderChoice, history: CallHistory, at_rest: Callable[[], bool]) -> None:
        self._choice = choice
        self._at_rest = at_rest
        self._connected_at = 0.0
        self._moving: asyncio.Task[None] | None = None
        self._receiving: asyncio.Timeout | None = None  # without a time: it ends when the provider is left
        self._history = history
        self._on_event: Callable[[ev.Event], None] = lambda event: None
        self.connection: Responder | None = None
        """The connection that stands; None while one is being made."""
        self.briefing: Briefing | None = None
        """The newest briefing; `run` needs one."""

    @property
    def about(self) -> ResponderInfo:
        """Return the names of the Responder that serves the call."""
        return self._choice.about

    @property
    def sees_pictures(self) -> bool:
        """Return whether the model understands pictures: the one that serves the call, or will be tried first."""
        return self._choice.capabilities.images

    def prefer(self, provider: str) -> None:
        """Prefer the provider of that name wherever it can serve the call; call this before `run`."""
        self._choice.prefer(provider)

    def brief(self, briefing: Briefing) -> None:
        """Replace the briefing if it differs, for this connection and those to come."""
        if briefing != self.briefing:
            self.briefing = briefing
            if self.connection:
                self.connection.brief(briefing)

    def send(self, command: ResponderCommand) -> None:
        """Send `command` in the form that the present model can take; without a connection, send nothing."""
        if (responder := self.connection) and (fitting := fit(command, responder.capabilities)):
            responder.send(fitting)

    async def run(self, on_connected: Callable[[], None], on_event: Callable[[ev.Event], None]) -> None:
        """Connect, call `on_connected`, then pass the provider's events to `on_event`; reconnect whenever it breaks.

        Raises `ResponderUnavailable` when no connection could be made for `RECONNECT_S` seconds.
        """
        self._on_event = on_event
        was_late = await self._connect_first()
        on_connected()
        if was_late:
            self._report_restored()
        while True:
            responder = self.connection
            assert responder is not None
            if self._moving is None:
                self._moving = asyncio.create_task(self._move(), name="over to another connection between turns")
            try:
                await self._receive(responder)
            except ResponderUnavailable as error:
                if responder is self.connection:
                    await self._reconnect(error)
            else:
                if responder is self.connection:
                    return  # closed by us

    def leave(self) -> None:
        """Leave the mute provider that serves the call for another, and do not come back to it."""
        if self._receiving:
            self._receiving.reschedule(0)
            self._receiving = None

    async def close(self) -> None:
        """Close the connection, if one stands. Safe to call twice."""
        await self._stop_moving()
        responder, self.connection = self.connection, None
        if responder:
            await responder.close()

    async def _receive(self, responder: Responder) -> None:
        """Pass on the events of a connection. Raises `ResponderUnavailable` if it breaks, or `leave` is called."""
        receiving = asyncio.timeout(None)
        try:
            async with receiving as self._receiving:
                await responder.receive_events(self._on_event)
        except TimeoutError:
            if not receiving.expired():
                raise
            self._choice.leave()
            raise ResponderUnavailable(MUTE) from None
        finally:
            self._receiving = None

    async def _reconnect(self, error: ResponderUnavailable) -> None:
        if not error.retryable and not self._choice.has_others:
            raise error
        self._on_event(ev.ResponderLost(str(error)))
        await self.close()
        self._stands(await self._connected())
        self._report_restored()

    def _report_restored(self) -> None:
        self._on_event(ev.ResponderRestored(self.about.responder, self.about.model, self.sees_pictures))

    async def _move(self) -> None:
        """Change, between two turns, to a preferred provider, or to a new connection before this one expires."""
        while True:
            returns = self._choice.is_second_best
            renewal_s = self._renew_at() - asyncio.get_running_loop().time()
            await asyncio.sleep(max(RENEW_LOOK_S, min(renewal_s, GO_BACK_EVERY_S if returns else LONGEST_SLEEP_S)))
            due = self._renew_at() <= asyncio.get_running_loop().time()
            if not self._at_rest() or not (returns or due) or (old := self.connection) is None:
                continue  # not between two turns, or nothing to gain, or `run` is connecting already
            connect = self._choice.connect_again if due else self._choice.connect_better
            try:
                newer = await self._attempt(connect)
            except ResponderUnavailable:
                await asyncio.sleep(GO_BACK_EVERY_S)
                continue
            if not self._at_rest() or self.connection is not old:
                await newer.close()
                continue
            before = self.about
            self._choice.take()
            self._stands(newer)  # `run` receives from it as soon as the old one is closed
            if self.about != before:
                self._report_restored()
            await old.close()

    def _renew_at(self) -> float:
        """Return the moment from which a new connection is due, on the event loop's clock."""
        if self.connection is None:
            return float("inf")
        can = self.connection.capabilities
        lasts_s = float("inf") if can.resumes else can.session_s
        return self._connected_at + max(lasts_s - RENEW_BEFORE_S, lasts_s / 2)

    def _stands(self, responder: Responder) -> None:
        self.connection, self._connected_at = responder, asyncio.get_running_loop().time()

    async def _stop_moving(self) -> None:
        task, self._moving = self._moving, None
        if task and task is not asyncio.current_task():
            await cancel_all([task])

    async def _connect_first(self) -> bool:
        """Make the call's first connection; return whether it was reported as late."""
        is_late = False

        def report() -> None:
            nonlocal is_late
            is_late = True
            self._on_event(ev.ResponderLost("It cannot be reached yet."))

        reporting = asyncio.get_running_loop().call_later(LATE_AFTER_S, report)
        try:
            self._stands(await self._connected())
        finally:
            reporting.cancel()
        return is_late

    async def _connected(self) -> Responder:
        """Return a connection that has the conversation and the newest briefing.

        Raises `ResponderUnavailable` if all attempts have failed, or another would not help.
        """
        assert self.briefing is not None
        attempts = AsyncRetrying(
            stop=stop_after_delay(RECONNECT_S),
            wait=wait_chain(*map(wait_fixed, PAUSES_S)) + wait_random(0, SPREAD_S),
            retry=retry_if_exception(lambda error: isinstance(error, ResponderUnavailable) and error.retryable),
            reraise=True,
        )
        try:
            async with asyncio.timeout(RECONNECT_S):
                return await attempts(self._attempt, self._choice.connect)
        except TimeoutError as error:
            raise ResponderUnavailable("The Responder could not be reached in time.") from error

    async def _attempt(self, connect: ResponderFactory) -> Responder:
        briefing, count = self.briefing, self._history.count
        assert briefing is not None
        responder = await connect(briefing, self._history.tail())
        for message in self._history.since(count):
            responder.send(_catch_up(message))
        if (newer := self.briefing) is not None and newer != briefing:
            responder.brief(newer)
        return responder


def fit(command: ResponderCommand, can: Capabilities) -> ResponderCommand | None:
    """Return a command in the form that a provider with these capabilities can take; None if there is no such form."""
    match command:
        case do.DeleteItem() if not can.truncates:
            return None
        case do.AddUserText(text, pictures) if pictures and not can.images:
            return do.AddUserText(f"{UNSEEN} {text}".strip())
        case do.TruncateItem(heard=words) if not can.truncates:
            return do.AddNote(HEARD_ONLY.format(words=json.dumps(words, ensure_ascii=False)))
    return command


def _catch_up(message: PastMessage) -> do.AddUserText | do.AddNote:
    if message.role == "user":
        return do.AddUserText(message.text)
    return do.AddNote(f"The caller has just heard you say: {message.text}")
