"""The demonstration's rules: places, intents, wording, all pure."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.names import places_in
from backend.extensions.local.dialogue.small_talk import Talk, answer
from backend.extensions.local.dialogue.understanding import Referral
from backend.extensions.local.dialogue.without_model import reply_to
from tests.extensions.local.orders import NOW, ROUTE, SILENCE, SPECIALISTS, order, output, routed, understood, user

DOMAINS = ("knowledge", "weather")


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("what's the weather in seattle", ["Seattle"]),
        ("what's the weather in seattle on", ["Seattle"]),
        ("Is it cold in new york tomorrow?", ["New York"]),
        ("What is the weather in Paris, TX right now please?", ["Paris, TX"]),
        ("Will it rain in Tromsø on Friday", ["Tromsø"]),
        ("weather for Rome and in Oslo this weekend", ["Rome", "Oslo"]),
        ("What about Lima?", ["Lima"]),
        ("Tell me about black holes", []),
        ("Is it going to rain in the morning?", []),
        ("What's the temperature in celsius?", []),
    ],
)
def test_places_are_found(sentence: str, places: list[str]) -> None:
    assert places_in(sentence) == places


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("", Talk.NOTHING),
        ("Hello.", Talk.GREETING),
        ("How are you?", Talk.HOW_ARE_YOU),
        ("Who are you?", Talk.WHO),
        ("Are you a real person?", Talk.WHO),
        ("What time is it?", Talk.TIME),
        ("Thank you very much.", Talk.THANKS),
        ("No thanks.", Talk.NO),
        ("Stop.", Talk.STOP),
        ("Bye bye.", Talk.GOODBYE),
        ("I like cheese.", Talk.OTHER),
        ("What's the weather in Seattle?", Referral("weather", "What's the weather in Seattle?")),
        ("Do I need an umbrella in Paris?", Referral("weather", "Do I need an umbrella in Paris?")),
        ("Who wrote Hamlet?", Referral("knowledge", "Who wrote Hamlet?")),
        ("What time is it in Tokyo?", Referral("knowledge", "What time is it in Tokyo?")),
        ("What's in the news?", Referral("knowledge", "What's in the news?")),
    ],
)
def test_sentences_have_the_expected_meaning(words: str, wish: Talk | Referral) -> None:
    assert understood(words, DOMAINS) == wish


@pytest.mark.parametrize(
    ("before", "words", "whole"),
    [
        ("What's the weather in Rome?", "And in Paris?", "What's the weather in Paris?"),
        ("Is it cold in Rome today?", "And tomorrow?", "Is it cold in Rome tomorrow?"),
        ("Will it rain?", "What about on Friday?", "Will it rain on Friday?"),
        ("Will it rain?", "And in Paris?", "Will it rain in Paris?"),
        ("What's the price of Ford shares?", "And Tesla?", "What's the price of Tesla shares?"),
        ("Any news about space today?", "What about football?", "Any news about football today?"),
    ],
)
def test_a_follow_up_becomes_a_whole_question(before: str, words: str, whole: str) -> None:
    assert understood(words, last=Referral("anyone", before)) == Referral("anyone", whole)


def test_a_dictated_greeting_is_spoken_exactly() -> None:
    instructions = 'Be kind.\n\nOpen the call. Say exactly this, and nothing else: "Welcome to \\"Acme\\"."'
    assert wording.purpose("greeting", instructions, turn=1) == 'Welcome to "Acme".'


@pytest.mark.parametrize("name", ["filler", "nudge", "goodbye", "greeting"])
def test_purposes_have_words_of_their_own(name: str) -> None:
    assert wording.purpose(name, "", turn=1)
    assert wording.purpose("answer", "", turn=1) == ""


def small_talk(kind: Talk, turn: int = 1) -> str:
    now = datetime(2026, 1, 1, 14, 5)
    return answer(kind, turn, now, "", tuple(SPECIALISTS.values()))


def test_it_says_what_it_is_and_what_would_make_it_smarter() -> None:
    assert "without a provider" in small_talk(Talk.WHO) and "language model" in small_talk(Talk.WHO)
    assert small_talk(Talk.TIME) == "It is 14:05 where this server is."


def test_an_unknown_request_is_answered_with_examples_and_the_setting_to_use() -> None:
    said = small_talk(Talk.OTHER)
    assert "weather" in said and "for example" in said and "operator" in said and "_" not in said


def test_replies_vary_from_turn_to_turn() -> None:
    assert small_talk(Talk.GREETING, 1) != small_talk(Talk.GREETING, 2)


@pytest.mark.parametrize(
    "words",
    [
        "Honey can you close the door.",
        "Not you.",
        "I'm talking to my son.",
        "I am speaking with my wife",
        "Sorry, I wasn't talking to you.",
        "Dinner is ready, sweetheart.",
        "Mom, where are you?",
    ],
)
def test_words_to_another_person_are_recognised(words: str) -> None:
    assert understood(words) is Talk.OTHERS


@pytest.mark.parametrize(
    "words",
    [
        "What's the weather in Seattle?",
        "Are you there?",
        "My son is five. How tall is he?",
        "Remember that my wife's name is Anna.",
        "Talk to me about honey.",
        "Stop.",
    ],
)
def test_words_to_the_assistant_are_never_taken_for_words_to_others(words: str) -> None:
    assert understood(words) is not Talk.OTHERS


def test_silence_is_kept_only_if_its_tool_is_on_offer() -> None:
    words = user("Honey, can you close the door?", spoken=True)
    (call,) = reply_to(order(words, tools=(ROUTE, SILENCE)), NOW).calls
    assert call.name == SILENCE["name"]
    assert all(call.name != SILENCE["name"] for call in reply_to(order(words), NOW).calls)


def test_results_are_spoken_in_the_order_of_their_questions_and_a_status_is_not_spoken() -> None:
    first, second = output('{"answer": "Rain."}', "c1"), output('{"answer": "Up two percent."}', "c2")
    calls = (routed("weather", "Rain?", "c1"), routed("stocks", "Apple?", "c2"))
    reply = reply_to(order(user("Will it rain and how is Apple doing?"), *calls, second, first), NOW)
    assert reply.text == "Rain. Up two percent."
    moved_on = output('{"status": "The caller has moved on."}', "c1")
    again = reply_to(order(user("Will it rain?"), calls[0], user("Thank you!"), moved_on), NOW)
    assert again.text == "You are welcome."


def test_words_after_a_pause_belong_to_the_words_before_it() -> None:
    parts = user("Will it rain in the mountains?", spoken=True), user("Of northern Italy this weekend.", spoken=True)
    (call,) = reply_to(order(*parts), NOW).calls
    assert json.loads(call.arguments)["query"] == "Will it rain in the mountains of northern Italy this weekend."
