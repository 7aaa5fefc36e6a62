"""The Responder is connected when the caller arrives, since it costs money from then on."""

import asyncio

import pytest

from backend.errors import NeverConnected
from backend.testing.transport import FakeTransport
from responder_thinker.signalling import Signalling
from tests.call.world import placed_call, settle
from tests.support.offers import CHROMIUM
from tests.support.offline_peer import offline_peer
from tests.support.running_server import a_browser, running_server
from tests.support.running_server import placed_call as real_call

OFFERS = 200


async def test_the_responder_is_connected_when_the_caller_arrives() -> None:
    transport = FakeTransport(arrived=False)
    async with placed_call(transport=transport) as call:
        await settle()
        assert not call.responders and not call.events
        transport.arrive()
        await settle()
        assert len(call.responders) == 1
        assert call.events[0].type == "session_started"


async def test_no_responder_is_connected_for_a_caller_who_never_arrives() -> None:
    transport = FakeTransport(arrived=False)
    async with placed_call(transport=transport) as call:
        transport.finish(NeverConnected("The caller did not connect in time."))
        assert await asyncio.wait_for(call.task, 20) == "never_connected"
        assert not call.responders and transport.closed


async def test_typed_input_waits_for_the_caller_but_a_hang_up_does_not() -> None:
    transport = FakeTransport(arrived=False)
    async with placed_call(transport=transport) as call:
        call.session.live_call().type_text("hello")
        await settle()
        assert not call.responders
        call.session.live_call().hang_up("disconnected")
        assert await asyncio.wait_for(call.task, 20) == "disconnected"
        assert not call.responders


@pytest.mark.slow
async def test_offers_that_never_connect_open_no_session_at_the_provider() -> None:
    async with offline_peer() as peer:
        with running_server(peer, SESSION_CAP="0") as server:
            async with a_browser(server) as http:
                for _ in range(OFFERS):
                    answer, _ticket = await Signalling(http).offer(CHROMIUM)
                    assert "a=ice-pwd" in answer
                    http.cookies.clear()
            await asyncio.sleep(1.0)
            assert await peer.connections() == []
            async with real_call(server):
                assert len(await peer.connections()) == 1
