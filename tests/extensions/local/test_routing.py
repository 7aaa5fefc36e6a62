"""Routing without a model: it learns from the Thinkers' manifests, and is right for new words."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from backend.extensions.local.dialogue import small_talk
from backend.extensions.local.dialogue.conversation import of_messages
from backend.extensions.local.dialogue.routing import Phrases, Specialist, router_of, routing_of
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.sums import digits
from backend.extensions.local.dialogue.understanding import Referral, completed, understand
from backend.extensions.local.dialogue.without_model import respond
from backend.notifications.schedule import how_often
from backend.thinkers.registry import described, guide
from backend.tools.calculate import computed
from tests.extensions.local.orders import (
    GENERAL,
    MANIFESTS,
    NOW,
    ROUTE,
    SPECIALISTS,
    TOOLS,
    asked,
    called,
    understood,
)

TIDES = Specialist("tides", "tide tables: high and low water at a coast", ("When is high tide in Brest?",))


HELD_OUT: list[dict[str, Any]] = [
    each
    for each in json.loads(Path(__file__).with_name("held_out.json").read_text("utf-8"))
    if each["domain"] in ("", *SPECIALISTS) and each.get("tool", "calculate") in TOOLS
]
"""Questions that were written before the routing. They count only as a whole."""
GOAL = 0.85


def test_held_out_questions_reach_the_right_thinker_with_the_right_arguments() -> None:
    assert sum(map(is_right, HELD_OUT)) / len(HELD_OUT) >= GOAL


def is_right(question: dict[str, Any]) -> bool:
    """Whether the right Thinker is asked, and its tool gets what the question names; small talk asks none."""
    before = question.get("before", ())
    said = [turn for each in before for turn in (("user", each), ("assistant", "Done."))]
    calls = respond(of_messages([*said, ("user", question["words"])]), [ROUTE], NOW).calls
    if not calls or not question["domain"]:
        return not calls and (not question["domain"] or question.get("tool") == "calculate")
    asked_for = json.loads(calls[0].arguments)
    if asked_for["domain"] != question["domain"]:
        return False
    tools = next(each.tools for each in MANIFESTS if each.domain == question["domain"])
    made = called(asked(asked_for["query"], *tools))
    wanted = question.get("arguments", {})
    return "tool" not in question or any(
        name == question["tool"] and all(holds(given, *each) for each in wanted.items()) for name, given in made
    )


def holds(given: dict[str, Any], name: str, wanted: str) -> bool:
    """Whether an argument holds what the question names, as its tool reads it."""
    value = str(given.get(name, ""))
    if name == "repeat":
        return how_often(str(given.get("at", "")))[1] == wanted
    if wanted.startswith("="):
        return value != "" and abs(float(computed(value)) - float(wanted[1:])) < 0.01
    return digits(wanted).lower() in digits(value).lower()


def test_no_example_of_a_thinker_is_a_held_out_question() -> None:
    held_out = {letters(each["words"]) for each in HELD_OUT}
    said = [text for each in MANIFESTS for text in (each.example, *each.examples, *each.phrases)]
    said += [text for kind in small_talk.SPECIALISTS for text in kind.examples]
    assert not held_out & {letters(text) for text in said}


@pytest.mark.parametrize("words", ["When is low tide in Calais?", "What are the tides like tomorrow?"])
def test_a_plugin_with_one_example_is_found_among_thinkers_with_many(words: str) -> None:
    assert understand(words, [*SPECIALISTS.values(), TIDES], general=GENERAL) == Referral("tides", words)


def test_a_statement_without_an_addressee_is_no_question() -> None:
    assert understood("I went to the cinema yesterday.") is Talk.OTHER


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        ("And the science pair lines", "Any science headlines"),
        ("Write down at the door needs a new lock", "Write down that the door needs a new lock"),
    ],
)
def test_the_most_likely_of_several_similar_transcripts_is_chosen(heard: str, said: str) -> None:
    router = router_of((*SPECIALISTS.values(), *small_talk.SPECIALISTS))
    assert router.likeliest([(heard, 0.0), (said, -0.3)]) == said
    assert router.likeliest([(heard, 0.0), (said, -20.0)]) == heard


def test_sentences_share_phrases_by_their_rarity() -> None:
    same, near, far = Phrases(["Where is my bike?", "Where is Rome?", "Tell me a joke."]).shared("Where is my bike?")
    assert same == pytest.approx(1)
    assert same > near > far


def test_models_are_shown_a_few_examples_and_the_schema_holds_all_of_them() -> None:
    few = guide(MANIFESTS)
    assert len(few) < 4_500
    for manifest in MANIFESTS:
        assert manifest.example in few
        assert not any(f"“{phrase}”" in few for phrase in manifest.phrases)
        assert set(manifest.phrases) <= set(described(manifest)["examples"])


def test_the_words_in_the_schema_say_whether_the_caller_waits() -> None:
    flag = {"type": "boolean", "description": "As in “take your time”, “in the background” or “let me know”."}
    fields = {**ROUTE["parameters"]["properties"], "background": flag}
    routing = routing_of([{**ROUTE, "parameters": {"properties": fields}}])
    assert routing is not None
    patient = json.loads(routing.arguments("research", "Research electric cars, and take your time."))
    assert patient == {"domain": "research", "query": "Research electric cars.", "background": True}
    for words in (
        "Research electric cars and let me know when you're done.",
        "Research electric cars in the background",
    ):
        assert json.loads(routing.arguments("research", words))["background"] is True
    for words in ("Research electric cars", "Let me know what the weather is"):
        assert json.loads(routing.arguments("research", words)) == {"domain": "research", "query": words}


def letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ("In Paris?", "What's the weather in Paris?"),
        ("On Friday?", "What's the weather in Oslo On Friday?"),
        ("In general I like it there.", ""),
    ],
)
def test_a_place_or_a_day_alone_changes_the_question_before(words: str, whole: str) -> None:
    assert completed(words, "What's the weather in Oslo?") == whole
