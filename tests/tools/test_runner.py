"""Every rule about tool calls, in the one place that enforces them."""

import asyncio
import json
import logging
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from backend.errors import BadPlugin, ToolFailed
from backend.tools.base import Result, ToolContext, tool
from backend.tools.runner import Toolbox, ToolResult
from tests.support.agents import echo, fail, toolbox
from tests.support.consent import tool_context
from tests.support.examples import examples

ADA = tool_context("ada", "c", turn="1")
NOBODY = tool_context("", "c", turn="1")


async def run(box: Toolbox, name: str, arguments: str = "{}", context: ToolContext = ADA) -> tuple[ToolResult, Any]:
    result = await box.run(name, arguments, context)
    return result, json.loads(result.content)


def error_of(content: Any) -> str:
    return str(content["error"]["type"])


class Clock:
    """A service."""

    now = 7


@tool("whoami", "Says who asks.", requires_auth=True)
async def whoami(context: ToolContext) -> Result:
    """Returns the user for which it runs."""
    return Result({"user": context.user_id})


async def test_an_unknown_tool_is_answered_with_the_available_ones() -> None:
    _, content = await run(toolbox(echo), "ecco")
    assert error_of(content) == "unknown_tool"
    assert "echo" in content["error"]["message"]


@pytest.mark.parametrize("arguments", ["{}", '{"text": ["a"]}', '{"text": "a", "loud": true}', "[]", "not json", '""'])
async def test_wrong_arguments_are_refused(arguments: str) -> None:
    _, content = await run(toolbox(echo), "echo", arguments)
    assert error_of(content) == "invalid_arguments"


async def test_a_refusal_names_the_argument_and_not_its_value() -> None:
    @tool("count", "Counts.")
    async def count(number: Annotated[int, Field(le=3)]) -> Result:
        return Result({"number": number})

    result, content = await run(toolbox(count), "count", '{"number": 987654}')
    assert "number" in content["error"]["message"]
    assert "987654" not in result.content


@pytest.mark.document("004", "injected services")
async def test_services_are_injected_by_type() -> None:
    @tool("time", "Tells the time.")
    async def time_(clock: Clock) -> Result:
        return Result({"now": clock.now})

    result, content = await run(toolbox(time_, services={Clock: Clock()}), "time")
    assert content == {"now": 7} and result.error is None and result.cacheable


def test_a_missing_service_is_an_error_when_the_box_is_made() -> None:
    @tool("needs", "Needs.")
    async def needs(box: Toolbox) -> Result:
        return Result({})

    with pytest.raises(BadPlugin, match="Toolbox"):
        toolbox(needs)


async def test_a_tool_that_needs_a_known_user_refuses_others() -> None:
    _, content = await run(toolbox(whoami), "whoami", context=NOBODY)
    assert error_of(content) == "not_allowed"
    result, content = await run(toolbox(whoami), "whoami", "")  # no arguments may be an empty string
    assert content == {"user": "ada"} and not result.cacheable
    _, content = await run(toolbox(whoami), "whoami", '{"context": {"user_id": "bob"}}')
    assert error_of(content) == "invalid_arguments", "the model cannot name the user"


async def test_a_deadline_ends_a_tool() -> None:
    stopped = asyncio.Event()

    @tool("late", "Is late.", deadline_s=0.02)
    async def late() -> Result:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()
        return Result({})

    result, content = await run(toolbox(late), "late")
    assert error_of(content) == "timeout"
    assert result.retryable
    assert stopped.is_set()


@pytest.mark.parametrize("retryable", [True, False])
async def test_a_failure_says_whether_trying_again_can_help(retryable: bool) -> None:
    @tool("sad", "Fails.")
    async def sad() -> Result:
        error = ToolFailed("It rains in.", hint="Bring a bucket.")
        error.retryable = retryable
        raise error

    result, content = await run(toolbox(sad), "sad")
    assert content["error"] == {"type": "failed", "message": "It rains in. Bring a bucket.", "retryable": retryable}
    assert result.retryable is retryable


async def test_the_log_names_the_place_of_a_broken_tool_and_hides_its_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        result, content = await run(toolbox(fail), "fail")
    assert error_of(content) == "failed"
    assert "agents.py" in caplog.text
    assert "secret" not in caplog.text + result.content


@pytest.mark.parametrize("given", [{"plain": "dict"}, None, Result({"number": float("nan")})])
async def test_a_result_of_another_type_or_without_json_counts_as_a_broken_tool(given: Any) -> None:
    @tool("odd", "Is odd.")
    async def odd() -> Result:
        return given  # type: ignore[no-any-return]

    _, content = await run(toolbox(odd), "odd")
    assert error_of(content) == "failed"


async def test_a_sample_is_labelled_and_never_cached() -> None:
    @tool("made_up", "Makes it up.")
    async def made_up() -> Result:
        return Result({"value": 1}, sample=True, note="not real")

    result, content = await run(toolbox(made_up), "made_up")
    assert content == {"sample": True, "note": "not real", "value": 1}
    assert result.sample
    assert not result.cacheable


@examples(40)
@given(st.text(max_size=300), st.integers(120, 400))
def test_output_stays_under_its_cap_and_stays_json(text: str, cap: int) -> None:
    @tool("long", "Talks.", output_cap=cap)
    async def long() -> Result:
        return Result({"text": text * 10})

    result = asyncio.run(toolbox(long).run("long", "{}", ADA))
    content = json.loads(result.content)
    assert len(result.content) <= cap
    assert content.get("truncated") or content == {"text": text * 10}


def test_a_box_can_be_narrowed_but_not_widened() -> None:
    assert toolbox(echo, fail).only(["echo"]).names == ("echo",)
    with pytest.raises(BadPlugin, match="no_such"):
        toolbox(echo).only(["no_such"])
