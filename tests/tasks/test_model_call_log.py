"""Requests to models are logged inside a scope, without secrets, for their owner, and erased with them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import ModelUnavailable
from backend.models.base import Delta, Finished, ToolCall
from backend.models.chat_completions import ChatCompletions, ModelLimits
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import ENTRIES_LIMIT, TEXT_LIMIT, LoggedModel, ModelCallLog, redacted
from backend.tasks.repository import model_calls_key, record_key
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.services.server import serving
from tests.support.chat_api import ended, error, stream, words


@dataclass
class Rig:
    """A `ModelCallLog`, and its queue of writes to wait for."""

    redis: FakeAsyncRedis
    model_calls: ModelCallLog
    outbox: Outbox

    async def entries(self, name: str = "t1", owner: str = "ana") -> list[dict[str, Any]]:
        await self.outbox.settle(2.0)
        return await self.model_calls.read(owner, name) or []


@asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    outbox = Outbox(FakeMemory())
    async with aclosing(FakeAsyncRedis()) as redis:
        try:
            yield Rig(redis, ModelCallLog(redis, outbox), outbox)
        finally:
            await outbox.drain(1.0)


async def ask(model: Any, text: str = "Why is the sky blue?") -> list[Delta]:
    async with aclosing(model.stream([{"role": "user", "content": text}], model="m1")) as deltas:
        return [delta async for delta in deltas]


@pytest.mark.document("003", "fallback and archive")
async def test_an_attempt_is_logged_with_its_request_and_its_answer() -> None:
    call = ToolCall("c1", "web_search", '{"query": "sky"}')
    async with rig() as here:
        model = LoggedModel(
            ScriptedModel(["Because ", "of air.", call, Finished("stop", 12, 7, "m2")]), here.model_calls
        )
        with here.model_calls.scope("t1", "ana"):
            assert len(await ask(model)) == 4
        [entry] = await here.entries()
    assert entry["messages"] == [{"role": "user", "content": "Why is the sky blue?"}]
    assert (entry["text"], entry["model"], entry["tokens_in"], entry["tokens_out"]) == ("Because of air.", "m2", 12, 7)
    assert entry["calls"] == [{"name": "web_search", "arguments": '{"query": "sky"}'}]
    assert entry["ms"] >= 0


async def test_without_a_scope_nothing_is_logged() -> None:
    async with rig() as here:
        model = LoggedModel(ScriptedModel(["Hello."], ["Hello."]), here.model_calls)
        await ask(model)
        with here.model_calls.scope("t1", "ana"):
            pass
        await ask(model)
        await here.outbox.settle(2.0)
        assert await here.redis.keys("*") == []


async def test_parallel_scopes_are_kept_apart() -> None:
    async with rig() as here:
        model = LoggedModel(
            ScriptedModel(improvise=lambda messages, _: [0.01, f"about {messages[0]['content']}"]), here.model_calls
        )

        async def one(name: str, owner: str) -> None:
            with here.model_calls.scope(name, owner):
                await asyncio.create_task(ask(model, name))

        await asyncio.gather(one("t1", "ana"), one("t2", "ben"))
        assert [entry["text"] for entry in await here.entries("t1")] == ["about t1"]
        assert [entry["text"] for entry in await here.entries("t2", "ben")] == ["about t2"]
        assert await here.model_calls.read("ana", "t2") is None


async def test_a_failed_and_an_aborted_attempt_are_logged_too() -> None:
    async with rig() as here:
        model = LoggedModel(ScriptedModel(["Half", ModelUnavailable("It broke.")], ["One", "two"]), here.model_calls)
        with here.model_calls.scope("t1", "ana"):
            with pytest.raises(ModelUnavailable):
                await ask(model)
            async with aclosing(model.stream([], model="m1")) as deltas:
                await anext(deltas)
        entries = await here.entries()
    assert [(entry["text"], entry["error"]) for entry in entries] == [("Half", "It broke."), ("One", "GeneratorExit")]


async def test_attempts_before_a_retry_are_logged() -> None:
    replies = [error(503), stream(words("Better."), ended())]
    async with rig() as here, serving(lambda _: replies.pop(0)) as server:
        completions = ChatCompletions(
            base_url=f"{server.url}/v1",
            api_key="k",
            limits=ModelLimits(backoff_s=0.01),
            on_failure=here.model_calls.attempt_failed,
        )
        with here.model_calls.scope("t1", "ana"):
            await ask(LoggedModel(completions, here.model_calls))
        await completions.close()
        entries = await here.entries()
    assert [(entry["model"], entry.get("error")) for entry in entries] == [
        ("m1", "The model refuses (503)."),
        ("m1", None),
    ]
    assert entries[0]["attempt"] == 1


async def test_the_log_is_bounded_and_expires() -> None:
    async with rig() as here:
        with here.model_calls.scope("t1", "ana"):
            for number in range(ENTRIES_LIMIT + 5):
                here.model_calls.add({"at": 1.0, "ms": 1, "model": "m", "text": str(number)})
        entries = await here.entries()
        assert (len(entries), entries[-1]["text"]) == (ENTRIES_LIMIT, str(ENTRIES_LIMIT + 4))
        assert await here.redis.ttl(model_calls_key("t1")) > 0
        assert await here.redis.ttl("user:ana:archives") > 0


async def test_the_log_is_exported_and_erased_with_its_owner() -> None:
    async with rig() as here:
        for name, owner in (("t1", "ana"), ("t2", "ana"), ("t3", "ben")):
            with here.model_calls.scope(name, owner):
                here.model_calls.add({"at": 1.0, "ms": 1, "model": "m", "text": "words"})
        await here.outbox.settle(2.0)
        assert set(await here.model_calls.export("ana")) == {"t1", "t2"}
        await here.model_calls.erase("ana")
        assert await here.model_calls.export("ana") == {}
        assert set(await here.model_calls.export("ben")) == {"t3"}


async def test_an_attempt_that_ends_after_its_tasks_erasure_is_not_logged() -> None:
    async with rig() as here:
        await here.redis.set(record_key("t1"), "{}")
        with here.model_calls.scope("t1", "ana", while_exists=record_key("t1")):
            here.model_calls.add({"at": 1.0, "ms": 1, "model": "m", "text": "before"})
            assert len(await here.entries()) == 1
            await here.redis.delete(record_key("t1"))
            await here.model_calls.erase("ana")
            here.model_calls.add({"at": 2.0, "ms": 1, "model": "m", "text": "after"})
        await here.outbox.settle(2.0)
        assert await here.redis.keys("*") == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my key is sk-abcdefghijklmnop1234 ok", "my key is [key] ok"),
        ("Authorization: Bearer abc.def-ghi_123", "Authorization: Bearer [token]"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSM", "[token]"),
        ('{"api_key": "abcd1234", "n": 1}', '{"api_key": "[secret]", "n": 1}'),
        ("the password is hunter2, remember", "the password is [secret], remember"),
        ("redis://me:hunter2@host:6379/0", "redis://me:[password]@host:6379/0"),
        ("write to ana.b@example.co.uk soon", "write to [e-mail] soon"),
        ("call +44 20 7946 0958 now", "call [number] now"),
        ("call (555) 123-4567 now", "call [number] now"),
        ("ring 0171 2345678 today", "ring [number] today"),
    ],
)
def test_secrets_and_addresses_are_removed(text: str, kept: str) -> None:
    assert redacted(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-11-21 at 14:30 it was 1,234,567.89 in 2024-2025.",
        "The token economy and password managers; 192.168.100.200:8080",
        "PMID 12345678, doi 10.1000/182, 3.14159265358979",
    ],
)
def test_dates_and_figures_stay(text: str) -> None:
    assert redacted(text) == text


def test_a_long_text_says_how_much_is_missing() -> None:
    assert redacted("x" * (TEXT_LIMIT + 5)).endswith("… (5 characters more)")


@pytest.mark.parametrize("piece", ["a", "a.b", "eyJ-", "sk-", "token ", "token:", "+1 ", "://a:", "a@", "- ", "0 "])
def test_every_text_is_redacted_quickly(piece: str) -> None:
    began = time.process_time()
    redacted(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 0.05


def test_a_secret_at_a_cut_is_left_out() -> None:
    text = "word " * (TEXT_LIMIT // 5 - 1) + "sk-" + "a" * 40
    assert "sk-" not in redacted(text)
