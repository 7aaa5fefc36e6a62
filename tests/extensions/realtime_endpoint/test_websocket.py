"""`/v1/realtime` through the whole server: plain events at one end, a scripted Responder process at the other."""

import asyncio
from typing import Any

import pytest

from backend.media import g711
from backend.media.resample import resample
from tests.support.offline_peer import OfflinePeer
from tests.support.pictures import data_url, png
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.running_server import RunningServer
from tests.support.speech import silence, speech
from tests.support.tones import pitch

pytestmark = pytest.mark.realtime

QUESTION = "what is the weather in Seattle"
TONE: dict[str, Any] = {"hz": 440, "ms": 1000}
WEATHER_TOOL = {
    "type": "function",
    "name": "look_outside",
    "description": "Look out of the window.",
    "parameters": {"type": "object", "properties": {"window": {"type": "string"}}},
}


async def ask(client: RealtimeClient, words: str = QUESTION) -> None:
    await client.say(silence(200) + speech(words) + silence(900))


async def write(client: RealtimeClient, words: str) -> None:
    content = [{"type": "input_text", "text": words}]
    await client.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
    await client.send("response.create")


async def test_a_spoken_question_is_transcribed_answered_and_sent(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": TONE}}]})
    async with realtime_client(running.url) as client:
        await client.event("session.created")
        await client.update(instructions="You are a weather station.")
        await ask(client)
        done = (await client.event("response.done"))["response"]
    order = [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.input_audio_transcription.completed",
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]
    assert set(order) <= set(client.types())
    assert done["status"] == "completed" and done["usage"]["total_tokens"] > 0
    item = done["output"][0]
    assert item["content"][0]["transcript"] == "It is sunny."
    heard = bytes(client.sound[item["id"]])
    assert abs(len(heard) / 48 - 1000) <= 20 and abs(pitch(heard[9600:38400]) - 440) < 15
    assert client.of("conversation.item.input_audio_transcription.completed")[0]["transcript"] == QUESTION
    assert client.types().index("response.done") > client.types().index("response.output_audio.done")
    assert not client.of("error")
    instructions = (await peer.connections())[-1]["received"][0]["event"]["session"]["instructions"]
    assert instructions.startswith("You are a weather station.") and "route_to_thinker" in instructions


async def test_speech_over_a_reply_is_announced_before_the_reply_is_cut(
    peer: OfflinePeer, running: RunningServer
) -> None:
    """A client cuts its own playback on `speech_started`; after `response.done` it may count all as heard."""
    story = {"text": "A long story.", "tone": {"hz": 440, "ms": 8000}}
    await peer.follow({"turns": [{"reply": story}, {"hear": QUESTION, "reply": {"text": "It is sunny."}}]})
    async with realtime_client(running.url) as client:
        await write(client, "Tell me a story.")
        await client.event("response.output_audio.delta", count=50)
        await ask(client)
        done = await client.event("response.done")
    assert done["response"]["status"] == "cancelled"
    assert client.types().index("input_audio_buffer.speech_started") < client.types().index("response.done")


async def test_without_thinkers_the_server_is_a_plain_relay(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "Hello."}}]})
    async with realtime_client(running.url) as client:
        await client.update(instructions="Say hello.", tools=[], thinkers=False)
        await write(client, "Hi")
        await client.event("response.done")
    session = (await peer.connections())[-1]["received"][0]["event"]["session"]
    assert session["instructions"] == "Say hello." and session["tools"] == []


async def test_a_tool_of_the_clients_is_called_there(peer: OfflinePeer, running: RunningServer) -> None:
    call = {"name": "look_outside", "arguments": {"window": "north"}}
    turn = {"hear": QUESTION, "reply": {"calls": [call]}, "after_results": [{"text": "It rains.", "tone": TONE}]}
    await peer.follow({"turns": [turn]})
    async with realtime_client(running.url) as client:
        shown = await client.update(tools=[WEATHER_TOOL])
        assert shown["tools"] == [WEATHER_TOOL]
        await ask(client)
        asked = await client.event("response.function_call_arguments.done")
        assert (asked["name"], asked["arguments"]) == ("look_outside", '{"window": "north"}')
        await client.event("response.done")
        output = {"type": "function_call_output", "call_id": asked["call_id"], "output": "rain"}
        await client.send("conversation.item.create", item=output)
        await asyncio.sleep(0.3)
        assert len(client.of("response.created")) == 1, "an output alone asks for nothing"
        await client.send("response.create")
        done = await client.event("response.done", count=2)
    assert done["response"]["output"][0]["content"][0]["transcript"] == "It rains."
    names = {tool["name"] for tool in (await peer.connections())[-1]["received"][0]["event"]["session"]["tools"]}
    assert names == {"look_outside", "route_to_thinker", "wait_for_user"}


async def test_a_picture_in_a_message_reaches_the_model_and_is_not_echoed(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow({"turns": [{"reply": {"text": "Hello."}}]})
    picture = {"type": "input_image", "image_url": data_url(png(40, 30)), "detail": "low"}
    content = [{"type": "input_text", "text": "What is this?"}, picture]
    broken = {"type": "input_image", "image_url": "https://example.org/cat.png"}
    async with realtime_client(running.url) as client:
        for parts in (content, [broken]):
            await client.send("conversation.item.create", item={"type": "message", "role": "user", "content": parts})
        await client.send("response.create")
        done = (await client.event("response.done"))["response"]
        [added] = [event for event in client.of("conversation.item.added") if event["item"]["role"] == "user"]
    assert done["output"][0]["content"][0]["transcript"] == "I have got 1 picture: a PNG of 40 by 30."
    assert added["item"]["content"] == [content[0], {"type": "input_image", "detail": "low"}]
    [fault] = [event["error"] for event in client.of("error")]
    assert fault["param"] == "item.content[0].image_url" and "JPEG and PNG" in fault["message"]


async def test_audio_is_spoken_and_heard_in_g711(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"hear": QUESTION, "reply": {"text": "Sunny.", "tone": TONE}}]})
    for law, name in ((g711.Law.MU, "audio/pcmu"), (g711.Law.A, "audio/pcma")):
        async with realtime_client(running.url) as client:
            await client.update(audio={"input": {"format": {"type": name}}, "output": {"format": {"type": name}}})
            asked = resample(silence(200) + speech(QUESTION) + silence(900), 24_000, 8_000)
            await client.say(g711.encode(asked, law), bytes_per_ms=8)
            done = (await client.event("response.done"))["response"]
            heard = g711.decode(bytes(client.sound[done["output"][0]["id"]]), law)
        assert abs(len(heard) / 16 - 1000) <= 40
        assert abs(pitch(resample(heard[3200:12800], 8_000, 24_000)) - 440) < 15
        await peer.follow({"turns": [{"hear": QUESTION, "reply": {"text": "Sunny.", "tone": TONE}}]})


async def test_a_reply_is_cancelled_by_its_client(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(
        {"turns": [{"reply": {"text": "A long story.", "tone": {"hz": 440, "ms": 5000}}}, {"reply": "Yes."}]}
    )
    async with realtime_client(running.url) as client:
        await write(client, "Tell me a story.")
        item = (await client.event("response.output_audio.delta"))["item_id"]
        await client.send("response.cancel")
        done = (await client.event("response.done"))["response"]
        assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "client_cancelled")
        await client.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=100)
        await client.event("conversation.item.truncated")
        await client.send("conversation.item.retrieve", item_id=item)
        assert (await client.event("conversation.item.retrieved"))["item"]["status"] == "incomplete"
        await client.send("response.create")
        await client.event("response.done", count=2)
