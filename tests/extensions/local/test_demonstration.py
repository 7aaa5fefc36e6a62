"""The demonstration end to end: real speech is understood over the wire, and real speech comes back."""

from __future__ import annotations

import json

import numpy as np

from backend.extensions.local.dialogue.routing import Specialist, routing_of
from tests.extensions.local.flite import VOICES, spoken_by
from tests.extensions.local.orders import route_of
from tests.realtime.talking import MANUAL, message
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.realtime_events import Event

WITHIN_S = 30.0
ROUTE = route_of("knowledge", "weather")
SENTENCES = (
    # the sentence, the domain it goes to (None: answered without one), and the words to hear
    ("what's the weather in seattle", "weather", "Seattle"),
    ("what is the weather like in new york today", "weather", "New York"),
    ("will it rain in london tomorrow", "weather", "London"),
    ("how cold is it in chicago", "weather", "Chicago"),
    ("do i need an umbrella in paris", "weather", "Paris"),
    ("what's the temperature in tokyo", "weather", "Tokyo"),
    ("what is the capital of france", "knowledge", "France"),
    ("who wrote hamlet", "knowledge", "Hamlet"),
    ("why is the sky blue", "knowledge", "sky"),
    ("hello", None, "Hello"),
    ("thank you", None, "Thank"),
    ("stop", None, "Stop"),
    ("goodbye", None, "Goodbye"),
    ("what time is it", None, "time"),
)


async def answer_to(client: RealtimeClient, pcm: bytes) -> tuple[str, list[Event]]:
    """Say something; returns the transcript and the reply's items."""
    count = len(client.of("response.done")) + 1
    await client.append(pcm)
    await client.send("input_audio_buffer.commit")
    await client.send("response.create", response={"metadata": {"purpose": "answer"}})
    heard = await client.event("conversation.item.input_audio_transcription.completed", WITHIN_S, count=count)
    done = await client.event("response.done", WITHIN_S, count=count)
    assert done["response"]["status"] == "completed"
    return heard["transcript"], done["response"]["output"]


def domain_of(output: list[Event]) -> str | None:
    """The domain of a reply."""
    calls = [json.loads(item["arguments"]) for item in output if item["type"] == "function_call"]
    return calls[0]["domain"] if calls else None


async def test_sentences_of_a_domain_are_understood_in_either_voice(peer: OfflinePeer) -> None:
    missed = []
    async with realtime_client(peer.url) as client:
        await client.update(tools=[ROUTE], audio=MANUAL["audio"])
        for number, (sentence, domain, heard_word) in enumerate(SENTENCES):
            heard, output = await answer_to(client, spoken_by(VOICES[number % 2], sentence))
            if domain_of(output) != domain or heard_word.lower() not in heard.lower():
                missed.append((sentence, heard))
    assert missed == []


async def test_a_result_is_spoken_in_words_with_sound(peer: OfflinePeer) -> None:
    async with realtime_client(peer.url) as client:
        await client.update(tools=[ROUTE], audio=MANUAL["audio"])
        await client.send("conversation.item.create", item=message("user", "Weather in Oslo?"))
        await client.send("response.create", response={"metadata": {"purpose": "answer"}})
        called = (await client.event("response.done", WITHIN_S))["response"]["output"][1]
        result = json.dumps({"answer": "It is **cold** in Oslo. Take a coat.", "source": "live"})
        item = {"type": "function_call_output", "call_id": called["call_id"], "output": result}
        await client.send("conversation.item.create", item=item)
        await client.send("response.create", response={"metadata": {"purpose": "result"}})
        [spoken] = (await client.event("response.done", WITHIN_S, count=2))["response"]["output"]
    assert spoken["content"][0]["transcript"].strip() == "It is cold in Oslo. Take a coat."
    sound = np.frombuffer(client.sound[spoken["id"]], np.int16)
    assert np.abs(sound).max() > 3000
    assert 1500 <= len(sound) // 24 <= 6000


def test_the_routing_tool_is_recognised_by_its_schema() -> None:
    described = [{"const": "a", "description": "apples", "examples": ["Are they ripe?"]}, {"const": "b"}]
    flag = {"type": "boolean", "description": "As in “no hurry”."}
    topic = {"type": "string", "oneOf": described, "default": "b"}
    fields = {"topic": topic, "later": flag, "text": {"type": "string"}}
    routing = routing_of([{"name": "other"}, {"name": "ask", "parameters": {"properties": fields}}])
    assert routing
    assert (routing.name, routing.domain_field, routing.query_field, routing.general) == ("ask", "topic", "text", "b")
    assert routing.specialists == (Specialist("a", "apples", ("Are they ripe?",)), Specialist("b"))
    picked = {"topic": "a", "later": True, "text": "Pick some."}
    assert json.loads(routing.arguments("a", "Pick some, no hurry.")) == picked
    assert routing_of([{"name": "other", "parameters": {"properties": {"x": {"type": "string"}}}}]) is None
