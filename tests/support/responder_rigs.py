"""The providers' modules, each with a strict peer of its own, for the contract of Responders."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Capabilities, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.openai_models import capabilities_of
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from backend.testing.offline.schema_checked import STRICT
from backend.turns import events as ev
from tests.support.of_extensions import of_extensions
from tests.support.offline_peer import OfflinePeer

VOICE = Voice("gpt-realtime-2", "shimmer", "gpt-4o-mini-transcribe")
WITHIN_S = 5.0


@dataclass
class Line:
    """One connection to a strict peer, with all its events."""

    responder: Responder
    peer: OfflinePeer
    refuses_with: frozenset[str]
    events: list[ev.Event] = field(default_factory=list)
    failure: ResponderUnavailable | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Keep the provider's events."""

        def keep(event: ev.Event) -> None:
            self.events.append(event)
            self._changed.set()

        try:
            await self.responder.receive_events(keep)
        except ResponderUnavailable as error:
            self.failure = error
            self._changed.set()

    def all(self, kind: type[ev.Event]) -> list[Any]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, found: Callable[[], object]) -> None:
        """Wait until `found` is true, looking after each event."""
        async with asyncio.timeout(WITHIN_S):
            while not found():
                self._changed.clear()
                await self._changed.wait()

    async def refused(self) -> list[str]:
        """The peer's complaints about its input: its errors, or the reason why it hung up."""
        logs = await self.peer.connections()
        if closed := [log["closed"] for log in logs if str(log["closed"]).startswith("closed 1007")]:
            return closed
        errors = [entry["event"]["error"] for log in logs for entry in log["sent"] if entry["type"] == "error"]
        return [error["message"] for error in errors if self.refuses_with & {error["code"], error["type"]}]

    async def received(self, type_: str) -> list[dict[str, Any]]:
        """The client events of a type on the newest connection."""
        log = (await self.peer.connections())[-1]
        return [entry["event"] for entry in log["received"] if entry["type"] == type_]


Connect = Callable[[OfflinePeer, Briefing, Sequence[PastMessage]], Any]


@dataclass(frozen=True)
class Provider:
    """A provider's module, its strict peer, and its differences from the others."""

    name: str
    """The name of the peer."""
    connect: Connect
    can: Capabilities
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a server with this provider, if an address is not enough."""
    lacks: str = ""
    """The setting that the error names if it is missing."""
    leaves_out: Mapping[str, str] = field(default_factory=dict)
    """Tests of the contract that it does not pass, by name, with the reasons."""
    retry_after_s: float = 1.5
    """The wait that it reads from a rate limit of 1.5 s."""
    tokens_heard: int = 2
    """Tokens of a turn of 200 ms."""
    names_refused: bool = True
    """Whether it names the event that it refuses."""
    refuses_with: frozenset[str] = frozenset({STRICT})
    """The codes, or types, of its errors about unknown events."""


async def _openai(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    return await connect_realtime(RealtimeEndpoint(peer.realtime_url, "k", VOICE), briefing, history)


OPENAI = Provider("openai", _openai, capabilities_of(VOICE.model), {"openai_api_key": "k"}, "OPENAI_API_KEY")
"""OpenAI's Realtime API. The providers of extensions are in the `providers.py` of their tests."""


def providers() -> list[Provider]:
    """Return the provider of the core, and those of the installed extensions."""
    return [OPENAI, *(each for module in of_extensions("providers") for each in module.PROVIDERS)]


@asynccontextmanager
async def line(
    provider: Provider, peer: OfflinePeer, script: dict[str, Any], briefing: Briefing, *history: PastMessage
) -> AsyncIterator[Line]:
    """A connection to a peer that follows `script`. At the end, the peer must have refused nothing."""
    await peer.follow(script)
    made = Line(await provider.connect(peer, briefing, history), peer, provider.refuses_with)
    listening = asyncio.create_task(made.listen())
    try:
        yield made
        assert await made.refused() == []
    finally:
        await made.responder.close()
        await listening
