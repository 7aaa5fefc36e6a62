"""A program that follows a call by its id, at another process than that of the call."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import psutil
import pytest
from websockets.exceptions import InvalidStatus

from tests.extensions.realtime_endpoint.sidebands import SCRIPT, act_beside, following, refusal
from tests.extensions.realtime_endpoint.test_webrtc import with_secret
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_client import RealtimeClient
from tests.support.realtime_peer import RealtimePeer
from tests.support.running_server import RunningServer
from tests.support.two_servers import two_servers

pytestmark = pytest.mark.realtime

LEFT_WITHIN_S = 5.0
NOTICED_WITHIN_S = 20.0
"""Twelve seconds without an answer, a check every four, and three for an answer to come."""


@asynccontextmanager
async def call_at(one: RunningServer, other: RunningServer) -> AsyncIterator[tuple[RealtimePeer, RealtimeClient, str]]:
    """A call at `one`, a program at `other` that follows it, and the secret of both."""
    async with with_secret(one) as (client, secret), following(other, client, secret) as beside:
        yield client, beside, secret


@asynccontextmanager
async def there_again(other: RunningServer, call: RealtimePeer, secret: str) -> AsyncIterator[RealtimeClient]:
    """Follow as soon as possible: the call's process hears of departed programs with a delay."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(LEFT_WITHIN_S):
            while True:
                try:
                    client = await stack.enter_async_context(following(other, call, secret))
                    break
                except InvalidStatus as refused:
                    assert refused.response.status_code == 429
                    await asyncio.sleep(0.2)
        yield client


async def test_the_program_follows_and_acts_as_at_the_calls_process(peer: OfflinePeer) -> None:
    await peer.follow(SCRIPT)
    with two_servers(peer, SHARE_SESSIONS="true") as (one, other):
        async with call_at(one, other) as (client, beside, secret):
            await act_beside(client, beside)
            await beside.socket.send(b"no text")
            assert (await beside.event("error", count=2))["error"]["code"] == "invalid_json"
            await beside.event("output_audio_buffer.stopped")
            shared = [type_ for type_ in client.types() if type_ in set(beside.types())]
            assert [each for each in beside.types() if each != "error"] == shared, "the same events in the same order"

            async with AsyncExitStack() as stack:
                for _ in range(3):
                    await stack.enter_async_context(following(other, client, secret))
                assert (await refusal(other, client.call_id, secret)).status_code == 429
            async with there_again(other, client, secret) as again:
                await client.connection.close()
                async with asyncio.timeout(NOTICED_WITHIN_S):
                    await again.socket.wait_closed()
                    await beside.socket.wait_closed()
                assert again.socket.close_code == beside.socket.close_code == 1000


async def test_the_program_is_disconnected_when_the_calls_process_dies(peer: OfflinePeer) -> None:
    with two_servers(peer, SHARE_SESSIONS="true") as (one, other):
        async with call_at(one, other) as (_, beside, _):
            for child in psutil.Process(one.pid).children(recursive=True):
                child.kill()
            os.kill(one.pid, signal.SIGKILL)
            async with asyncio.timeout(NOTICED_WITHIN_S):
                await beside.socket.wait_closed()
            assert beside.socket.close_code == 1000
