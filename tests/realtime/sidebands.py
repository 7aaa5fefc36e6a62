"""What a program beside a client does in tests, whichever process of the server it reaches."""

from __future__ import annotations

from typing import Any

from tests.realtime.test_websocket import QUESTION, TONE, WEATHER_TOOL, ask
from tests.support.realtime_client import RealtimeClient
from tests.support.realtime_peer import RealtimePeer

SCRIPT: dict[str, Any] = {
    "turns": [
        {
            "hear": QUESTION,
            "reply": {"calls": [{"name": "look_outside", "arguments": {"window": "north"}}]},
            "after_results": [{"text": "It rains.", "tone": TONE}],
        }
    ]
}


async def act_beside(client: RealtimePeer, beside: RealtimeClient) -> None:
    """Give the call a tool, make a mistake, and carry the tool out when the caller asks; the answer is heard."""
    await beside.update(tools=[WEATHER_TOOL])
    assert (await client.told("session.updated"))["session"]["tools"] == [WEATHER_TOOL]
    await beside.send("response.cancel", event_id="beside-1")
    assert (await beside.told("error"))["error"]["event_id"] == "beside-1"
    await ask(client)
    asked = await beside.told("response.function_call_arguments.done")
    await beside.told("response.done")
    output = {"type": "function_call_output", "call_id": asked["call_id"], "output": "rain"}
    await beside.send("conversation.item.create", item=output)
    await beside.send("response.create")
    await client.told("output_audio_buffer.stopped")
    assert not client.of("error"), "an error is answered to whom it is about"
