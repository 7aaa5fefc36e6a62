"""The actions of a program beside a client, at any process of the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from tests.extensions.realtime_endpoint.test_websocket import QUESTION, TONE, WEATHER_TOOL, ask
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.realtime_peer import RealtimePeer
from tests.support.running_server import RunningServer

SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "hear": QUESTION,
            "reply": {"calls": [{"name": "look_outside", "arguments": {"window": "north"}}]},
            "after_results": [{"text": "It rains.", "tone": TONE}],
        }
    ]
}


@asynccontextmanager
async def following(server: RunningServer, client: RealtimePeer, key: str) -> AsyncIterator[RealtimeClient]:
    """A program that follows the client's call at this server. Raises `InvalidStatus` when it is refused."""
    async with realtime_client(server.url, key=key, query=f"call_id={client.call_id}") as beside:
        assert (await beside.event("session.created"))["session"]["id"] == f"sess_{client.call_id[4:]}"
        yield beside


async def refusal(server: RunningServer, call_id: str, key: str) -> Response:
    """The answer to a program that may not follow a call."""
    with pytest.raises(InvalidStatus) as refused:
        async with realtime_client(server.url, key=key, query=f"call_id={call_id}"):
            pass
    return refused.value.response


async def act_beside(client: RealtimePeer, beside: RealtimeClient) -> None:
    """Give the call a tool, make a mistake, and carry the tool out when the caller asks; the answer is heard."""
    await beside.update(tools=[WEATHER_TOOL])
    assert (await client.event("session.updated"))["session"]["tools"] == [WEATHER_TOOL]
    await beside.send("response.cancel", event_id="beside-1")
    assert (await beside.event("error"))["error"]["event_id"] == "beside-1"
    await ask(client)
    asked = await beside.event("response.function_call_arguments.done")
    await beside.event("response.done")
    output = {"type": "function_call_output", "call_id": asked["call_id"], "output": "rain"}
    await beside.send("conversation.item.create", item=output)
    await beside.send("response.create")
    await client.event("output_audio_buffer.stopped")
    assert not client.of("error"), "only the sender of a mistake gets the error"
