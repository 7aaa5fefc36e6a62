"""Everyday sentences call the right tool, with valid arguments, by its schema alone."""

from typing import Any

import pytest

from backend.extensions.local.dialogue.understanding import Referral
from backend.thinkers.base import Manifest
from tests.extensions.local.orders import MANIFESTS, TOOLS, asked, called, understood

OFFERED = {each.domain: each.tools for each in MANIFESTS}
CALLS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    # the domain of the Thinker, the sentence, its tool, and the tool's arguments
    ("weather", "What's the weather in Seattle?", "get_current_weather", {"location": "Seattle"}),
    ("weather", "How warm is it in Rome in celsius?", "get_current_weather", {"location": "Rome", "unit": "celsius"}),
    ("weather", "Is it going to rain in London tomorrow?", "get_current_weather",
     {"location": "London", "day": "tomorrow"}),
    ("weather", "Will it rain?", "get_current_weather", {}),  # the tool knows a home, or asks for the place
    ("stocks", "How is Apple stock doing?", "get_stock_price", {"symbol": "Apple"}),
    ("stocks", "What's the stock price of Microsoft today?", "get_stock_price", {"symbol": "Microsoft"}),
    ("stocks", "what's lego's share price", "get_stock_price", {"symbol": "lego"}),
    ("stocks", "How much is a lego share?", "get_stock_price", {"symbol": "lego"}),
    ("stocks", "Is lego losing money on the stock market?", "get_stock_price", {"symbol": "lego"}),
    ("stocks", "How are my stocks doing?", "get_stock_price", {}),
    ("news", "What's in the news?", "get_news_headlines", {}),
    ("news", "Any news about space today?", "get_news_headlines", {"topic": "space"}),
    ("news", "Update me on the election", "get_news_headlines", {"topic": "election"}),
    ("news", "Give me the sports news", "get_news_headlines", {"category": "sports"}),
    ("medical", "What does research say about vitamin D and colds?", "pubmed_search",
     {"query": "vitamin D and colds"}),
    ("assistant", "Remind me in ten seconds to take the bread out.", "reminders",
     {"action": "create", "text": "take the bread out", "at": "in ten seconds"}),
    ("assistant", "Could you remind me in twenty minutes to check the oven?", "reminders",
     {"action": "create", "text": "check the oven", "at": "in twenty minutes"}),
    ("assistant", "Remind me every day at nine to take my pills.", "reminders",
     {"action": "create", "text": "take my pills", "at": "every day at nine"}),
    ("assistant", "remind me every monday at half past eight to pay", "reminders",
     {"action": "create", "text": "pay", "at": "every monday at half past eight"}),
    ("assistant", "In half an hour, remind me to call back.", "reminders",
     {"action": "create", "text": "call back", "at": "In half an hour"}),
    ("assistant", "Set a reminder for tomorrow morning at eight to call my mother.", "reminders",
     {"action": "create", "text": "call my mother", "at": "for tomorrow morning at eight"}),
    ("assistant", "Don't let me forget to call Tom at five.", "reminders",
     {"action": "create", "text": "call Tom", "at": "at five"}),
    ("assistant", "Wake me up at seven.", "reminders", {"action": "create", "text": "wake up", "at": "at seven"}),
    ("assistant", "What reminders do I have?", "reminders", {"action": "list"}),
    ("assistant", "Cancel the reminder about the bread.", "reminders", {"action": "cancel", "text": "bread"}),
    ("assistant", "Make a note to call the plumber tomorrow at nine.", "stickynotes",
     {"action": "create", "text": "call the plumber", "due": "tomorrow at nine"}),
    ("assistant", "Note that the key is under the mat.", "stickynotes",
     {"action": "create", "text": "the key is under the mat"}),
    ("assistant", "Can you write down that I need to buy milk and eggs?", "stickynotes",
     {"action": "create", "text": "I need to buy milk and eggs"}),
    ("assistant", "What are my notes?", "stickynotes", {"action": "list"}),
    ("assistant", "What have I noted so far?", "stickynotes", {"action": "list"}),
    ("assistant", "That's done.", "stickynotes", {"action": "resolve"}),
    ("assistant", "Mark it as done.", "stickynotes", {"action": "resolve"}),
    ("assistant", "Add lunch with Ana tomorrow at noon.", "calendar_create_event",
     {"title": "Lunch with Ana", "start": "tomorrow at noon"}),
    ("assistant", "Put the dentist in my calendar for Friday at three.", "calendar_create_event",
     {"title": "Dentist", "start": "for Friday at three"}),
    ("assistant", "What's on my calendar tomorrow?", "calendar_list_events", {"start": "tomorrow", "end": "tomorrow"}),
    ("assistant", "What meetings do I have this weekend?", "calendar_list_events",
     {"start": "this weekend", "end": "this weekend"}),
    ("assistant", "Am I free on Friday?", "calendar_list_events", {"start": "Friday", "end": "Friday"}),
    ("assistant", "Cancel lunch with Ana tomorrow.", "calendar_list_events",
     {"start": "tomorrow", "end": "tomorrow", "query": "lunch with Ana"}),
    ("memory", "Remember that my sister's name is Anna.", "memory",
     {"action": "create", "text": "My sister's name is Anna."}),
    ("memory", "My name is Ana, and I live in Oslo.", "memory",
     {"action": "create", "text": "My name is Ana, and I live in Oslo."}),
    ("memory", "What do you remember?", "memory", {"action": "list"}),
    ("memory", "Where is my bike?", "memory", {"action": "search", "query": "Where is my bike"}),
    ("memory", "From now on, answer in one sentence.", "manage_prompt",
     {"action": "add", "text": "Answer in one sentence."}),
    ("memory", "What are my standing instructions?", "manage_prompt", {"action": "list"}),
    ("memory", "What's your personality?", "get_personality", {}),
    ("tasks", "How is my research going?", "background_tasks", {"action": "get"}),
    ("tasks", "What about that research?", "background_tasks", {"action": "get"}),
    ("tasks", "Cancel the research.", "background_tasks", {"action": "cancel"}),
    ("engineering", "Which issues are open on GitHub?", "github_issue", {"action": "list"}),
    ("engineering", "List the closed issues.", "github_issue", {"action": "list", "state": "closed"}),
    ("engineering", "What does issue twelve say?", "github_issue", {"action": "view", "number": 12}),
    ("engineering", "Close issue twelve.", "github_issue", {"action": "close", "number": 12}),
    ("engineering", "Open an issue about the weather widget.", "github_issue",
     {"action": "create", "title": "Weather widget"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("domain", "sentence", "name", "arguments"), [each for each in CALLS if each[2] in OFFERED.get(each[0], ())]
)
def test_a_sentence_is_routed_and_calls_its_tool(
    domain: str, sentence: str, name: str, arguments: dict[str, Any]
) -> None:
    assert understood(sentence) == Referral(domain, sentence)
    assert called(asked(sentence, *OFFERED[domain])) == [(name, arguments)]
    TOOLS[name].read_arguments(asked(sentence, *OFFERED[domain]).calls[0].arguments)


@pytest.mark.parametrize("sentence", ["Add lunch with Ana tomorrow at noon.", "Cancel the reminder about the bread."])
def test_a_yes_repeats_the_request(sentence: str) -> None:
    tools = OFFERED["assistant"]
    again = f"Yes, {sentence[:1].lower()}{sentence[1:]}"
    assert called(asked(again, *tools)) == called(asked(sentence, *tools))


def test_a_missing_required_argument_is_asked_for() -> None:
    building = {"type": "string", "description": "A building, e.g. 'Tower'."}
    rooms = {"name": "find_room", "parameters": {"properties": {"building": building}, "required": ["building"]}}
    thought = asked("Which room is free?", {"type": "function", "function": rooms})
    assert thought.text == "Which building do you mean?"


def test_two_names_make_two_calls() -> None:
    assert len(asked("What's the weather in Seattle and Paris?", "get_current_weather").calls) == 2
    companies = called(asked("How are Apple and Google doing today?", "get_stock_price"))
    assert [arguments["symbol"] for _, arguments in companies] == ["Apple", "Google"]


@pytest.mark.parametrize("manifest", [each for each in MANIFESTS if each.tools and each.domain != "research"])
def test_the_example_of_each_thinker_calls_its_tool_with_valid_arguments(manifest: Manifest) -> None:
    thought = asked(manifest.example, *manifest.tools)
    assert thought.calls, thought.text
    for call in thought.calls:
        TOOLS[call.name].read_arguments(call.arguments)
