"""The choice of a provider, from the results of calls and probes. Time is a number; the test plays the providers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from backend.errors import ResponderRejected, ResponderUnavailable
from backend.responders import failover
from backend.responders.base import Briefing, Endpointer, PastMessage
from backend.responders.failover import Provider, ProviderChoice, Providers, ResponderInfo
from backend.responders.openai_models import capabilities_of
from backend.testing.responder import ScriptedResponder

BRIEFING = Briefing("be kind")

CAN = capabilities_of("gpt-realtime-2")


class Peer:
    """A provider that can be away, and counts its connections and probes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.trouble: ResponderUnavailable | None = None
        self.hangs = False
        self.dials = self.probes = 0

    async def connect(self, briefing: Briefing, history: Sequence[PastMessage]) -> ScriptedResponder:
        self.dials += 1
        await self._answer()
        return ScriptedResponder()

    async def probe(self) -> None:
        self.probes += 1
        await self._answer()

    async def _answer(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble:
            raise self.trouble


class World:
    """Peers in order of preference, and the clock."""

    def __init__(self, *names: str) -> None:
        self.now = 100.0
        self.peers = [Peer(name) for name in names]
        self.providers = Providers(
            Provider(p.name, ResponderInfo(p.name, "m", offline=False), p.connect, p.probe, CAN, now=lambda: self.now)
            for p in self.peers
        )

    def choice(self) -> ProviderChoice:
        return ProviderChoice(self.providers)

    async def call(self) -> ProviderChoice:
        """The provider of a call that is connected."""
        made = self.choice()
        await made.connect(BRIEFING, ())
        return made

    @property
    def dials(self) -> list[int]:
        return [peer.dials for peer in self.peers]


def away() -> ResponderUnavailable:
    return ResponderUnavailable("refused")


async def test_a_new_call_takes_the_first_healthy_provider() -> None:
    world = World("one", "two")
    world.peers[0].trouble = away()
    call = await world.call()
    assert call.about.responder == "two" and call.is_second_best
    later = await world.call()
    assert later.about.responder == "two" and world.dials == [1, 2], "the failed one is left alone"
    world.now += failover.REST_S
    world.peers[0].trouble = None
    last = await world.call()
    assert last.about.responder == "one" and not last.is_second_best


async def test_an_unresponsive_provider_delays_a_new_call_only_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "DIAL_WITHIN_S", 0.05)
    world = World("one", "two")
    world.peers[0].hangs = True
    call = world.choice()
    async with asyncio.timeout(10):
        await call.connect(BRIEFING, ())
    assert call.about.responder == "two"
    assert "in time" in world.providers.states()["one"]


@pytest.mark.parametrize("trouble", [ResponderUnavailable("refused"), ResponderRejected("bad key")])
async def test_a_call_that_loses_its_connection_goes_on_with_the_next_provider_if_its_own_is_away(
    trouble: ResponderUnavailable,
) -> None:
    world = World("one", "two")
    call = await world.call()
    await call.connect(BRIEFING, ())
    assert call.about.responder == "one"
    world.peers[0].trouble = trouble
    await call.connect(BRIEFING, ())
    assert call.about.responder == "two" and world.dials == [3, 1]


async def test_the_endpointer_is_a_side_that_can_with_the_providers_model() -> None:
    endpointings: list[str] = []

    async def connect(briefing: Briefing, history: Sequence[PastMessage]) -> ScriptedResponder:
        endpointings.append(briefing.endpointing)
        raise ResponderUnavailable("refused")

    about = ResponderInfo("p", "m", offline=False)
    models = (CAN, replace(CAN, endpointers=frozenset({"local"})), replace(CAN, endpointers=frozenset({"provider"})))
    choice = ProviderChoice(
        Providers([Provider("p", about, connect, World("a").peers[0].probe, can) for can in models])
    )
    for wanted in get_args(Endpointer):
        with pytest.raises(ResponderUnavailable):
            await choice.connect(replace(BRIEFING, endpointing=wanted), [])
    assert endpointings == ["local", "local", "provider", "provider", "local", "provider"]


async def test_without_a_healthy_provider_all_are_tried_and_the_temporary_error_is_raised() -> None:
    world = World("one", "two")
    world.peers[0].trouble, world.peers[1].trouble = away(), ResponderRejected("bad key")
    call = world.choice()
    for tries in (1, 2, 3):
        with pytest.raises(ResponderUnavailable) as failure:
            await call.connect(BRIEFING, ())
        assert failure.value.retryable and world.dials == [tries, tries]


async def test_a_call_returns_to_a_preferred_provider_after_a_successful_probe() -> None:
    world = World("one", "two")
    world.peers[0].trouble = away()
    call = await world.call()
    for _ in range(5):
        with pytest.raises(ResponderUnavailable):
            await call.connect_better(BRIEFING, ())
    assert world.peers[0].probes == 0, "it has failed a moment ago"
    world.now += failover.REST_S
    world.peers[0].trouble = None
    await call.connect_better(BRIEFING, ())
    assert call.about.responder == "two", "until it is taken"
    call.take()
    assert call.about.responder == "one" and not call.is_second_best


async def test_readiness_is_up_to_date_with_few_probes() -> None:
    world = World("one")
    peer = world.peers[0]
    peer.trouble = away()
    assert "refused" in await world.providers.readiness(), "a server that never had a provider is not ready"
    peer.trouble = None
    assert "refused" in await world.providers.readiness() and peer.probes == 1
    world.now += failover.REST_S
    assert await world.providers.readiness() == "ok", "it recovers without a call"
    for _ in range(20):
        assert await world.providers.readiness() == "ok"
    assert peer.probes == 2
    peer.trouble = away()
    world.now += failover.FRESH_S
    assert "refused" in await world.providers.readiness(), "it notices an outage without a call"


async def test_probes_have_a_time_limit_and_run_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "PROBE_WITHIN_S", 0.05)
    world = World("one", "two")
    world.peers[0].hangs = True
    world.peers[1].trouble = away()
    async with asyncio.timeout(10):
        answers = await asyncio.gather(*(world.providers.readiness() for _ in range(10)))
    assert {answer.count(";") for answer in answers} == {1} and "in time" in answers[0] and "two: refused" in answers[0]
    assert [peer.probes for peer in world.peers] == [1, 1]


async def test_a_call_leaves_a_mute_provider_and_does_not_return_to_it() -> None:
    world = World("one", "two")
    call = await world.call()
    call.leave()
    async with asyncio.timeout(10):
        await call.connect(BRIEFING, ())
    assert call.about.responder == "two" and world.dials == [1, 1] and not call.is_second_best
    other = await world.call()
    assert other.about.responder == "two", "other calls learn of it"
    world.now += failover.REST_S
    assert await world.providers.all[0].check() and not call.is_second_best


async def test_a_mute_provider_is_better_than_none() -> None:
    world = World("one", "two")
    call = await world.call()
    call.leave()
    world.peers[1].trouble = away()
    with pytest.raises(ResponderUnavailable):
        await call.connect(BRIEFING, ())
    await call.connect(BRIEFING, ())
    assert call.about.responder == "one" and world.dials == [2, 2]
