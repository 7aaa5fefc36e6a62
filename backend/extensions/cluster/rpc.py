"""Calls from one process to another, and their answers, through Redis.

Each process has an inbox, a stream, and reads it with the one blocking read it has; the same read follows the event
streams that readers here want (`follow`). A request waits for its answer only so long, and is not answered later.
Requests that cannot be decoded are skipped and counted, and fields that only a newer version knows are ignored.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_chain, wait_fixed

from backend import errors
from backend.errors import CallerError, MemoryUnavailable, PeerError, TooMany, VoiceError
from backend.runtime.faults import call_listener, decode_or_skip
from backend.runtime.supervisor import cancel_all

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 3.0
"""Seconds an answer may take, unless the request says otherwise."""
INBOX_LIMIT = 1_000
"""Requests that may wait; a process this far behind does not answer in time anyway."""
INBOX_TTL_S = 60
"""Seconds the inbox of a process that is gone remains."""
AT_ONCE = 64
"""Requests answered at the same time; more are refused."""
BLOCK_MS = 2_000
"""Milliseconds one blocking read lasts."""
BATCH = 500
"""Entries of one stream taken by one read."""
PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between attempts while Redis does not answer; the last one for all that follow."""

Answer = Callable[[str, msgspec.Raw], Awaitable[Any]]
"""The name of a method and its arguments in JSON → JSON data. May raise a `VoiceError`, which the caller gets."""
OnEntry = Callable[[int, bytes], None]
"""Called with the number and the content of each entry of a followed stream; returns immediately."""
AWAY = (RedisError, OSError, TimeoutError)


class RpcRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of an inbox. Without `reply` it only wakes the read that waits."""

    what: str
    args: msgspec.Raw = msgspec.Raw(b"{}")
    reply: str = ""
    """The key of the list to which the answer is pushed."""
    until: float = 0.0
    """When the caller stops waiting for the answer, in Unix time."""


class RpcReply(msgspec.Struct, omit_defaults=True):
    """An answer: JSON data, or an error with its kind, its words and its facts."""

    ok: Any = None
    error: str = ""
    message: str = ""
    hint: str = ""
    status: int | None = None
    retry_after_s: int | None = None
    retryable: bool | None = None


_decoder = msgspec.json.Decoder(RpcRequest)
_reply_decoder = msgspec.json.Decoder(RpcReply)
_ERRORS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, VoiceError)}


class Rpc:
    """The calls of this process. `run` receives requests and entries; its owner supervises it."""

    def __init__(self, redis: Redis, node: str, answer: Answer) -> None:
        """`redis` must allow reads that block for some seconds, and belongs to the caller."""
        self._redis = redis
        self._node = node
        self._answer = answer
        self._positions: dict[str, str] = {inbox_key(node): "0"}
        self._listeners: dict[str, OnEntry] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._retrying = AsyncRetrying(
            wait=wait_chain(*map(wait_fixed, PAUSES_S)), retry=retry_if_exception_type(AWAY), before_sleep=_log_outage
        )

    def __repr__(self) -> str:
        return f"Rpc({self._node[:6]}…, {len(self._answering)} being answered, {len(self._listeners)} followed)"

    async def call(
        self, node: str, what: str, args: Mapping[str, object] | None = None, *, within_s: float = ANSWER_WITHIN_S
    ) -> Any:
        """Return the answer of `node`. Raises what it raised, or `MemoryUnavailable` when none comes."""
        arguments = msgspec.Raw(msgspec.json.encode(args or {}))
        reply = f"fleet:reply:{secrets.token_hex(12)}"
        try:
            async with asyncio.timeout(within_s + 0.2):
                await self._send(node, RpcRequest(what, arguments, reply, time.time() + within_s))
                got = await cast(Awaitable[Any], self._redis.blpop([reply], timeout=within_s))
        except AWAY as error:
            raise _no_answer() from error
        answer = None if got is None else decode_or_skip("RPC answer", got[1], _reply_decoder.decode)
        if answer is None:
            raise _no_answer()
        if answer.error:
            raise decode_error(answer)
        return answer.ok

    async def follow(self, key: str, after: int, listener: OnEntry) -> None:
        """Call `listener` with the entries of stream `key` numbered above `after`, until `unfollow`."""
        self._positions[key] = f"{after}-0"
        self._listeners[key] = listener
        await self._send(self._node, RpcRequest("look again"))  # wakes the read that is waiting without it

    def unfollow(self, key: str) -> None:
        """Stop following that stream. May be called twice."""
        self._positions.pop(key, None)
        self._listeners.pop(key, None)

    async def run(self) -> None:
        """Receive until cancelled. A Redis that is away delays messages; it does not end this."""
        try:
            while True:
                await self._retrying(self._receive)
        finally:
            await cancel_all(self._answering, within_s=1)

    async def _receive(self) -> None:
        reading = self._redis.xread(cast(Any, self._positions), count=BATCH, block=BLOCK_MS)
        async with asyncio.timeout(BLOCK_MS / 1000 + 1):  # a server that is gone without a word never answers
            read = await cast(Awaitable[Any], reading)
        for raw_key, entries in read or ():
            key = raw_key.decode()
            for raw_id, fields in entries:
                if key not in self._positions:
                    break  # unfollowed meanwhile
                self._positions[key] = raw_id.decode()
                content = fields.get(b"v", b"")
                if listener := self._listeners.get(key):
                    call_listener("followed stream", listener, int(raw_id.split(b"-")[0]), content)
                elif request := decode_or_skip("RPC message", content, _decoder.decode):
                    self._on_request(request, raw_id)

    def _on_request(self, request: RpcRequest, raw_id: bytes) -> None:
        if not request.reply or request.until < time.time():
            return
        task = asyncio.create_task(self._reply(request, raw_id), name=f"answer {request.what}")
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, request: RpcRequest, raw_id: bytes) -> None:
        try:
            if len(self._answering) > AT_ONCE:
                raise TooMany("Too many requests at the same time.", retry_after_s=1)
            answer = RpcReply(ok=await self._answer(request.what, request.args))
        except VoiceError as error:
            answer = encode_error(error)
        except Exception:
            log.exception("a request of another process failed: %s", request.what)
            answer = encode_error(VoiceError("The process that has this call had a fault.", hint="Its log says more."))
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                pipe = self._redis.pipeline(transaction=True)
                pipe.rpush(request.reply, msgspec.json.encode(answer))
                pipe.expire(request.reply, 10)
                pipe.xdel(inbox_key(self._node), raw_id)  # it may hold what a caller has typed or shown
                await pipe.execute()
        except AWAY:
            log.warning("an answer could not be sent: %s", request.what)

    async def _send(self, node: str, request: RpcRequest) -> None:
        pipe = self._redis.pipeline(transaction=True)
        pipe.xadd(inbox_key(node), {"v": msgspec.json.encode(request)}, maxlen=INBOX_LIMIT, approximate=True)
        pipe.expire(inbox_key(node), INBOX_TTL_S)
        await pipe.execute()


def inbox_key(node: str) -> str:
    """Return the key of the stream of requests to a process."""
    return f"fleet:{node}:inbox"


def encode_error(error: VoiceError) -> RpcReply:
    """Return an error as another process gets it."""
    facts = {name: getattr(error, name, None) for name in ("status", "retry_after_s", "retryable")}
    return RpcReply(error=type(error).__name__, message=str(error), hint=error.hint, **facts)


def decode_error(reply: RpcReply) -> VoiceError:
    """Return the error that was encoded. A kind only a newer process knows becomes the nearest one known here."""
    kind = _ERRORS.get(reply.error) or _nearest(reply)
    if issubclass(kind, TooMany):
        return kind(reply.message, retry_after_s=reply.retry_after_s or 1, hint=reply.hint)
    error = kind(reply.message, hint=reply.hint)
    if isinstance(error, CallerError) and reply.status is not None:
        error.status = reply.status
    if isinstance(error, PeerError) and reply.retryable is not None:
        error.retryable = reply.retryable
    return error


def _nearest(reply: RpcReply) -> type[VoiceError]:
    if reply.retry_after_s is not None:
        return TooMany
    if reply.status is not None:
        return CallerError
    return VoiceError if reply.retryable is None else PeerError


def _no_answer() -> VoiceError:
    return MemoryUnavailable("The process that has this call does not answer.", hint="Try again in a moment.")


def _log_outage(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome:
        log.warning(
            "calls between processes pause: Redis does not answer (%s)", type(state.outcome.exception()).__name__
        )
