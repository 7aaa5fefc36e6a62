"""Reasoning: its bounds, what stays private, and plain words about unfinished work."""

import asyncio
import logging

import pytest

from backend.errors import BadRequest, ModelUnavailable, NoAnswer
from backend.observability.tracing import within
from backend.reasoning.base import NOT_FINISHED, ReasoningRequest, Stage, without_thoughts
from backend.testing.model import ScriptedModel
from backend.testing.tracer import FakeTracer
from backend.tools.base import Result, tool
from tests.reasoning.world import Cast, reasoner
from tests.support.agents import call, echo
from tests.support.consent import tool_context
from tests.support.waiting import until


async def test_a_task_without_named_tools_has_none_and_a_tool_that_needs_consent_does_not_run() -> None:
    @tool("erase", "Erases.", confirm=True)
    async def erase(what: str) -> Result:
        raise AssertionError("the user has not agreed")

    model = ScriptedModel(["It says hi."])
    await reasoner(model, echo).infer(ReasoningRequest("x"))
    assert [request["tools"] for request in model.requests] == [[]]
    model = ScriptedModel([call("erase", '{"what": "all"}')], ["I may not."])
    context = tool_context("ada", "c")
    await reasoner(model, erase).infer(ReasoningRequest("Yes, erase all.", context=context, tools=("erase",)))
    assert "not_allowed" in model.requests[1]["messages"][-1]["content"]


def test_without_named_tools_read_only_tools_without_user_data_may_be_used() -> None:
    @tool("jot", "Writes.", writes=True)
    async def jot() -> Result:
        return Result({})

    @tool("mine", "A user's own.", cache=False)
    async def mine() -> Result:
        return Result({})

    assert reasoner(ScriptedModel(), echo, jot, mine).tools == ("echo",)


async def test_when_the_time_runs_out_the_draft_is_the_unfinished_answer() -> None:
    model = ScriptedModel(["<action>A draft.</action>"], [30.0, "Too late."])
    reasoned = await reasoner(model, deadline_s=0.1).infer("x")
    assert (reasoned.text, reasoned.state) == (f"{NOT_FINISHED} A draft.", "incomplete")
    assert model.open == 0
    with pytest.raises(NoAnswer, match=r"longer than 0\.05 seconds"):
        await reasoner(ScriptedModel([30.0])).infer("x", deadline_s=0.05)


async def test_a_model_that_fails_midway_leaves_an_unfinished_answer() -> None:
    model = Cast(planner=[["Go on."], [ModelUnavailable("gone")]], executor=[["I have half of it."]])
    reasoned = await reasoner(model).infer("x", strategy="dual")
    assert (reasoned.state, reasoned.text) == ("incomplete", f"{NOT_FINISHED} I have half of it.")
    with pytest.raises(ModelUnavailable):
        await reasoner(ScriptedModel([ModelUnavailable("gone")])).infer("x")


async def test_a_spoken_outcome_has_speakable_text() -> None:
    model = Cast(planner=[["Go."]], executor=[["<deliverable>**21°C**, see [here](http://a.b/c)</deliverable>"]])
    task = ReasoningRequest("x", "dual", tool_context("ada", "c"), "voice")
    assert (await reasoner(model).infer(task)).text == "21 degrees Celsius, see here"


async def test_thoughts_stay_in_the_models_own_conversation(caplog: pytest.LogCaptureFixture) -> None:
    model = Cast(planner=[["SECRET plan"]], executor=[["<think>SECRET doubt</think><deliverable>Done.</deliverable>"]])
    stages: list[Stage] = []
    with caplog.at_level(logging.DEBUG):
        reasoned = await reasoner(model).infer("x", strategy="dual", on_stage=stages.append)
    assert reasoned.text == "Done."
    assert "SECRET" not in f"{reasoned}{stages}{caplog.text}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Plain.", "Plain."),
        ("<think>a</think>\nPlain.", "Plain."),
        ("a</think>Plain.", "Plain."),
        ("Plain.<think>a", "Plain."),
        ("<think>a", ""),
        ("<think>a</think>", ""),
    ],
)
def test_thoughts_in_the_text_are_left_out(text: str, left: str) -> None:
    assert without_thoughts(text) == left


async def test_an_answer_from_sample_data_says_so() -> None:
    @tool("made_up", "Makes it up.")
    async def made_up() -> Result:
        return Result({"n": 1}, sample=True)

    model = ScriptedModel([call("made_up")], ["It is one."])
    reasoned = await reasoner(model, made_up).infer("x")
    assert reasoned.sample and "sample data" in reasoned.text


async def test_a_cancelled_task_stops_its_models() -> None:
    model = ScriptedModel([30.0])
    task = asyncio.create_task(reasoner(model).infer("x"))
    await until(lambda: model.open == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.open == 0


@pytest.mark.parametrize("task", ["", "  ", "x" * 8001])
async def test_a_task_is_neither_empty_nor_too_long(task: str) -> None:
    with pytest.raises(BadRequest, match="8,000"):
        await reasoner(ScriptedModel()).infer(task)


async def test_a_trace_has_figures_of_thoughts_and_no_words_even_with_content_on() -> None:
    tracer = FakeTracer()
    session = tracer.session("s1")
    model = Cast(
        planner=[["SECRET plan"]],
        executor=[[call("echo", '{"text": "SECRET"}')], ["SECRET doubt <deliverable>Done.</deliverable>"]],
    )
    with within(session.open("thinker", "reason")):
        await reasoner(model, echo).infer("SECRET task", "dual")
    session.end()
    assert [span.kind for span in tracer.spans][:4] == ["model", "model", "tool", "model"]
    [reasoning] = tracer.ended("reasoning")
    assert (reasoning.tokens, len(tracer.under(reasoning))) == (45, 4)
    assert "SECRET" not in tracer.text
