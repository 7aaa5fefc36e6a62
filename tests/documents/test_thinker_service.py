"""Document 000's blocks of code run with one import changed, against a scripted model server; sketches are compared."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import inspect
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from backend import thinker_service as module
from backend.app.foundation import open_foundation
from backend.errors import SetupError
from backend.settings.settings import load_settings
from backend.storage.embedded import OpenedMemory
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.services.server import ApiServer, Reply, serving
from backend.thinker_service import ConversationMessage, ThinkerService, ThinkingState
from tests.documents.blocks import adapted, block
from tests.support import chat_api as api
from tests.support.agents import agent
from tests.support.waiting import until

DAY = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
LOOKS = api.stream(api.call_pieces(0, "c1", "read_calendar", '{"day": "today"}'), api.ended("tool_calls"))
FREE = api.stream(api.words("You are ", "free."), api.ended())


@asynccontextmanager
async def model_server(patch: pytest.MonkeyPatch, folder: Path, *replies: Reply) -> AsyncIterator[ApiServer]:
    """Let a new service be the singleton, and its model be a server with these replies."""
    script = list(replies)
    async with serving(lambda request: script.pop(0)) as server:
        given = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "DATA_DIR": str(folder)}
        for name, value in given.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(module, "thinker_service", ThinkerService())
        try:
            yield server
        finally:
            await module.thinker_service.close()


async def run(code: str, **names: Any) -> dict[str, Any]:
    """Run a block as a file of its own that may await, and return its names."""
    compiled = compile(code, "000", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if inspect.isawaitable(running := eval(compiled, names)):
        await running
    return names


def noted(into: list[Any]) -> Callable[[Any], Awaitable[None]]:
    """Return an asynchronous callback that keeps what it gets."""

    async def note(each: Any) -> None:
        await asyncio.sleep(0)
        into.append(each)

    return note


async def read_calendar(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"day": arguments["day"], "events": []}


@pytest.mark.document("000", "sessions and tools")
@pytest.mark.block("000/create-session.py", "000/session-class.py")
async def test_a_session_awaits_its_callbacks_and_calls_a_registered_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    handlers = dict.fromkeys(("handle_token", "handle_tool_call", "handle_result"), noted(seen))
    async with model_server(monkeypatch, tmp_path, LOOKS, FREE) as server:
        module.thinker_service.register_tool("read_calendar", "The events of a day.", DAY, read_calendar)
        names = await run(adapted("000/create-session.py"), **handlers)
    called, answered, *words = seen
    assert (called.tool_name, called.arguments) == ("read_calendar", {"day": "today"})
    assert (answered.tool_name, answered.result) == ("read_calendar", {"day": "today", "events": []})
    assert words == ["You are ", "free."]
    assert (names["response"].text, names["response"].tool_calls_made) == ("You are free.", ("read_calendar",))
    asked = server.requests[0].json()
    assert asked["model"] == load_settings().models.thinker_model
    assert {"read_calendar", "web_search", "memory"} <= {each["function"]["name"] for each in asked["tools"]}


@pytest.mark.document("000", "thinking")
@pytest.mark.block("000/basic-query.py")
async def test_a_query_streams_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoken: list[str] = []
    async with model_server(monkeypatch, tmp_path, FREE):
        names = await run(adapted("000/basic-query.py"), send_to_tts=noted(spoken))
        await names["handle_voice_query"]("conv-123", "Am I free?", "user-456")
    assert spoken == ["You are ", "free."]
    assert "Response: You are free.\n" in capsys.readouterr().out


@pytest.mark.block("000/tool-calls.py")
async def test_a_client_is_sent_each_tool_call_with_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    async with model_server(monkeypatch, tmp_path, LOOKS, FREE):
        module.thinker_service.register_tool("read_calendar", "The events of a day.", DAY, read_calendar)
        names = await run(adapted("000/tool-calls.py"), send_to_client=noted(sent), on_token=noted([]))
        await names["session"].think("Am I free?")
    assert sent == [
        {"type": "tool.call", "tool_name": "read_calendar", "arguments": {"day": "today"}},
        {"type": "tool.result", "tool_name": "read_calendar", "result": {"day": "today", "events": []}},
    ]


@pytest.mark.document("000", "cancelling and metrics")
@pytest.mark.block("000/cancellation.py")
async def test_a_barge_in_cancels_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with model_server(monkeypatch, tmp_path, api.stream(api.words("One "), [30.0])) as server:
        names = await run(adapted("000/cancellation.py"))
        thinking = asyncio.create_task(names["active_session"].think("Count."))
        await until(lambda: server.open > 0)
        await names["handle_barge_in"]()
        assert (await thinking).state is ThinkingState.CANCELLED
    assert capsys.readouterr().out == "Cancelled: True\n"


@pytest.mark.document("000", "errors")
@pytest.mark.block("000/errors.py")
async def test_an_error_is_a_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with model_server(monkeypatch, tmp_path, api.error(401), api.error(401)):
        session = module.thinker_service.create_session("conv-123")
        names = await run(block("000/errors.py"), session=session, transcript="Am I free?")
    assert names["response"].state is ThinkingState.ERROR


@pytest.mark.document("000", "one context for an hour")
@pytest.mark.block("000/persistence.py")
async def test_a_conversation_goes_on_in_another_session_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    service, now = ThinkerService(), [1_000_000.0]
    sketch = await run(block("000/persistence.py"), **vars(typing), ConversationContext=module.ConversationContext)
    monkeypatch.setattr("time.time", lambda: now[0])
    with service.serving(agent(ScriptedModel("Hello."))):
        first = service.create_session("c", user_id="ada").get_context()
        assert (first.conversation_id, first.system_prompt) == ("c", module.ConversationContext("").system_prompt)
        now[0] += sketch["CONTEXT_TTL_SECONDS"] - 1
        await service.create_session("c", user_id="ada").think("Hi.", "chat")
        now[0] += sketch["CONTEXT_TTL_SECONDS"] - 1
        assert service.create_session("c", user_id="ada").get_context() is first and len(first.messages) == 2
        assert service.create_session("c", user_id="bo").get_context() is not first
        now[0] += sketch["CONTEXT_TTL_SECONDS"] + 1
        assert service.create_session("c", user_id="ada").get_context() is not first


def fields(kind: Any) -> Sequence[str]:
    return [each.name for each in dataclasses.fields(kind)]


@pytest.mark.document("000", "states")
@pytest.mark.block("000/states.py", "000/message.py", "000/response.py", "000/metrics.py")
@pytest.mark.block("000/context-class.py", "000/registry-class.py")
async def test_the_names_of_the_sketched_classes_are_ours() -> None:
    names: dict[str, Any] = {**vars(typing), "Enum": Enum, "dataclass": dataclasses.dataclass}
    names |= {"ThinkingState": ThinkingState, "ConversationMessage": ConversationMessage}
    sketched = {
        each: (await run(block(f"000/{each}.py"), **names))
        for each in ("states", "message", "response", "metrics", "context-class", "registry-class")
    }
    theirs = sketched["states"]["ThinkingState"]
    assert {each.name: each.value for each in theirs} == {each.name: each.value for each in ThinkingState}
    assert set(fields(sketched["message"]["ConversationMessage"])) <= set(ConversationMessage.__struct_fields__)
    assert set(fields(sketched["response"]["ThinkerResponse"])) <= set(fields(module.ThinkerResponse))
    metrics = sketched["metrics"]["ThinkerMetrics"]
    assert dataclasses.asdict(metrics()).items() <= dataclasses.asdict(module.ThinkerMetrics()).items()
    for kind in (sketched["context-class"]["ConversationContext"], sketched["registry-class"]["ToolRegistry"]):
        ours = getattr(module, kind.__name__)
        assert {name: getattr(ours, name) for name in vars(kind) if name.isupper()}.items() <= vars(kind).items()
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            theirs = list(inspect.signature(function).parameters)
            assert list(inspect.signature(getattr(ours, name)).parameters)[: len(theirs)] == theirs


def test_without_a_key_the_service_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SetupError) as caught:
        ThinkerService().create_session("conv-123")
    assert "OPENAI_API_KEY" in caught.value.hint


async def test_within_a_server_the_service_thinks_with_the_model_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with model_server(monkeypatch, tmp_path, FREE):
        settings, memory = load_settings(), FakeMemory()
        monkeypatch.delenv("OPENAI_API_KEY")  # The service alone would have no model.
        monkeypatch.setattr("backend.app.foundation.thinker_service", module.thinker_service)
        opened = OpenedMemory(memory, "", "", memory.redis, memory.redis, None)
        async with open_foundation(settings, opened, serves=False):
            response = await module.thinker_service.create_session("conv-123").think("Am I free?")
    assert response.text == "You are free."
