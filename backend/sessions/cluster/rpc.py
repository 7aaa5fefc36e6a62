"""Questions from one process to another, and their answers, through Redis.

Each process has an inbox, a stream, and reads it with the one blocking read it has; the same read follows the event
streams that somebody here wants (`follow`). A question waits for its answer only so long, and is not answered later.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable, TooMany, VoiceError
from backend.sessions.cluster.error_codec import raised, told

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 3.0
"""Seconds an answer may take, if the question does not say."""
INBOX_LIMIT = 1_000
"""Letters that may wait; a process this far behind does not answer in time anyway."""
INBOX_TTL_S = 60
"""Seconds the inbox of a process that is gone remains."""
AT_ONCE = 64
"""Questions answered at the same time; more are refused."""
BLOCK_MS = 2_000
"""Milliseconds one blocking read lasts."""
BATCH = 500
"""Entries of one stream taken by one read."""
REST_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries while Redis does not answer."""

Answer = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""What is asked, with its arguments → JSON data. May raise a `VoiceError`, which the asker gets."""
Entry = Callable[[int, bytes], None]
"""Told of an entry of a followed stream: its number and its content; returns at once."""


class Rpc:
    """This process's post. `run` delivers; it belongs in a task of the owner's."""

    def __init__(self, redis: Redis, node: str, answer: Answer) -> None:
        """`redis` must allow reads that block for some seconds, and belongs to the caller."""
        self._redis = redis
        self._node = node
        self._answer = answer
        self._positions: dict[str, str] = {inbox_of(node): "0"}
        self._sinks: dict[str, Entry] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"Rpc({self._node[:6]}…, {len(self._answering)} being answered, {len(self._sinks)} followed)"

    async def ask(
        self, node: str, what: str, args: dict[str, Any] | None = None, *, within_s: float = ANSWER_WITHIN_S
    ) -> Any:
        """The answer of `node`. Raises what it raised, or `MemoryUnavailable` when none comes."""
        reply = f"fleet:reply:{secrets.token_hex(12)}"
        letter = {"what": what, "args": args or {}, "reply": reply, "until": time.time() + within_s}
        try:
            async with asyncio.timeout(within_s + 0.2):
                await self._send(node, letter)
                got = await cast(Awaitable[Any], self._redis.blpop([reply], timeout=within_s))
        except (RedisError, OSError, TimeoutError) as error:
            raise _silence() from error
        if got is None:
            raise _silence()
        return _opened(got[1])

    async def follow(self, key: str, after: int, sink: Entry) -> None:
        """Tell `sink` of the entries of stream `key` numbered above `after`, until `unfollow`."""
        self._positions[key] = f"{after}-0"
        self._sinks[key] = sink
        await self._send(self._node, {"what": "look again"})  # wakes the read that is waiting without it

    def unfollow(self, key: str) -> None:
        """No more of that stream. May be called twice."""
        self._positions.pop(key, None)
        self._sinks.pop(key, None)

    async def run(self) -> None:
        """Deliver until cancelled. A Redis that is away delays the post; it does not end it."""
        failures = 0
        try:
            while True:
                try:
                    await self._deliver()
                    failures = 0
                except (RedisError, OSError, TimeoutError) as error:
                    if not failures:
                        log.warning("the post rests: Redis does not answer (%s)", type(error).__name__)
                    await asyncio.sleep(REST_S[min(failures, len(REST_S) - 1)])
                    failures += 1
        finally:
            for task in self._answering:
                task.cancel()
            if self._answering:
                await asyncio.wait(self._answering, timeout=1)

    async def _deliver(self) -> None:
        reading = self._redis.xread(cast(Any, self._positions), count=BATCH, block=BLOCK_MS)
        async with asyncio.timeout(BLOCK_MS / 1000 + 1):  # a server that is gone without a word never answers
            read = await cast(Awaitable[Any], reading)
        for raw_key, entries in read or ():
            key = raw_key.decode()
            for raw_id, fields in entries:
                if key not in self._positions:
                    break  # unfollowed meanwhile
                self._positions[key] = raw_id.decode()
                content = fields[b"v"]
                if sink := self._sinks.get(key):
                    sink(int(raw_id.split(b"-")[0]), content)
                else:
                    self._open(content)

    def _open(self, content: bytes) -> None:
        letter = msgspec.json.decode(content)
        if "reply" not in letter or letter["until"] < time.time():
            return
        task = asyncio.create_task(self._reply(letter), name=f"answer {letter['what']}")
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, letter: dict[str, Any]) -> None:
        answer: dict[str, Any]
        try:
            if len(self._answering) > AT_ONCE:
                raise TooMany("Too many questions at once.", retry_after_s=1)
            answer = {"ok": await self._answer(letter["what"], letter["args"])}
        except VoiceError as error:
            answer = told(error)
        except Exception:
            log.exception("a question of another process failed: %s", letter["what"])
            answer = told(VoiceError("The process that has this call had a fault.", hint="Its log says more."))
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                pipe = self._redis.pipeline(transaction=True)
                pipe.rpush(letter["reply"], msgspec.json.encode(answer))
                pipe.expire(letter["reply"], 10)
                await pipe.execute()
        except (RedisError, OSError, TimeoutError):
            log.warning("an answer could not be sent: %s", letter["what"])

    async def _send(self, node: str, letter: dict[str, Any]) -> None:
        pipe = self._redis.pipeline(transaction=True)
        pipe.xadd(inbox_of(node), {"v": msgspec.json.encode(letter)}, maxlen=INBOX_LIMIT, approximate=True)
        pipe.expire(inbox_of(node), INBOX_TTL_S)
        await pipe.execute()


def inbox_of(node: str) -> str:
    """The stream of letters to a process."""
    return f"fleet:{node}:inbox"


def _opened(content: bytes) -> Any:
    answer = msgspec.json.decode(content)
    if "error" not in answer:
        return answer["ok"]
    raise raised(answer)


def _silence() -> VoiceError:
    return MemoryUnavailable("The process that has this call does not answer.", hint="Try again in a moment.")
