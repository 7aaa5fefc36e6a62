"""Spans at a collector and at LangSmith; and a slow, broken or missing one, which no call notices."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions

from backend.errors import SettingsError
from backend.extensions.tracing.settings import TracingSettings
from backend.extensions.tracing.spans import INPUT, OUTPUT
from backend.models.base import Finished
from backend.observability.tracing import Tracer
from backend.settings.settings import load_settings
from backend.testing.services.server import Reply, serving
from tests.documents.blocks import block
from tests.extensions.tracing.collector import Collector, ReceivedSpan, collector
from tests.extensions.tracing.langsmith_api import KEY, langsmith, meta
from tests.extensions.tracing.world import settings_for, traces_to
from tests.observability.world import SPOKEN, answered, begin_turn, hang_up, route, speak_reply, traced_call
from tests.support.agents import call
from tests.support.waiting import until

WEATHER = [call("get_current_weather", '{"location": "Seattle"}')]


async def ask_weather(tracer: Tracer) -> str:
    """A call of one turn with a Thinker; returns its session's id."""
    first = [*WEATHER, Finished("tool_calls", tokens_in=100, tokens_out=7)]
    async with traced_call(tracer, first, ["Mild, my private answer.", Finished("stop", 200, 3)]) as placed:
        await begin_turn(placed)
        await route(placed, "weather", "my private query")
        await answered(placed)
        await speak_reply(placed, "my private reply")
        await hang_up(placed)
    return placed.session.id


def tree_at(server: Collector) -> list[ReceivedSpan]:
    """Session, turn, Thinker, its routing and its thinking, and the spans in that."""
    tree = [server.span("session")]
    for _ in range(4):
        tree += server.children(tree[-1])
    return [*tree, *server.children(tree[-1])]


@pytest.mark.document("001", "traces, settings and Docker")
async def test_a_call_becomes_a_tree_at_a_collector() -> None:
    async with collector() as server, traces_to(server) as traces:
        session_id = await ask_weather(traces.tracer)
    tree = tree_at(server)
    assert [span.name for span in tree] == [
        "session",
        "turn 1",
        "invoke_agent weather",
        "thinker_router.think",
        "weather_thinker.think",
        "chat gpt-5.4-mini",
        "execute_tool get_current_weather",
        "chat gpt-5.4-mini",
    ]
    assert [span.client for span in tree[5:]] == [True, False, True]
    assert {span.trace for span in server.spans} == {tree[0].trace} and not tree[0].parent
    assert {span.attributes["gen_ai.conversation.id"] for span in server.spans} == {session_id}
    assert all(each.lasts_within(span) for span in server.spans for each in server.children(span))
    assert server.requests[0].headers["x-secret"] == "a b"


@pytest.mark.document("001", "traces, settings and Docker")
async def test_the_same_tree_reaches_langsmith_with_the_fields_it_reads() -> None:
    async with langsmith() as server, traces_to(server) as traces:
        session_id = await ask_weather(traces.tracer)
    tree = tree_at(server)
    kinds = [span.attributes["langsmith.span.kind"] for span in tree]
    assert kinds == ["chain", "chain", "tool", "chain", "chain", "llm", "tool", "llm"]
    assert [span.attributes.get("langsmith.trace.name", span.name) for span in tree[:5]] == [
        "voice_session",
        "conversation_turn",
        "thinker_call",
        "thinker_router.think",
        "weather_thinker.think",
    ], "LangSmith shows the names of the document"
    assert {meta(span)["session_id"] for span in server.spans} == {session_id}
    session, turn, _, routing = map(meta, tree[:4])
    assert (session["reason"], turn["outcome"], routing["domain"]) == ("disconnected", "complete", "weather")
    assert (server.project, server.keys) == ("tests", {KEY})


async def test_spans_follow_the_conventions_for_generative_ai() -> None:
    async with langsmith() as server, traces_to(server, trace_content=True) as traces:
        await ask_weather(traces.tracer)
    _, turn, thinker, _, _, asked, tool, answered_ = tree_at(server)
    expected: list[tuple[ReceivedSpan, dict[str, Any]]] = [
        (thinker, {conventions.GEN_AI_OPERATION_NAME: "invoke_agent", conventions.GEN_AI_AGENT_NAME: "weather"}),
        (
            asked,
            {
                conventions.GEN_AI_OPERATION_NAME: "chat",
                conventions.GEN_AI_PROVIDER_NAME: "openai",
                conventions.GEN_AI_REQUEST_MODEL: "gpt-5.4-mini",
                conventions.GEN_AI_RESPONSE_FINISH_REASONS: ["tool_calls"],
                conventions.GEN_AI_USAGE_INPUT_TOKENS: 100,
                conventions.GEN_AI_USAGE_OUTPUT_TOKENS: 7,
            },
        ),
        (
            tool,
            {
                conventions.GEN_AI_OPERATION_NAME: "execute_tool",
                conventions.GEN_AI_TOOL_NAME: "get_current_weather",
                conventions.GEN_AI_TOOL_TYPE: "function",
                conventions.GEN_AI_TOOL_CALL_ARGUMENTS: '{"location": "Seattle"}',
            },
        ),
    ]
    for span, attributes in expected:
        assert span.attributes.items() >= attributes.items(), span.name
    first_chunk = answered_.attributes[conventions.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]
    assert isinstance(first_chunk, float) and 0 <= first_chunk < 5
    messages = json.loads(answered_.attributes[conventions.GEN_AI_INPUT_MESSAGES])
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    [called], [response] = messages[2]["parts"], messages[3]["parts"]
    assert (called["type"], called["name"]) == ("tool_call", "get_current_weather")
    assert (response["type"], response["id"]) == ("tool_call_response", called["id"])
    [said] = json.loads(answered_.attributes[conventions.GEN_AI_OUTPUT_MESSAGES])
    assert (said["role"], said["finish_reason"]) == ("assistant", "stop")
    assert SPOKEN in turn.attributes[INPUT] and "my private reply" in turn.attributes[OUTPUT]
    assert answered_.attributes["gen_ai.prompt"] == answered_.attributes[INPUT], "LangSmith looks there"


async def test_no_words_leave_the_server_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "backend")
    async with collector() as server, traces_to(server) as traces:
        await ask_weather(traces.tracer)
    assert "private" not in server.text + caplog.text
    _, turn, thinker, _, _, model, *_ = tree_at(server)
    assert turn.attributes["voice.input.chars"] == len(SPOKEN)
    assert thinker.attributes["voice.input.chars"] == len("my private query")
    assert model.attributes["voice.input.messages"] == 2 and INPUT not in model.attributes


async def test_long_words_are_cut() -> None:
    async with collector() as server, traces_to(server, trace_content=True) as traces:
        span = traces.tracer.session("s1")
        span.asked([{"role": "user", "content": "y" * 20_000}] * 10)
        span.said("x" * 1_000_000)
        span.end()
    assert server.span("session").attributes["voice.output.chars"] == 1_000_000
    assert len(server.text) < 100_000


async def test_spans_after_the_end_do_no_harm() -> None:
    async with collector() as server, traces_to(server) as traces:
        session = traces.tracer.session("s1")
        session.end("stale")
        session.end("failed")
        session.note(late=True)
        session.open("model", "late").end("cancelled")
    assert server.span("session").attributes["voice.outcome"] == "stale" and server.has("chat late")


# --- faults -------------------------------------------------------------------------------------------


@asynccontextmanager
async def gone() -> AsyncIterator[Collector]:
    """No server at all."""
    yield Collector(url="http://127.0.0.1:9")


@asynccontextmanager
async def endless() -> AsyncIterator[Collector]:
    """A server with an endless answer."""
    async with serving(lambda _: Reply(200, parts=[b"x" * 65_536, 0.02] * 500)) as api:
        yield Collector(url=api.url)


TROUBLES = {"hangs": lambda: collector("hangs"), "refuses": lambda: collector(401), "gone": gone, "endless": endless}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
async def test_a_call_and_its_end_wait_for_no_collector(
    trouble: Callable[[], AbstractAsyncContextManager[Collector]], caplog: pytest.LogCaptureFixture
) -> None:
    async with trouble() as server:
        async with traces_to(server) as traces:
            began = time.perf_counter()
            await ask_weather(traces.tracer)
            asked_in = time.perf_counter() - began
            began = time.perf_counter()
        assert asked_in < 10 and time.perf_counter() - began < 15
    assert "a b" not in caplog.text and "a%20b" not in caplog.text


async def test_a_collector_that_comes_back_gets_spans_again() -> None:
    async with collector(401) as server, traces_to(server) as traces:
        traces.tracer.session("s1").end()
        await until(lambda: server.asked > 0)
        server.mood = "well"
        traces.tracer.session("s2").end()
        await until(lambda: server.has("session"))


async def test_the_collectors_headers_never_reach_langsmith(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-honeycomb-team=the-collectors,x-api-key=other")
    async with langsmith() as server, traces_to(server) as traces:
        traces.tracer.session("s1").end()
    assert server.keys == {KEY} and server.has("session")
    assert "the-collectors" not in repr(server.requests)


# --- settings -----------------------------------------------------------------------------------------


@pytest.mark.block("001/tracing.env")
def test_the_documented_variables_trace_to_langsmith(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(block("001/tracing.env"))
    settings = load_settings(_env_file=file).of(TracingSettings)
    assert settings.langsmith_tracing_enabled and settings.langsmith_project == "responder-thinker"
    assert settings.langsmith_api_key and settings.langsmith_api_key.get_secret_value() == "lsv2-your-key-here"


def test_tracing_without_a_key_is_refused_with_advice() -> None:
    with pytest.raises(SettingsError, match="LANGSMITH_API_KEY"):
        settings_for(langsmith_tracing_enabled=True)


def test_a_refusal_of_headers_quotes_no_secret() -> None:
    with pytest.raises(SettingsError, match="OTEL_EXPORTER_OTLP_HEADERS") as refused:
        settings_for(otel_exporter_otlp_headers="very-secret")
    assert "very-secret" not in str(refused.value)
