"""Calls from one process to another, and their answers, by Redis pub/sub.

Each process has a channel for requests and one for answers. Nothing is stored: a request that no process receives fails
immediately, and a request without an answer fails at its time limit. Messages that cannot be decoded are skipped and
counted, and fields that only a newer version knows are ignored.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from redis.asyncio import Redis

from backend import errors
from backend.errors import CallerError, MemoryUnavailable, PeerError, TooMany, VoiceError
from backend.runtime.faults import decode_or_skip
from backend.runtime.supervisor import cancel_all, start_among
from backend.storage.pubsub import PubSub

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 3.0
"""The most seconds that an answer may take, unless the request sets another limit."""
OPEN_WITHIN_S = 2.0
"""The most seconds that the channels may take to open; then the process serves without them."""
AT_ONCE = 1_000
"""The most requests that are answered at the same time; more are refused. A request for events waits for some."""

Answer = Callable[[str, msgspec.Raw], Awaitable[Any]]
"""A method's name and its arguments in JSON → JSON data. A `VoiceError` that it raises is raised at the caller."""


class RpcRequest(msgspec.Struct, frozen=True):
    """A request to a process."""

    id: str
    node: str
    """The process that asks."""
    what: str
    until: float
    """The Unix time at which the caller stops waiting for the answer."""
    args: msgspec.Raw = msgspec.Raw(b"{}")


class RpcReply(msgspec.Struct, omit_defaults=True):
    """An answer: JSON data, or an error with its kind, its words and its facts."""

    id: str = ""
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
    """The calls of this process, from `open` to `close`."""

    def __init__(self, redis: Redis, waiting: Redis, node: str, answer: Answer) -> None:
        """`redis` is a client with short time limits, `waiting` is one for reads that may wait."""
        self._node = node
        self._answer = answer
        self._pubsub = PubSub(redis, waiting)
        self._pubsub.subscribe(requests_to(node), self._on_request)
        self._pubsub.subscribe(answers_to(node), self._on_reply)
        self._asked: dict[str, asyncio.Future[RpcReply]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to receive; as long as Redis does not answer, that is delayed."""
        self._pubsub.start()
        await self._pubsub.wait_until_open(OPEN_WITHIN_S)

    async def close(self) -> None:
        """Stop receiving."""
        await self._pubsub.close()
        await cancel_all(self._answering, within_s=1)

    async def call(
        self, node: str, what: str, args: Mapping[str, object] | None = None, *, within_s: float = ANSWER_WITHIN_S
    ) -> Any:
        """Return the answer of `node`. Raises the error that it raised, or `MemoryUnavailable` if no answer comes."""
        arguments = msgspec.Raw(msgspec.json.encode(args or {}))
        request = RpcRequest(secrets.token_hex(12), self._node, what, time.time() + within_s, arguments)
        answered = self._asked[request.id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within_s):
                if not await self._pubsub.publish(requests_to(node), msgspec.json.encode(request)):
                    raise _no_answer()
                reply = await answered
        except TimeoutError:
            raise _no_answer() from None
        finally:
            del self._asked[request.id]
        if reply.error:
            raise decode_error(reply)
        return reply.ok

    def _on_request(self, raw: bytes | None) -> None:
        request = None if raw is None else decode_or_skip("RPC message", raw, _decoder.decode)
        if request is not None and time.time() < request.until:
            start_among(self._answering, f"answer {request.what}", self._reply(request))

    def _on_reply(self, raw: bytes | None) -> None:
        reply = None if raw is None else decode_or_skip("RPC answer", raw, _reply_decoder.decode)
        if reply is not None and (answered := self._asked.get(reply.id)) and not answered.done():  # else it is late
            answered.set_result(reply)

    async def _reply(self, request: RpcRequest) -> None:
        try:
            if len(self._answering) > AT_ONCE:
                raise TooMany("Too many requests at the same time.", retry_after_s=1)
            reply = RpcReply(ok=await self._answer(request.what, request.args))
        except VoiceError as error:
            reply = encode_error(error)
        except Exception:
            log.exception("a request of another process failed: %s", request.what)
            reply = encode_error(VoiceError("The process that has this call failed.", hint="See its log."))
        reply.id = request.id
        try:
            await self._pubsub.publish(answers_to(request.node), msgspec.json.encode(reply))
        except MemoryUnavailable:
            log.warning("an answer could not be sent: %s", request.what)


def requests_to(node: str) -> str:
    """Return the channel of requests to a process."""
    return f"fleet:{node}:requests"


def answers_to(node: str) -> str:
    """Return the channel of answers to a process."""
    return f"fleet:{node}:answers"


def encode_error(error: VoiceError) -> RpcReply:
    """Return an error as another process gets it."""
    facts: dict[str, Any] = {name: getattr(error, name, None) for name in ("status", "retry_after_s", "retryable")}
    return RpcReply(error=type(error).__name__, message=str(error), hint=error.hint, **facts)


def decode_error(reply: RpcReply) -> VoiceError:
    """Return the error that was encoded."""
    kind = _ERRORS.get(reply.error, VoiceError)
    if issubclass(kind, TooMany):
        return kind(reply.message, retry_after_s=reply.retry_after_s or 1, hint=reply.hint)
    error = kind(reply.message, hint=reply.hint)
    if isinstance(error, CallerError) and reply.status is not None:
        error.status = reply.status
    if isinstance(error, PeerError) and reply.retryable is not None:
        error.retryable = reply.retryable
    return error


def _no_answer() -> VoiceError:
    return MemoryUnavailable("The process that has this call does not answer.", hint="Try again in a moment.")
