"""Chat completions: rules first, then over the wire through the `openai` package itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from backend.extensions.local.chat.facts import UNKNOWN
from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.rules import Thought
from backend.realtime.serving.parts import Call
from tests.support.offline_peer import OfflinePeer

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit", "local"]},
            },
            "required": ["location"],
        },
    },
}


def ask(text: str, *, system: str = "Help.", tools: list[Any] | None = None) -> Thought:
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    offered: list[Any] = [WEATHER] if tools is None else tools
    return think(messages, offered)


def after_tool(text: str, result: Any, name: str = "get_current_weather") -> str:
    """The words after the tool answered `result`."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result if isinstance(result, str) else json.dumps(result)},
    ]
    return think(messages, [WEATHER]).text


def test_weather_question_calls_the_tool_with_the_place() -> None:
    assert ask("What's the weather in Seattle?").calls == (Call("get_current_weather", '{"location": "Seattle"}'),)


def test_named_unit_goes_into_the_call() -> None:
    (call,) = ask("How warm is it in Rome in celsius?").calls
    assert json.loads(call.arguments) == {"location": "Rome", "unit": "celsius"}


def test_schema_decides_the_argument_names() -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"properties": {"city": {}}}}}
    assert ask("Weather in Oslo?", tools=[tool]).calls == (Call("weather", '{"city": "Oslo"}'),)


def test_two_places_make_two_calls() -> None:
    assert len(ask("What's the weather in Seattle and Paris?").calls) == 2


def test_missing_place_is_taken_from_what_is_known_or_asked_for() -> None:
    assert ask("Will it rain tomorrow?").text == "Which place do you mean?"
    (call,) = ask("Will it rain tomorrow?", system='{"default_location": "Lima"}').calls
    assert json.loads(call.arguments) == {"location": "Lima"}


def a_tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"properties": properties}}}


STOCKS = a_tool("get_stock_price", symbol={"type": "string"})
NEWS = a_tool("get_news_headlines", topic={}, category={"anyOf": [{"enum": ["sports", "science"]}, {"type": "null"}]})


@pytest.mark.parametrize(
    ("sentence", "tool", "arguments"),
    [
        ("How is Apple stock doing?", STOCKS, [{"symbol": "Apple"}]),
        ("What's the stock price of Microsoft today?", STOCKS, [{"symbol": "Microsoft"}]),
        ("What is the price of Tesla stock?", STOCKS, [{"symbol": "Tesla"}]),
        ("How are Apple and Google doing today?", STOCKS, [{"symbol": "Apple"}, {"symbol": "Google"}]),
        ("Tesla shares", STOCKS, [{"symbol": "Tesla"}]),
        ("what's lego's share price", STOCKS, [{"symbol": "lego"}]),
        ("Tell me the price on lego", STOCKS, [{"symbol": "lego"}]),
        ("How much is a lego share?", STOCKS, [{"symbol": "lego"}]),
        ("How did lego do on the stock exchange today?", STOCKS, [{"symbol": "lego"}]),
        ("Where does lego stand on the stock market?", STOCKS, [{"symbol": "lego"}]),
        ("Is lego losing money on the stock market?", STOCKS, [{"symbol": "lego"}]),
        ("Update me on the election", NEWS, [{"topic": "election"}]),
        ("What's in the news?", NEWS, [{}]),
        ("Any news about space today?", NEWS, [{"topic": "space"}]),
        ("Give me the sports news", NEWS, [{"category": "sports"}]),
        ("Search the web for jazz clubs.", a_tool("web_search", query={}), [{"query": "jazz clubs"}]),
    ],
)
def test_skills_fill_their_tools(sentence: str, tool: dict[str, Any], arguments: list[dict[str, str]]) -> None:
    assert [json.loads(call.arguments) for call in ask(sentence, tools=[tool]).calls] == arguments


def test_watched_shares_stand_in_for_my_stocks() -> None:
    thought = ask("How are my stocks doing?", system='{"watched_tickers": ["AAPL", "MSFT"]}', tools=[STOCKS])
    assert [json.loads(call.arguments)["symbol"] for call in thought.calls] == ["AAPL", "MSFT"]
    assert [call.arguments for call in ask("How are my stocks doing?", tools=[STOCKS]).calls] == ["{}"]
    refused = {"error": {"type": "failed", "message": "No share was named. Ask which company is meant."}}
    assert after_tool("How are my stocks doing?", refused, "get_stock_price") == "Which company do you mean?"


def test_sample_data_is_called_sample_data() -> None:
    words = after_tool("Weather in Seattle?", {"spoken": "In Seattle it is 59.", "sample": True, "note": "because"})
    assert words.startswith("In Seattle") and words.count("sample data") == 1 and words.endswith("from here.")


def test_failed_tool_is_admitted() -> None:
    error = {"type": "not_found", "message": "No place called 'Xyz' was found. Ask the user which place is meant."}
    words = after_tool("Weather in Xyz?", {"error": error})
    assert words == "I am sorry, I could not find that out. No place called 'Xyz' was found."


def test_a_result_that_brings_its_own_sentence_is_told_by_it() -> None:
    assert (
        after_tool("Is it full?", {"spoken": "The moon is **full**.", "phase": 1}, "moon_phase") == "The moon is full."
    )


def test_what_any_tool_has_done_or_found_is_told() -> None:
    assert after_tool("Book it.", {"booked": {"name": "Room 5"}}, "book_room") == "I have booked this: Room 5."
    rooms = {"free_rooms": [{"name": "Room 5"}, {"name": "Room 7"}]}
    assert after_tool("Which rooms are free?", rooms, "find_rooms") == "Free rooms: Room 5; Room 7."
    assert after_tool("Which rooms are free?", {"rooms": []}, "find_rooms") == "There are no rooms."


def test_unreadable_result_is_not_dressed_up() -> None:
    assert after_tool("Weather in Seattle?", {"something": None}) == "I got an answer that I cannot put into words."


def test_material_under_a_question_is_not_taken_for_it() -> None:
    assert ask("Why do cats purr?\n\nFindings (data): rainbow, capital of France", tools=[]).text == UNKNOWN


def test_general_questions_are_answered_by_heart_or_not_at_all() -> None:
    assert ask("What is the capital of France?", tools=[]).text == "The capital of France is Paris."
    assert ask("Who wrote Hamlet?", tools=[]).text == "It was William Shakespeare who wrote Hamlet."
    assert ask("Why do cats purr?", tools=[]).text == UNKNOWN
    assert "LOCAL_MODEL_URL" in UNKNOWN


@asynccontextmanager
async def client_of(peer: OfflinePeer, script: dict[str, Any] | None = None) -> AsyncIterator[AsyncOpenAI]:
    await peer.follow(script)
    async with AsyncOpenAI(api_key="any", base_url=peer.base_url, max_retries=0, timeout=10) as client:
        yield client


OFFERED: list[Any] = [WEATHER]
QUESTION: list[Any] = [{"role": "user", "content": "What's the weather in Seattle?"}]


async def test_whole_answer_is_one_the_package_understands(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        answer = await client.chat.completions.create(model="gpt-5.4-mini", messages=QUESTION, tools=OFFERED)
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls
    assert answer.usage and answer.usage.total_tokens > 0


async def test_stream_brings_words_one_by_one_and_the_usage_last(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        stream = await client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "Why is the sky blue?"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(words).startswith("The sky is blue because")
    assert len([word for word in words if word]) > 10
    assert chunks[-1].usage and not chunks[-1].choices
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_streamed_call_comes_in_pieces_that_join(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        stream = await client.chat.completions.create(model="m", messages=QUESTION, tools=OFFERED, stream=True)
        pieces = [call async for chunk in stream if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
    assert pieces[0].id and pieces[0].function and pieces[0].function.name == "get_current_weather"
    joined = "".join((piece.function.arguments or "") if piece.function else "" for piece in pieces)
    assert json.loads(joined) == {"location": "Seattle"}


async def test_unanswered_tool_call_is_refused_as_the_api_does(peer: OfflinePeer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[Any] = [*QUESTION, {"role": "assistant", "tool_calls": [call]}, *QUESTION]
    async with client_of(peer) as client:
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="m", messages=messages)


async def test_scripted_answers_fail_then_come(peer: OfflinePeer) -> None:
    async with client_of(peer, {"chat": [{"status": 503}, {"text": "Now."}]}) as client:
        with pytest.raises(openai.InternalServerError):
            await client.chat.completions.create(model="m", messages=QUESTION)
        answer = await client.chat.completions.create(model="m", messages=QUESTION)
    assert answer.choices[0].message.content == "Now."


async def test_scripted_stream_can_break_off(peer: OfflinePeer) -> None:
    async with client_of(peer, {"chat": [{"text": "one two three", "drop_after_tokens": 2}]}) as client:
        stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        words = []
        with pytest.raises(openai.APIError):
            async for chunk in stream:
                words += [chunk.choices[0].delta.content]
    assert words == ["", "one ", "two "]


async def test_models_name_the_demonstration(peer: OfflinePeer) -> None:
    async with client_of(peer) as client:
        models = [model.id async for model in client.models.list()]
    assert models == ["local-responder"]
