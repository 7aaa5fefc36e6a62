"""What models were asked and said for a task, or by the coordinator: readable, redacted, its owner's alone, expiring.

    model = ArchivingModel(model, archive)      # around the one model everybody shares; silent where no scope is on
    with archive.scope(task.id, task.owner):    # what is asked in here is kept, also by tasks that are begun in here
        ...

An entry is one attempt: which model, when and how long, tokens, what it was sent and what it said. Entries are written
beside the work, which never waits for them.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from redis.asyncio import Redis

from backend.models.base import ChatModel, Delta, Finished, TextDelta, ToolCall
from backend.storage.guard import Guard
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.tasks import keys
from backend.tasks.redact import redacted, redacted_data
from backend.tasks.repository import KEEP_S

ENTRIES_LIMIT = 200
"""Attempts kept of one task; older ones fall off."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose attempts these are."""

    name: str
    owner: str
    while_there: str = ""
    """A key without which nothing is kept any more: what it is about has been forgotten. Empty: none is needed."""


_scope: ContextVar[Scope | None] = ContextVar("archive scope", default=None)


class Archive:
    """Entries by name (a task's id, or one a coordinator has chosen) and owner. Reading may raise `MemoryUnavailable`.

    Writing goes through `outbox`, and is lost with what falls out of it.
    """

    def __init__(self, redis: Redis, outbox: Outbox, *, keep_s: int = KEEP_S) -> None:
        self._redis = redis
        self._outbox = outbox
        self._keep_s = keep_s
        self._call = Guard()

    def __repr__(self) -> str:
        return f"Archive({self._call})"

    @contextmanager
    def scope(self, name: str, owner: str, *, while_there: str = "") -> Iterator[None]:
        """Keep what models are asked in this block under that name; see `Scope.while_there`."""
        token = _scope.set(Scope(name, owner, while_there))
        try:
            yield
        finally:
            _scope.reset(token)

    def put(self, entry: dict[str, Any]) -> None:
        """Keep an attempt under the scope that is on; nothing when none is. Returns at once."""
        if (scope := _scope.get()) is not None:

            async def write(_: Memory) -> None:
                await self._write(scope, json.dumps(redacted_data(entry), ensure_ascii=False))

            self._outbox.put(write)

    def attempt_failed(self, model: str, attempt: int, error: str, seconds: float) -> None:
        """An attempt that another follows, as `ChatCompletions` tells it."""
        at = time.time() - seconds
        self.put({"at": at, "ms": round(seconds * 1000), "model": model, "attempt": attempt, "error": error})

    async def read(self, owner: str, name: str) -> list[dict[str, Any]] | None:
        """The entries, oldest first; None when that user has none of that name."""
        entries = await self._call(lambda: self._read(owner, name))
        return cast(list[dict[str, Any]] | None, entries)

    async def export(self, owner: str) -> dict[str, Any]:
        """All of a user's, by name."""
        return {name: entries for name in await self._names(owner) if (entries := await self.read(owner, name))}

    async def erase(self, owner: str) -> None:
        """Leave none of a user's."""
        names = [keys.archive(name) for name in await self._names(owner)]
        await self._call(lambda: self._redis.delete(keys.archives(owner), *names))

    async def _write(self, scope: Scope, entry: str) -> None:
        if scope.while_there and not await self._call(lambda: self._redis.exists(scope.while_there)):
            return  # erased while the model was still being asked
        now, key, index = time.time(), keys.archive(scope.name), keys.archives(scope.owner)
        pipe = self._redis.pipeline(transaction=True)
        pipe.rpush(key, entry)
        pipe.ltrim(key, -ENTRIES_LIMIT, -1)
        pipe.expire(key, self._keep_s)
        pipe.zadd(index, {scope.name: now})
        pipe.zremrangebyscore(index, "-inf", now - self._keep_s)
        pipe.expire(index, self._keep_s)
        await self._call(pipe.execute)

    async def _read(self, owner: str, name: str) -> list[dict[str, Any]] | None:
        if await self._redis.zscore(keys.archives(owner), name) is None:
            return None
        raw = cast(list[bytes], await cast(Any, self._redis.lrange(keys.archive(name), 0, -1)))
        return [json.loads(each) for each in raw]

    async def _names(self, owner: str) -> list[str]:
        names = await self._call(lambda: self._redis.zrange(keys.archives(owner), 0, -1))
        return [name.decode() for name in names]


class ArchivingModel:
    """A `ChatModel` that keeps what it is asked and says, where a scope is on."""

    def __init__(self, model: ChatModel, archive: Archive) -> None:
        self._model = model
        self._archive = archive

    def __repr__(self) -> str:
        return f"ArchivingModel({self._model!r})"

    async def stream(
        self, messages: Sequence[dict[str, Any]], *, model: str, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel.stream`."""
        began, clock = time.time(), time.perf_counter()
        text: list[str] = []
        entry: dict[str, Any] = {"at": began, "model": model, "messages": [dict(each) for each in messages]}
        entry |= {"tools": [str(each.get("function", each).get("name", "")) for each in tools], "calls": []}
        try:
            stream = cast(AsyncGenerator[Delta, None], self._model.stream(messages, model=model, tools=tools))
            async with aclosing(stream) as deltas:
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
            self._archive.put(entry | {"text": "".join(text), "ms": round((time.perf_counter() - clock) * 1000)})


def as_markdown(name: str, entries: Sequence[dict[str, Any]]) -> str:
    """The entries for people to read."""
    parts = [f"# What models were asked and said: {name}\n"]
    for number, entry in enumerate(entries, start=1):
        at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(entry["at"]))
        parts.append(f"## {number}. {entry['model']}, {at}, {entry['ms']} ms\n")
        if "tokens_in" in entry:
            parts.append(f"{entry['tokens_in']} tokens in, {entry['tokens_out']} out; ended: {entry['reason']}\n")
        if "error" in entry:
            parts.append(f"**Failed:** {entry['error']}\n")
        parts += [_quote(each.get("role", ""), each.get("content")) for each in entry.get("messages", ())]
        parts += [f"**calls** `{call['name']}` with `{call['arguments']}`\n" for call in entry.get("calls", ())]
        if entry.get("text"):
            parts.append(_quote("answer", entry["text"]))
    return "\n".join(parts)


def _quote(role: str, content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    quoted = "\n".join(f"> {line}" for line in redacted(text).splitlines()) or "> (nothing)"
    return f"**{role}**\n\n{quoted}\n"
