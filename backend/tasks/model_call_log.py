"""The model call log keeps the redacted model calls of a task or a digest, for its owner alone.

    model = LoggedModel(model, calls)           # around the one model everybody shares; silent outside of a scope
    with calls.scope(task.id, task.owner):      # calls made in here are kept, also by tasks that are begun in here
        ...

An entry is one attempt: the model, time, duration, tokens, request and answer. Entries are written in the background,
so the work never waits. Keys, tokens, passwords, addresses and phone numbers are redacted.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from backend.models.base import ChatMessage, ChatModel, Delta, Finished, TextDelta, ToolCall
from backend.models.options import USUAL, ModelOptions
from backend.runtime.faults import decode_all
from backend.runtime.json_objects import Json, decode_object
from backend.storage.client import RedisStore
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.tasks.repository import KEEP_S, model_calls_key

TEXT_LIMIT = 8_000
"""The most characters of one text."""
# Each pattern begins where no match could have begun earlier, so that the time grows only linearly with the text.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"\b(?:sk|pk|rk|ls|gh[pousr]|xox[abprs]|github_pat|AKIA)[-_]?[A-Za-z0-9_-]{16,}\b")),
    ("token", re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}")),
    ("token", re.compile(r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}")),
    (
        "secret",
        re.compile(
            r"(?i)(?<![\w])(?:api[_-]?key|access[_-]?token|token|secret|passwor[dt]|passphrase)"
            r"(?:[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?)(?P<hide>[^\s\"',;]{4,})"
        ),
    ),
    ("password", re.compile(r"(?<=://)[^\s/:@]+:(?P<hide>[^\s/@]+)(?=@)")),
    ("e-mail", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("number", re.compile(r"\+\d[\d ()./-]{7,17}\d")),
    ("number", re.compile(r"(?<![\d-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d-])")),
    ("number", re.compile(r"(?<![\d.,-])0\d{2,4}[ /-]\d{5,9}(?![\d-])")),
)
ENTRIES_LIMIT = 200
"""The most attempts of one task; older ones are dropped."""


@dataclass(frozen=True, slots=True)
class _Scope:
    name: str
    owner: str
    while_exists: str


_index_key = "user:{}:archives".format
"""The key of the sorted set of the names under which a user's model calls are kept."""
_scope: ContextVar[_Scope | None] = ContextVar("model call scope", default=None)


class ModelCallLog(RedisStore):
    """The entries of all owners, by name (the id of a task or digest). Reading may raise `MemoryUnavailable`.

    Entries are written through `outbox`, and are lost if it drops them.
    """

    def __init__(self, redis: Redis, outbox: Outbox, *, keep_s: int = KEEP_S) -> None:
        super().__init__(redis)
        self._outbox = outbox
        self._keep_s = keep_s

    @contextmanager
    def scope(self, name: str, owner: str, *, while_exists: str = "") -> Iterator[None]:
        """Keep the model calls of this block under that name; with `while_exists`, only while that key exists."""
        token = _scope.set(_Scope(name, owner, while_exists))
        try:
            yield
        finally:
            _scope.reset(token)

    def add(self, entry: Json) -> None:
        """Keep an attempt in the current scope, if there is one. Returns immediately."""
        if (scope := _scope.get()) is not None:

            async def write(_: Memory) -> None:
                await self._write(scope, await asyncio.to_thread(_as_json, entry))

            self._outbox.enqueue(write)

    def attempt_failed(self, model: str, attempt: int, error: str, reason: str, seconds: float) -> None:
        """Keep a failed attempt that is repeated; `ChatCompletions` calls this."""
        at, failed = time.time() - seconds, {"error": error, "reason": reason}
        self.add({"at": at, "ms": round(seconds * 1000), "model": model, "attempt": attempt} | failed)

    async def read(self, owner: str, name: str) -> list[Json] | None:
        """Return the entries, oldest first; None when that user has none under that name."""
        pipe = self._client.pipeline()
        pipe.zscore(_index_key(owner), name)
        pipe.lrange(model_calls_key(name), 0, -1)
        listed, raw = await self._client.execute(pipe)
        if listed is None:
            return None
        return await asyncio.to_thread(decode_all, "model call", raw, decode_object)

    async def export(self, owner: str) -> Json:
        """Return all of a user's entries, by name."""
        return {name: entries for name in await self._names(owner) if (entries := await self.read(owner, name))}

    async def erase(self, owner: str) -> None:
        names = [model_calls_key(name) for name in await self._names(owner)]
        await self._client.call(lambda redis: redis.delete(_index_key(owner), *names))

    async def _write(self, scope: _Scope, entry: str) -> None:
        if scope.while_exists and not await self._client.call(lambda redis: redis.exists(scope.while_exists)):
            return  # It was erased while the model was still answering.
        now, key, index = time.time(), model_calls_key(scope.name), _index_key(scope.owner)
        pipe = self._client.pipeline()
        pipe.rpush(key, entry)
        pipe.ltrim(key, -ENTRIES_LIMIT, -1)
        pipe.expire(key, self._keep_s)
        pipe.zadd(index, {scope.name: now})
        pipe.zremrangebyscore(index, "-inf", now - self._keep_s)
        pipe.expire(index, self._keep_s)
        await self._client.execute(pipe)

    async def _names(self, owner: str) -> list[str]:
        names = await self._client.call(lambda redis: redis.zrange(_index_key(owner), 0, -1))
        return [name.decode() for name in names]


@dataclass(frozen=True, slots=True)
class LoggedModel:
    """A `ChatModel` that logs its calls within a scope."""

    model: ChatModel
    calls: ModelCallLog

    async def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        """Stream from the model, and log the call; see `ChatModel.stream`."""
        began, clock = time.time(), time.perf_counter()
        text: list[str] = []
        entry: Json = {"at": began, "model": model, "messages": [dict(each) for each in messages]}
        entry |= {"tools": [str(each.get("function", each).get("name", "")) for each in tools], "calls": []}
        try:
            async with aclosing(self.model.stream(messages, model=model, tools=tools, options=options)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextDelta(words):
                            text.append(words)
                        case ToolCall(_, name, arguments):
                            entry["calls"].append({"name": name, "arguments": arguments})
                        case Finished(reason, tokens_in, tokens_out, answered):
                            entry |= {"reason": reason, "tokens_in": tokens_in, "tokens_out": tokens_out}
                            entry["model"] = answered or model
                    yield delta
        except BaseException as error:
            entry["error"] = str(error) or type(error).__name__
            raise
        finally:
            self.calls.add(entry | {"text": "".join(text), "ms": round((time.perf_counter() - clock) * 1000)})


def redacted(text: str) -> str:
    """Return the text cut to `TEXT_LIMIT`, with secrets replaced by `[key]`, `[e-mail]`, `[number]`…."""
    kept = text
    if len(text) > TEXT_LIMIT:
        kept = text[:TEXT_LIMIT]
        kept = kept[: kept.rfind(" ") + 1] or kept  # Half a secret would not be recognised.
    left_out = len(text) - len(kept)
    for name, pattern in _PATTERNS:
        kept = pattern.sub(lambda match, name=name: _hidden(match, name), kept)  # type: ignore[misc]
    return f"{kept} … ({left_out} characters more)" if left_out else kept


def _as_json(entry: Json) -> str:
    return json.dumps(_redacted_data(entry), ensure_ascii=False)


def _redacted_data(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_redacted_data(each) for each in value]
    if isinstance(value, dict):
        return {name: _redacted_data(each) for name, each in value.items()}
    return value


def _hidden(match: re.Match[str], name: str) -> str:
    if "hide" not in match.re.groupindex:
        return f"[{name}]"
    begin, end = match.span("hide")
    return f"{match.string[match.start() : begin]}[{name}]{match.string[end : match.end()]}"
