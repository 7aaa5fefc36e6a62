"""The offline chat server uses the stock and news tools by rules, given the very schemas the server offers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.offline.chat.mind import Thought, think
from backend.tools.get_news_headlines import get_news_headlines
from backend.tools.get_stock_price import get_stock_price

STOCKS: dict[str, Any] = get_stock_price.__tool__.schema()  # type: ignore[attr-defined]
NEWS: dict[str, Any] = get_news_headlines.__tool__.schema()  # type: ignore[attr-defined]


def asked(sentence: str, tool: dict[str, Any], known: str = "") -> Thought:
    return think([{"role": "system", "content": known}, {"role": "user", "content": sentence}], [tool])


def arguments(thought: Thought) -> list[dict[str, Any]]:
    return [json.loads(call.arguments) for call in thought.calls]


def worded(tool: dict[str, Any], result: dict[str, Any]) -> str:
    name = tool["function"]["name"]
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(result)},
    ]
    return think(messages, [tool]).text


@pytest.mark.parametrize(
    ("sentence", "companies"),
    [
        ("How is Apple stock doing?", ["Apple"]),
        ("how are apple and microsoft shares doing", ["Apple", "Microsoft"]),
        ("What's the price of IBM?", ["IBM"]),
        ("What is the share price of General Electric today?", ["General Electric"]),
        ("How is NKE trading on the market?", ["NKE"]),
    ],
)
def test_companies_are_found_in_the_sentence(sentence: str, companies: list[str]) -> None:
    assert arguments(asked(sentence, STOCKS)) == [{"company": company} for company in companies]


def test_my_stocks_are_those_the_caller_watches() -> None:
    known = 'What is known of the user (data):\n{"watched_tickers": ["AAPL", "F"]}'
    assert arguments(asked("How are my stocks doing?", STOCKS, known)) == [{"company": "AAPL"}, {"company": "F"}]
    assert asked("How are my stocks doing?", STOCKS).text == "Which company do you mean?"


def test_a_price_is_worded_with_its_movement() -> None:
    price = {"company": "Apple Inc", "price": 261.74, "currency": "USD", "change_percent": -0.95, "direction": "down"}
    assert worded(STOCKS, price) == "Apple Inc is at 261.74 dollars, down 0.95 percent today."
    assert worded(STOCKS, price | {"direction": "unchanged"}).endswith("unchanged today.")
    assert "sample data" in worded(STOCKS, price | {"sample": True})


@pytest.mark.parametrize(
    ("sentence", "filled"),
    [
        ("What's in the news about space?", {"topic": "space"}),
        ("Any news on the elections today?", {"topic": "elections"}),
        ("Give me the sports news", {"category": "sports"}),
        ("What's in the news?", {}),
    ],
)
def test_the_topic_or_category_is_found_in_the_sentence(sentence: str, filled: dict[str, str]) -> None:
    assert arguments(asked(sentence, NEWS)) == [filled]


def test_headlines_are_worded_with_their_sources() -> None:
    headlines = [{"title": "Rocket lands", "source": "Daily"}, {"title": "Comet seen.", "source": "Weekly"}]
    said = worded(NEWS, {"headlines": headlines})
    assert said == "Here are the headlines. Rocket lands, says Daily. Comet seen, says Weekly."
    assert worded(NEWS, {"headlines": []}) == "I found no news about that."
