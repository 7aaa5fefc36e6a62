"""The metacognitive framework: tags, states, two roles, one deliverable, and no thought outside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.reasoning import model_reasoners
from backend.reasoning.base import NOT_FINISHED, ROUND_LIMIT, ReasoningRequest
from backend.reasoning.metacognitive import (
    DELIVER,
    GO_ON,
    ModelMessage,
    ReasonerMemory,
    between,
    conclude,
    order,
    output_of,
    stopped,
)
from backend.reasoning.model_reasoners import DualModelReasoner, MonoModelReasoner
from backend.testing.model import ScriptedModel
from tests.reasoning.world import Cast, reasoner
from tests.support.agents import call, echo, fail
from tests.support.consent import tool_context

PARTS = "Objective: the sum\nContext: two and two\nKey points:\n- they are counted\nOutput: It is four."
DELIVERED = f"<deliverable>\n{PARTS}\n</deliverable>"
STATES = ("<Basic State>", "<Superposition State>", "<Transition State>", "<Field State>")


def last(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


@pytest.mark.document("004", "mono")
async def test_one_model_thinks_and_acts_until_it_delivers() -> None:
    model = ScriptedModel(
        ["<deep_thinking><Basic State> SECRET: I would write <deliverable>x</deliverable>.</deep_thinking>\n<action>"],
        ["<deep_thinking>SECRET</deep_thinking><action>I ask.</action>", call("echo", '{"text": "4"}')],
        ["<deep_thinking>SECRET</deep_thinking>TASK_DONE"],
        [f"<deep_thinking>SECRET</deep_thinking>\nTASK_DONE\n{DELIVERED}"],
    )
    reasoned = await reasoner(model, echo).infer("What is two and two?", "mono")
    assert (reasoned.text, reasoned.state, reasoned.strategy) == (PARTS, "complete", "mono")
    assert (reasoned.rounds, reasoned.tool_calls, reasoned.live) == (3, 1, True)
    first, second, third, fourth = model.requests
    assert all(each in model.system_prompt for each in (*STATES, "<deep_thinking>", "<action>", "TASK_DONE"))
    assert all(f"\n{each}:" in model.system_prompt for each in ("Objective", "Context", "Key points", "Output"))
    assert (last(first), last(second), last(fourth)) == ("What is two and two?", GO_ON, DELIVER)
    assert third["messages"][-1]["role"] == "tool"


@pytest.mark.document("004", "dual")
async def test_the_thinker_gives_instructions_and_sees_the_results_of_tools() -> None:
    model = Cast(
        planner=[
            ["<deep_thinking>SECRET</deep_thinking><instruction>Ask the echo.</instruction><input>4</input>"],
            ["<deep_thinking>SECRET</deep_thinking>TASK_DONE <instruction>Deliver.</instruction>"],
        ],
        executor=[
            [call("echo", '{"text": "<4>"}'), call("fail", "{}", "c2")],
            ["<shallow_thinking>PRIVATE</shallow_thinking><action>It said 4.</action>"],
            [f"<shallow_thinking>PRIVATE</shallow_thinking>{DELIVERED}"],
        ],
    )
    reasoned = await reasoner(model, echo, fail).infer("What is two and two?", "dual")
    assert (reasoned.text, reasoned.state, reasoned.rounds) == (PARTS, "complete", 2)
    thinker, actor = model.asked("planner"), model.asked("executor")
    assert [len(each["tools"]) for each in (*thinker, *actor)] == [0, 0, 2, 2, 2]
    assert last(actor[0]) == "<instruction>\nAsk the echo.\n</instruction>\n<input>\n4\n</input>"
    assert last(actor[2]).startswith("<instruction>\nDeliver.\n</instruction>\nTASK_DONE")
    report = last(thinker[1])
    assert report.startswith('The Actor reports (data):\n"It said 4."\n<function_call_result>\n{')
    results = [part.partition("</")[0] for part in report.split("<function_call_result>\n")[1:]]
    shown = [json.loads(each) for each in results]
    assert [(each["name"], each["status"]) for each in shown] == [("echo", "succeeded"), ("fail", "failed")]
    assert json.loads(shown[0]["result"]) == {"text": "<4>"}
    assert "SECRET" not in str(actor) and "PRIVATE" not in str(thinker)
    assert all(each in str(thinker[0]["messages"][0]) for each in (*STATES, "<function_call_result>", "TASK_DONE"))
    assert all(each in str(actor[0]["messages"][0]) for each in ("<shallow_thinking>", "<deliverable>", "TASK_DONE"))


@pytest.mark.document("004", "end of the work")
@pytest.mark.parametrize("strategy", ["mono", "dual"])
async def test_without_a_deliverable_the_last_words_are_the_unfinished_answer(strategy: Any) -> None:
    said = "<deep_thinking>SECRET</deep_thinking><action>I have half of it.</action>"
    model = Cast(planner=lambda _: [said], executor=lambda _: [said])
    reasoned = await reasoner(model).infer("x", strategy)
    assert (reasoned.state, reasoned.rounds) == ("incomplete", ROUND_LIMIT)
    assert reasoned.text == f"{NOT_FINISHED} I have half of it."


async def test_by_voice_only_the_output_is_spoken() -> None:
    task = ReasoningRequest("x", "mono", tool_context("ada", "c"), "voice")
    assert (await reasoner(ScriptedModel([DELIVERED])).infer(task)).text == "It is four."


@pytest.mark.document("004", "infer, conclude, stopped")
async def test_the_documented_reasoners_return_text() -> None:
    model = ScriptedModel(["<deep_thinking>two</deep_thinking>", call("echo", '{"text": "4"}')], [DELIVERED])
    assert await MonoModelReasoner(reasoner(model, echo)).infer("What is two and two?") == PARTS
    dual = DualModelReasoner(reasoner(Cast(planner=[["Add."]], executor=[[DELIVERED]])))
    assert await dual.infer(ReasoningRequest("What is two and two?")) == PARTS
    assert await dual.conclude(ReasonerMemory([ModelMessage("old"), ModelMessage(DELIVERED)])) == PARTS
    assert DualModelReasoner.stopped(ModelMessage(DELIVERED)) and not MonoModelReasoner.stopped(ModelMessage("No."))


@pytest.mark.document("004", "infer, conclude, stopped")
def test_the_other_documented_names_are_here_or_lead_to_ours() -> None:
    assert model_reasoners.Task is ReasoningRequest and "{tools}" in model_reasoners.FUNC_CALLING_PROMPT
    for name in ("ModelService", "MONO_PROMPT_TEMPLATE", "injection_mapping"):
        with pytest.raises(ImportError, match="backend"):
            getattr(model_reasoners, name)


@pytest.mark.document("004", "end of the work")
@pytest.mark.parametrize(
    ("payload", "ends"),
    [
        ("<deliverable>It.</deliverable>", True),
        ("<deliverable>It.", False),
        ("It.</deliverable><deliverable>", False),
        ("<deep_thinking><deliverable>It.</deliverable></deep_thinking>", False),
        ("<deep_thinking>Hm. <deliverable>It.</deliverable>", True),
        ("<deliverable>It.</deliverable></deep_thinking>", False),
        ("TASK_DONE", False),
    ],
)
def test_only_a_deliverable_outside_of_thoughts_ends_the_work(payload: str, ends: bool) -> None:
    assert stopped(ModelMessage(payload)) is ends


def test_a_conclusion_has_neither_thoughts_nor_tags() -> None:
    said = "<shallow_thinking>Hm.</shallow_thinking><action>Half of it.</action> TASK_DONE"
    assert conclude(ReasonerMemory([ModelMessage(said)])) == "Half of it."
    assert conclude(ReasonerMemory()) == ""
    assert between("<deep_thinking><input>1</input></deep_thinking><input> 2", "input") == "2"
    assert order("Just do it.") == "<instruction>\nJust do it.\n</instruction>"


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (PARTS, "It is four."),
        ("1. **Objective:** a\n2. **Output:** four\n3. Context: b", "four"),
        ("## Output:\nfour\n\nand five", "four\n\nand five"),
        ("Output:\n42\nKey points: none", "42"),
        ("It is four.", "It is four."),
    ],
)
def test_the_output_is_a_section_of_the_deliverable(text: str, output: str) -> None:
    assert output_of(text) == output


async def test_the_first_words_of_a_single_model_without_the_form_are_its_answer() -> None:
    model = ScriptedModel(["It is four."])
    reasoned = await reasoner(model).infer("What is two and two?")
    assert (reasoned.text, reasoned.state, reasoned.rounds) == ("It is four.", "complete", 1)
