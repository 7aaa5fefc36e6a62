"""Responses outside of the conversation, deleted items, and silence, through the whole server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.extensions.realtime_endpoint.test_websocket import QUESTION, WEATHER_TOOL, ask, write
from tests.support.offline_peer import OfflinePeer, offline_peer, running_peer
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.running_server import RunningServer, running_server
from tests.support.speech import silence
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

TOPIC: dict[str, Any] = {
    "conversation": "none",
    "metadata": {"topic": "classification"},
    "output_modalities": ["text"],
    "instructions": "Name the topic.",
}


@pytest.fixture(scope="module")
def peer() -> Iterator[OfflinePeer]:
    """A peer that refuses fields unknown to the API's types."""
    with running_peer("--strict") as running:
        yield running


async def asked_of(peer: OfflinePeer, type_: str = "response.create") -> list[dict[str, Any]]:
    """The client events of that type that the Responder has received in the newest connection."""
    return [each["event"] for each in (await peer.connections())[-1]["received"] if each["type"] == type_]


async def answered(client: RealtimeClient, **response: Any) -> dict[str, Any]:
    """Ask outside of the conversation, and return the finished response."""
    count = len(client.of("response.done"))
    await client.send("response.create", response=TOPIC | response)
    done: dict[str, Any] = (await client.event("response.done", count=count + 1))["response"]
    return done


async def test_only_the_client_gets_a_response_outside_of_the_conversation(
    peer: OfflinePeer, running: RunningServer
) -> None:
    turns = [{"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": {"hz": 440, "ms": 3000}}}]
    await peer.follow({"turns": turns, "purposes": {"out_of_band": "The weather."}})
    async with realtime_client(running.url) as client:
        await client.update(tools=[WEATHER_TOOL])
        await ask(client)
        await client.event("response.output_audio.delta")
        spoken = client.of("response.created")[0]["response"]["id"]
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rain?"}]}
        done = await answered(client, input=[message], tools=[])
        assert (done["status"], done["metadata"], done["conversation_id"]) == ("completed", TOPIC["metadata"], None)
        assert done["output"][0]["content"][0]["text"] == "The weather." and done["output_modalities"] == ["text"]
        words = "".join(each["delta"] for each in client.of("response.output_text.delta"))
        assert words == "The weather." and done["id"] != spoken
        await client.event("response.done", count=2)  # the spoken one, which went on meanwhile
        added = {each["item"]["id"] for each in client.of("conversation.item.added")}
        assert done["output"][0]["id"] not in added and not client.of("error")
    sent = (await asked_of(peer))[-1]["response"]
    assert sent["conversation"] == "none" and sent["input"] == [message] and sent["tools"] == []
    assert sent["instructions"] == "Name the topic." and sent["output_modalities"] == ["text"]


async def test_such_a_response_may_use_items_of_the_conversation_and_call_a_tool() -> None:
    """The peer is not strict here: the package's types know no references, though the API does."""
    call = {"name": "look_outside", "arguments": {"window": "north"}}
    script = {"turns": [{"reply": "Hello."}], "purposes": {"out_of_band": {"calls": [call]}}}
    async with offline_peer(script) as peer:
        with running_server(peer) as running:
            async with realtime_client(running.url) as client:
                await client.update(output_modalities=["text"])
                await write(client, "Hi")
                item = (await client.event("response.done"))["response"]["output"][0]["id"]
                typed = client.of("conversation.item.added")[0]["item"]["id"]
                references = [{"type": "item_reference", "id": each} for each in (typed, item)]
                done = await answered(client, input=references, tools=[WEATHER_TOOL])
                assert done["output"][0]["name"] == "look_outside" and done["output"][0]["arguments"]
                nobody = [{"type": "item_reference", "id": "nobody"}]
                await client.send("response.create", response=TOPIC | {"input": nobody})
                assert (await client.event("error"))["error"]["code"] == "item_not_found"
        sent = (await asked_of(peer))[-1]["response"]
    assert sent["input"][0]["content"][0]["text"] == "Hi" and sent["input"][1]["type"] == "item_reference"
    assert [tool["name"] for tool in sent["tools"]] == ["look_outside"], "the server's own tools are not offered"


async def test_such_a_response_with_audio_is_sent_and_may_be_cancelled(
    peer: OfflinePeer, running: RunningServer
) -> None:
    long = {"text": "A long story.", "tone": {"hz": 440, "ms": 20_000}, "pace": 1}
    await peer.follow({"turns": [], "purposes": {"out_of_band": long}})
    async with realtime_client(running.url) as client:
        await client.send("response.create", response=TOPIC | {"output_modalities": ["audio"]})
        response = (await client.event("response.output_audio.delta"))["response_id"]
        await client.send("response.cancel", response_id=response)
        done = (await client.event("response.done"))["response"]
        assert (done["id"], done["status"]) == (response, "cancelled")
        await client.update(audio={"output": {"format": {"type": "audio/pcmu"}}})
        await client.send("response.create", event_id="mine", response=TOPIC | {"output_modalities": ["audio"]})
        error = (await client.event("error"))["error"]
        assert (error["param"], error["event_id"]) == ("response.output_modalities", "mine")


async def test_a_deleted_message_is_deleted_at_the_responder_too(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "Hello."}}]})
    async with realtime_client(running.url) as client:
        await client.update(output_modalities=["text"])
        for text in ("Forget me.", "Keep me."):
            content = [{"type": "input_text", "text": text}]
            await client.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        await until(lambda: len(client.of("conversation.item.done")) == 2)
        first = client.of("conversation.item.added")[0]["item"]["id"]
        await client.send("conversation.item.retrieve", item_id=first)
        assert (await client.event("conversation.item.retrieved"))["item"]["content"][0]["text"] == "Forget me."
        await client.send("response.create")
        await client.event("response.done")
        await client.send("conversation.item.delete", item_id=first)
        assert (await client.event("conversation.item.deleted"))["item_id"] == first
        await client.send("conversation.item.retrieve", item_id=first)
        assert (await client.event("error"))["error"]["code"] == "item_retrieve_invalid_item_id"
        await asyncio.sleep(0.2)
    made = [each["item"].get("id") for each in await asked_of(peer, "conversation.item.create")]
    (deleted,) = await asked_of(peer, "conversation.item.delete")
    assert first in made and deleted["item_id"] == first
    sent = (await peer.connections())[-1]["sent"]
    assert not [each for each in sent if each["type"] == "error"]


async def test_a_silent_client_gets_a_timeout_event_and_a_reply(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [], "purposes": {"nudge": {"text": "Are you there?", "tone": {"hz": 440, "ms": 200}}}})
    async with realtime_client(running.url) as client:
        detection = {"type": "server_vad", "idle_timeout_ms": 100}
        await client.send(
            "session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": detection}}}
        )
        refused = (await client.event("error"))["error"]
        assert refused["param"] == "session.audio.input.turn_detection.idle_timeout_ms"
        await client.update(audio={"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000}}})
        await client.say(silence(500))
        silent = await client.event("input_audio_buffer.timeout_triggered", 12)
        await client.event("response.done")
        committed = client.of("input_audio_buffer.committed")
        assert [each["item_id"] for each in committed] == [silent["item_id"]]
        assert 0 <= silent["audio_start_ms"] <= silent["audio_end_ms"]
        assert client.of("response.done")[0]["response"]["output"][0]["content"][0]["transcript"] == "Are you there?"
