"""Driving a model without native tool calls by hand."""

import json
from typing import Any

import pytest

from backend.models.tags import MALFORMED
from backend.reasoning.generate import call_function, generate
from backend.testing.model import ScriptedModel
from backend.tools.runner import ToolResult
from tests.support.agents import echo, fail, toolbox


def call(name: str, arguments: Any = None) -> str:
    return f"<function_call>{json.dumps({'name': name, 'arguments': arguments or {}})}</function_call>"


@pytest.mark.document("004", "generate")
async def test_a_model_gets_the_tools_and_its_calls_are_read() -> None:
    model = ScriptedModel([f"I look. {call('echo', {'text': 'hi'})} It said: 42"])
    said = await generate(model, "small", "Be kind.", [{"role": "user", "content": "Go."}], toolbox(echo))
    assert said.text == "I look."
    assert [(each.name, json.loads(each.arguments)) for each in said.calls] == [("echo", {"text": "hi"})]
    assert model.requests[0]["messages"][0]["content"].startswith("Be kind.")
    assert model.requests[0]["tools"] == []


@pytest.mark.document("004", "call_function")
async def test_the_calls_in_a_text_run_in_order() -> None:
    text = f"First {call('echo', {'text': 'a'})}\n{call('echo', {'text': 'b'})}"
    assert await echoed(text) == ["a", "b"]
    assert await call_function(toolbox(echo), "No call at all.") is None


async def called(*made: Any) -> list[ToolResult]:
    """The results of the calls in a text; there must be some."""
    results = await call_function(*made)
    assert results
    return results


async def echoed(text: str) -> list[str]:
    """The answer of the echo to the calls in `text`."""
    return [json.loads(each.content)["text"] for each in await called(toolbox(echo), text)]


@pytest.mark.document("004", "call_function")
async def test_a_call_may_give_a_reason_and_may_name_its_arguments_args() -> None:
    call = '{"name": "echo", "call_objective": "to hear it", "args": {"text": "hi"}}'
    assert await echoed(f"I ask. <function_call>{call}</function_call>") == ["hi"]


@pytest.mark.document("004", "failed calls")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (call("nobody"), "unknown_tool"),
        (call("echo", {"wrong": 1}), "invalid_arguments"),
        (call("fail"), "failed"),
        ("<function_call>echo()</function_call>", MALFORMED),
    ],
)
async def test_an_unknown_call_is_answered_with_the_available_tools(text: str, kind: str) -> None:
    (result,) = await called(toolbox(echo, fail), text)
    error = json.loads(result.content)["error"]
    assert (result.error, error["type"], error["tools"]) == (kind, kind, ["echo", "fail"])
