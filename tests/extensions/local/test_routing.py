"""Routing without a model: it learns from what the Thinkers say of themselves, and is right for words it never saw."""

from __future__ import annotations

import re

import pytest

from backend.extensions.local.dialogue import small_talk
from backend.extensions.local.dialogue.routing import Phrases, Specialist, router_of
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import Question, completed, understand
from backend.thinkers.registry import guide
from tests.extensions.local.orders import MANIFESTS, SPECIALISTS
from tests.extensions.local.routed.outcomes import GOAL, SETS, outcome_of, rate

TIDES = Specialist("tides", "tide tables: high and low water at a coast", ("When is high tide in Brest?",))


@pytest.mark.parametrize("name", ["first held out", "second held out"])
def test_questions_it_was_not_developed_with_reach_the_right_thinker_with_the_right_arguments(name: str) -> None:
    assert rate([outcome_of(each) for each in SETS[name]]) >= GOAL


def test_nothing_that_was_looked_at_holds_a_question_that_was_held_out() -> None:
    held_out = {letters(each.words) for name in ("first held out", "second held out") for each in SETS[name]}
    said = [text for each in MANIFESTS for text in (each.example, *each.examples, *each.phrases)]
    said += [text for kind in small_talk.SPECIALISTS for text in kind.examples]
    said += [each.words for each in SETS["looked at"]]
    assert not held_out & {letters(text) for text in said}


@pytest.mark.parametrize("words", ["When is low tide in Calais?", "What are the tides like tomorrow?"])
def test_a_plugin_with_one_example_is_found_among_thinkers_with_many(words: str) -> None:
    assert understand(words, [*SPECIALISTS.values(), TIDES]) == Question("tides", words)


def test_a_statement_for_nobody_in_particular_is_no_question() -> None:
    assert understand("I went to the cinema yesterday.", list(SPECIALISTS.values())) is Talk.OTHER


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        ("And the science pair lines", "Any science headlines"),
        ("Write down at the door needs a new lock", "Write down that the door needs a new lock"),
    ],
)
def test_of_transcripts_that_sound_alike_the_one_that_callers_would_say_is_taken(heard: str, said: str) -> None:
    router = router_of((*SPECIALISTS.values(), *small_talk.SPECIALISTS))
    assert router.likeliest([(heard, 0.0), (said, -0.3)]) == said
    assert router.likeliest([(heard, 0.0), (said, -20.0)]) == heard


def test_sentences_share_phrases_by_their_rarity() -> None:
    same, near, far = Phrases(["Where is my bike?", "Where is Rome?", "Tell me a joke."]).shared("Where is my bike?")
    assert same == pytest.approx(1)
    assert same > near > far


def test_models_are_shown_a_few_examples_and_rules_all_of_them() -> None:
    few, many = guide(MANIFESTS), guide(MANIFESTS, with_phrases=True)
    assert len(few) < 4_500 < len(many)
    for manifest in MANIFESTS:
        assert manifest.example in few
        assert not any(f"“{phrase}”" in few for phrase in manifest.phrases)
        assert all(f"“{phrase}”" in many for phrase in manifest.phrases)


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
