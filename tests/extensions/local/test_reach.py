"""Every Thinker there is can be reached with no key: its example is routed to it, and its tools are used and worded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.extensions.local.chat.facts import UNKNOWN
from backend.extensions.local.chat.rules import think
from backend.extensions.local.dialogue.names import digits
from backend.extensions.local.dialogue.rules import Thought
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import Question, questions_in
from backend.thinkers.base import Manifest
from backend.thinkers.research import GAPS, PLAN, read_plan
from tests.extensions.local.orders import SPECIALISTS, understood
from tests.support.declared import all_manifests, all_tools

MANIFESTS = tuple(each for each in all_manifests() if not each.needs_set_up)
TOOLS = all_tools()
DOMAINS = tuple(manifest.domain for manifest in MANIFESTS)


def asked(text: str, *tools: str, task: str = "Help.") -> Thought:
    """What the rules make of a question, with our own tools offered."""
    messages: list[Any] = [{"role": "system", "content": task}, {"role": "user", "content": text}]
    return think(messages, [TOOLS[name].schema() for name in tools])


@pytest.mark.parametrize("manifest", MANIFESTS, ids=DOMAINS)
def test_the_example_of_each_thinker_is_routed_to_it(manifest: Manifest) -> None:
    assert understood(manifest.example, DOMAINS) == Question(manifest.domain, manifest.example)


@pytest.mark.parametrize("manifest", [each for each in MANIFESTS if each.tools and each.domain != "research"])
def test_the_example_of_each_thinker_calls_its_tool_with_valid_arguments(manifest: Manifest) -> None:
    thought = asked(manifest.example, *manifest.tools)
    assert thought.calls, thought.text
    for call in thought.calls:
        TOOLS[call.name].read_arguments(call.arguments)


@pytest.mark.parametrize(
    ("words", "domains"),
    [
        ("What's the weather in Paris and how is Apple doing?", ("weather", "stocks")),
        ("What's the weather in Paris? And who wrote Hamlet?", ("weather", "knowledge")),
        ("Remind me to call Ann, and what's the weather in Oslo?", ("assistant", "weather")),
        ("Who wrote Hamlet, what's the weather in Oslo and how is Apple doing?", ("knowledge", "weather", "stocks")),
        ("Who wrote Hamlet and when did he die?", ()),
        ("What's the weather in Paris and Rome?", ()),
        ("What is the difference between tea and what is called rooibos?", ()),
        ("How much Apple stock? Do I need a calendar for it?", ()),  # recognition puts a mark where none is
    ],
)
def test_two_questions_of_one_sentence_are_asked_one_by_one_in_their_order(
    words: str, domains: tuple[str, ...]
) -> None:
    asked_for = questions_in(words, tuple(SPECIALISTS.values()))
    assert tuple(each.domain for each in asked_for) == domains


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("Stop. Tell me about Paris.", Question("knowledge", "Tell me about Paris.")),
        ("stop tell me about Paris", Question("knowledge", "Tell me about Paris")),
        ("Okay, and what's the weather in Oslo?", Question("weather", "What's the weather in Oslo?")),
        ("Thanks. And in Paris?", Question("weather", "What's the weather in Paris?")),
        ("Stop.", Talk.STOP),
        ("Stop the news.", Talk.STOP),
        ("I live in Oslo.", Talk.TOLD),
        ("My name is Ana, and I live in Oslo.", Talk.TOLD),
        ("Hello, my name is Ana.", Talk.TOLD),
        ("Will it rain?", Question("weather", "Will it rain?")),
        ("Thanks for the weather.", Talk.THANKS),
        ("Wait a moment.", Talk.STOP),
        ("Cancel that.", Talk.STOP),
        ("No thanks.", Talk.NO),
        ("Hello, how are you?", Talk.HOW_ARE_YOU),
    ],
)
def test_a_question_after_a_stop_or_a_courtesy_is_answered(words: str, wish: Talk | Question) -> None:
    assert understood(words, DOMAINS, Question("weather", "What's the weather in Rome?")) == wish


def test_a_domain_the_rules_have_never_heard_of_is_called_by_its_name() -> None:
    assert understood("Is the moon full?", (*DOMAINS, "moon")) == Question("moon", "Is the moon full?")
    assert understood("Is the moon full?", DOMAINS) == Question("knowledge", "Is the moon full?")


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("eighty kilos and one meter eighty", "80 kilos and 1 meter 80"),
        ("one hundred and twenty five pounds", "125 pounds"),
        ("one point eight five meters", "1.85 meters"),
        ("someone alone wants money", "someone alone wants money"),
    ],
)
def test_numbers_said_as_words_become_digits(said: str, written: str) -> None:
    assert digits(said) == written


@pytest.mark.parametrize(
    ("question", "score", "values"),
    [
        ("my bmi at eighty kilos and one meter eighty", "bmi", {"weight_kg": 80, "height_cm": 180}),
        ("What is my BMI? I weigh 176 pounds and am 5 foot 11.", "bmi", {"weight_kg": 79.8, "height_cm": 180.3}),
        ("my body mass index at eighty kilos and one eighty", "bmi", {"weight_kg": 80, "height_cm": 180}),
        ("Body surface area for 70 kg and 1.75 m?", "bsa", {"weight_kg": 70, "height_cm": 175}),
        ("Glasgow coma scale, eye 3, verbal 4, motor 5", "glasgow", {"eye": 3, "verbal": 4, "motor": 5}),
        (
            "Creatinine clearance of a 70 year old woman of 60 kg, creatinine 1.2",
            "creatinine_clearance",
            {"age_years": 70, "sex": "female", "weight_kg": 60, "creatinine_mg_dl": 1.2},
        ),
        (
            "FIB-4 of a 60 year old man with an AST of 50, an ALT of 49 and platelets at 150?",
            "fib_4",
            {"age_years": 60, "ast_u_l": 50, "alt_u_l": 49, "platelets_10e9_l": 150},
        ),
        (
            "The anion gap with sodium 140, chloride 100 and bicarbonate 24?",
            "anion_gap",
            {"sodium_mmol_l": 140, "chloride_mmol_l": 100, "bicarbonate_mmol_l": 24},
        ),
    ],
)
def test_scores_are_filled_from_a_sentence(question: str, score: str, values: dict[str, Any]) -> None:
    (call,) = asked(question, "pubmed_search", "medical_calculator", "kb_search").calls
    assert call.name == "medical_calculator"
    assert json.loads(call.arguments) == {"score": score, "values": values}


def test_a_score_without_its_numbers_is_asked_back_about() -> None:
    assert "all its numbers" in asked("What is my BMI at 80 kilos?", "pubmed_search", "medical_calculator").text


def after(question: str, name: str, result: dict[str, Any]) -> str:
    """The words once the tool has answered."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)},
    ]
    return think(messages, []).text


def test_research_is_planned_by_its_thinker_and_gaps_are_none() -> None:
    assert read_plan(asked("Research vitamins and sleep.", task=PLAN.format(limit=4)).text) is None
    assert read_plan(asked("Research x.\n\nFindings (data): none", task=GAPS.format(limit=4)).text) is None


def test_research_is_reported_source_by_source() -> None:
    findings = [
        {"query": "x", "source": "the web", "found": {"results": [{"title": "Bikes"}], "spoken": "Bikes: Lanes work."}},
        {
            "query": "x",
            "source": "the news",
            "found": {"sample": True, "headlines": [{"title": "Trams"}], "spoken": "Trams."},
        },
        {"query": "x", "source": "the documents", "found": {"passages": []}},
        {"query": "x", "source": "medical research", "found": {"error": {"message": "PubMed cannot be reached."}}},
    ]
    lines = "\n".join(map(json.dumps, findings))
    words = asked(f"Research x.\n\nFindings (data):\n{lines}").text
    assert words == (
        "From the web: Bikes: Lanes work. From the news, which is sample data: Trams. "
        "I could not search medical research."
    )
    assert "nothing" in asked("Research x.\n\nFindings (data):\nnone").text


def test_a_tool_nobody_knows_is_filled_and_told_plainly() -> None:
    schema = {"properties": {"wish": {"type": "string"}}, "required": ["wish"]}
    tool = {"type": "function", "function": {"name": "moon_phase", "parameters": schema}}
    (call,) = think([{"role": "user", "content": "Is it full?"}], [tool]).calls
    assert json.loads(call.arguments) == {"wish": "Is it full?"}
    assert after("Is it full?", "moon_phase", {"phase": "full", "note": "x"}) == "Phase: full."


def test_what_is_known_by_heart_includes_what_the_examples_ask() -> None:
    assert asked("Tell me about Paris.").text != UNKNOWN
    assert asked("Why is the sky blue?").text != UNKNOWN
