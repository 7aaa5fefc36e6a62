"""The choice of a call's provider: the first healthy one, the next when it dies, the better one again between turns.

    a call begins      the first provider in the operator's order with a closed breaker; if it cannot be reached, the
                       next, without a pause
    its line dies      the same, which may be the provider it had: every new connection is given the history
    none is healthy    all of them in order, again and again, until the call gives up
    it is mute         the first healthy other; not the mute one, in this call, while any other can be reached
    a better one is    dialled beside the line that stands, given the history, and taken between two turns
    back

A provider's breaker is opened and closed by what calls live through: each attempt to connect is evidence. Without one
for a while, a question (`/readyz`, a call that would rather be back) causes a probe.
Probes run one at a time, within `PROBE_WITHIN_S`, and no sooner than `REST_S` after a failure or `FRESH_S` after a
success.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Capabilities, Endpointer, PastMessage, Responder, ResponderFactory

DIAL_WITHIN_S = 2.5
"""Seconds one attempt may take while there are other providers to try."""
REST_S = 5.0
"""Seconds a provider that failed is left alone while others are healthy."""
FRESH_S = 30.0
"""Seconds for which a success is believed without another look."""
PROBE_WITHIN_S = 2.0
"""Seconds a probe may take."""
MUTE = "The Responder is connected and says nothing."
"""What is wrong with a provider that a call has left."""
NEVER = float("-inf")
Clock = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResponderInfo:
    """The names of the Responder and its model, as the page shows them when a call begins."""

    responder: str
    model: str
    offline: bool
    """True for the local Responder, which needs no key."""


@dataclass(slots=True, eq=False)
class Provider:
    """One provider of a Responder, and its health: a breaker that calls and probes open and close."""

    name: str
    """The name in RESPONDERS."""
    about: ResponderInfo
    connect: ResponderFactory
    probe: Callable[[], Awaitable[None]]
    """A free check whether `connect` would work. Raises `ResponderUnavailable`."""
    capabilities: Capabilities
    """What its model can do."""
    at: str = ""
    """Its address, for the operator: ' at https://…'."""
    voice: str = ""
    """The voice of callers who have not chosen one."""
    now: Clock = time.monotonic
    _trouble: str = ""
    _seen_at: float = NEVER
    _probing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def state(self) -> str:
        """Return 'ok', what is wrong, or 'not tried yet'."""
        return self._trouble or ("ok" if self._seen_at > NEVER else "not tried yet")

    @property
    def is_healthy(self) -> bool:
        """Return whether its last call or probe was a success."""
        return self.state == "ok"

    def allows(self) -> bool:
        """Return whether a call may try it now; after a failure, one call tries it for all."""
        if not self._trouble:
            return True
        if self.now() < self._seen_at + REST_S:
            return False
        self._seen_at = self.now()
        return True

    async def dial(self, briefing: Briefing, history: Sequence[PastMessage], within_s: float | None) -> Responder:
        """Connect within that time, if one is given, and note how it went. Raises `ResponderUnavailable`."""
        briefing = replace(briefing, endpointing=self.capabilities.endpointer(briefing.endpointing))
        return await self._noted(self.connect(briefing, history), within_s)

    async def check(self) -> bool:
        """Return whether the provider is healthy; probe it if the last result is too old."""
        async with self._probing:
            known_for_s = FRESH_S if self.is_healthy else REST_S
            if self.now() >= self._seen_at + known_for_s:
                with suppress(ResponderUnavailable):
                    await self._noted(self.probe(), PROBE_WITHIN_S)
        return self.is_healthy

    def note(self, error: ResponderUnavailable | None) -> None:
        """Open the breaker with what is wrong, or close it."""
        self._trouble = f"{error} {error.hint}".strip() if error else ""
        self._seen_at = self.now()

    async def _noted(self, work: Awaitable[T], within_s: float | None) -> T:
        """Return the outcome of an attempt, and note how it went."""
        try:
            async with asyncio.timeout(within_s):
                outcome = await work
        except TimeoutError:
            late = ResponderUnavailable("The Responder did not answer in time.")
            self.note(late)
            raise late from None
        except ResponderUnavailable as error:
            self.note(error)
            raise
        self.note(None)
        return outcome


class Providers:
    """All providers of a server, in the operator's order."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self.all = tuple(providers)

    @property
    def first(self) -> Provider:
        """Return the provider that is preferred to all others."""
        return self.all[0]

    @property
    def endpointers(self) -> frozenset[Endpointer]:
        """Return who may decide that the caller has finished with every provider. Empty: the providers differ, so each
        connection decides.
        """
        return frozenset.intersection(*(each.capabilities.endpointers for each in self.all))

    def without(self, endpointer: Endpointer) -> list[str]:
        """Return the names of the providers with a model that cannot have its turns decided so."""
        return [each.name for each in self.all if endpointer not in each.capabilities.endpointers]

    def preferring(self, name: str) -> Providers:
        """Return the same providers, with their health, for a call that prefers the one of that name."""
        return Providers(sorted(self.all, key=lambda each: each.name != name))

    def states(self) -> dict[str, str]:
        """Return each provider's state, by its name."""
        return {each.name: each.state for each in self.all}

    async def readiness(self) -> str:
        """Return 'ok' when a call would find a healthy provider now, else what is wrong with each."""
        if any(await asyncio.gather(*(each.check() for each in self.all))):
            return "ok"
        if len(self.all) == 1:
            return self.first.state
        return "; ".join(f"{name}: {state}" for name, state in self.states().items())


class ProviderChoice:
    """The provider of one call."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._current: Provider | None = None
        self._offered: Provider | None = None
        self._left: list[Provider] = []

    def prefer(self, name: str) -> None:
        """Prefer the provider of that name to all others; call it before the first connection."""
        self._providers = self._providers.preferring(name)

    @property
    def about(self) -> ResponderInfo:
        """Return the names of the provider that serves the call, or would be tried first."""
        return self._provider.about

    @property
    def capabilities(self) -> Capabilities:
        """Return the abilities of that provider's model."""
        return self._provider.capabilities

    @property
    def _provider(self) -> Provider:
        return self._current or self._providers.first

    @property
    def has_others(self) -> bool:
        """Return whether there is another provider to go on with."""
        return len(self._providers.all) > 1

    @property
    def is_second_best(self) -> bool:
        """Return whether the call is with a provider that another is preferred to."""
        return bool(self._current and self._better())

    async def connect(self, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        """Make a connection with the provider that should serve the call now; try each once. Raises
        `ResponderUnavailable`; it is retryable unless every provider refuses for good.
        """
        failure: ResponderUnavailable | None = None
        within_s = DIAL_WITHIN_S if self.has_others else None
        for each in self._candidates():
            try:
                responder = await each.dial(briefing, history, within_s)
                self._current = each
                return responder
            except ResponderUnavailable as error:
                failure = error if failure is None or error.retryable else failure
        assert failure is not None
        raise failure

    async def connect_better(self, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        """Make a connection with a preferred provider; the call changes to it with `take`.

        Raises `ResponderUnavailable` where none is healthy.
        """
        for each in self._better():
            if await each.check():
                try:
                    responder = await each.dial(briefing, history, DIAL_WITHIN_S)
                except ResponderUnavailable:
                    continue
                self._offered = each
                return responder
        raise ResponderUnavailable("No preferred provider is healthy.")

    async def connect_again(self, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        """Make another connection with the current provider; the call changes to it with `take`.

        Raises `ResponderUnavailable`.
        """
        assert self._current
        responder = await self._current.dial(briefing, history, None)
        self._offered = self._current
        return responder

    def take(self) -> None:
        """Change to the connection that `connect_better` or `connect_again` has made."""
        assert self._offered
        self._current = self._offered

    def leave(self) -> None:
        """Give up the provider of the call, which is mute; other calls learn of it by its breaker."""
        if self._current:
            self._left.append(self._current)
            self._current.note(ResponderUnavailable(MUTE))

    def _candidates(self) -> list[Provider]:
        """Return the providers to try now, in order, with abandoned ones last; all if none is healthy."""
        providers = self._providers.all
        allowed = [each for each in providers if each.allows()] or providers
        return sorted(allowed, key=self._left.__contains__)

    def _better(self) -> list[Provider]:
        providers = self._providers.all
        preferred = providers[: providers.index(self._current)] if self._current else []
        return [each for each in preferred if each not in self._left]
