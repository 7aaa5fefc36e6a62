"""The chat completions protocol, through the `openai` package, to any server that implements it.

A request that fails temporarily (429, 5xx, 408, 409, a dropped or unreadable stream, a silent server) is tried again
after growing pauses, as long as no delta was yielded: after the first, a second attempt would repeat everything. A
model that stays unavailable is replaced by its fallback, if one is configured.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import httpx2

from backend.errors import ModelUnavailable
from backend.models.base import ChatMessage, Delta, Finished, TextDelta, ToolCall
from backend.models.options import USUAL, ModelOptions
from backend.runtime.json_objects import Json

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

RETRYABLE_STATUS = frozenset({408, 409, 429})
HOPELESS_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "account_deactivated"})
"""Error codes that come with status 429 but are permanent."""
Reason = Literal["silent", "unreachable", "refused", "rate_limited", "unreadable", "broken_off"]
"""Why a request failed."""
OnFailure = Callable[[str, int, str, Reason, float], None]
"""Receives the model, the number of the attempt, the error in words and as a reason, and the seconds that it took."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The time limits for a model, in seconds, and the number of attempts."""

    attempts: int = 3
    connect_s: float = 5.0
    silence_s: float = 20.0
    """The longest time without a byte, before and between deltas."""
    backoff_s: float = 0.3
    """The pause before the second attempt; doubled for each further one, and varied by half."""
    longest_pause_s: float = 4.0
    """The longest pause, even if the server asks for more, since a caller is waiting."""

    def pause_s(self, attempt: int, asked_s: float) -> float:
        """Return the pause after the failed attempt number `attempt`, counted from 1."""
        grown: float = self.backoff_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
        return min(max(grown, asked_s), self.longest_pause_s)


class ChatCompletions:
    """One endpoint. `fallbacks` maps a model's name to the one used when it fails."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        only_model: str = "",
        fallbacks: Mapping[str, str] | None = None,
        limits: ModelLimits | None = None,
        on_failure: OnFailure = lambda *_: None,
    ) -> None:
        """Create the client; `only_model` replaces any requested model.

        `on_failure` is called immediately for every failed attempt.
        """
        from openai import AsyncOpenAI  # takes half a second to import: only where needed

        self._only_model = only_model
        self._on_failure = on_failure
        self._fallbacks = dict(fallbacks or {})
        self._limits = limits or ModelLimits()
        self._client = AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,  # this class knows what was yielded already, and the time limits
            timeout=httpx2.Timeout(self._limits.silence_s, connect=self._limits.connect_s),
        )
        self._completions = self._client.chat.completions  # loaded lazily: now, and not while a caller waits

    async def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        request: Json = {"messages": list(messages), **options.fields(str(self._client.base_url))}
        if tools:
            request["tools"] = list(tools)
        model = self._only_model or model
        names = [model, *([fallback] if (fallback := self._fallbacks.get(model)) and fallback != model else [])]
        for number, name in enumerate(names, start=1):
            yielded = False
            try:
                async with aclosing(self._tried({**request, "model": name})) as deltas:
                    async for delta in deltas:
                        yielded = True
                        yield replace(delta, model=name) if isinstance(delta, Finished) else delta
                return
            except ModelUnavailable as error:
                if yielded or number == len(names):
                    raise
                log.warning("model %s failed (%s); asking %s", name, error, names[number])

    async def close(self) -> None:
        await self._client.close()

    async def _tried(self, request: Json) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the first attempt that produces any."""
        for number in itertools.count(1):
            began, yielded = time.perf_counter(), False
            try:
                async with aclosing(self._attempt(request)) as deltas:
                    async for delta in deltas:
                        yielded = True
                        yield delta
                return
            except _Failed as failed:
                seconds = time.perf_counter() - began
                self._on_failure(request["model"], number, str(failed), failed.reason, seconds)
                if yielded or not failed.retryable or number == self._limits.attempts:
                    raise
                log.info("model %s: %s Trying again.", request["model"], failed)
                pause_s = self._limits.pause_s(number, failed.asked_s)
            await asyncio.sleep(pause_s)

    async def _attempt(self, request: Json) -> AsyncGenerator[Delta, None]:
        """Make one request and yield its deltas; close the HTTP stream however it ends. Raise `_Failed`."""
        import openai

        assembly = Assembly()
        try:
            asking = self._completions.create(**request, stream=True, stream_options={"include_usage": True})
            async with await asking as chunks:
                async for chunk in chunks:
                    for text in assembly.take(chunk):
                        yield TextDelta(text)
        except openai.APIError as error:
            raise _translated(error) from error
        except (httpx2.HTTPError, ValueError, TypeError, AttributeError) as error:
            raise _Failed("The model's stream cannot be read.", "unreadable") from error
        for delta in assembly.finish():
            yield delta


class _Failed(ModelUnavailable):
    """The failure of one attempt; `asked_s` is the pause that the server asks for."""

    def __init__(self, message: str, reason: Reason, *, retryable: bool = True, asked_s: float = 0.0) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.retryable = retryable
        self.asked_s = asked_s


@dataclass
class Assembly:
    """The state of one stream: the parts of its tool calls, the reason of its end, and the tokens used."""

    reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    calls: dict[int, ToolCall] = field(default_factory=dict)

    def take(self, chunk: Any) -> list[str]:
        """Return the text of one chunk. Raise `TypeError` or `ValueError` for something that is no chunk."""
        from openai.types.chat import ChatCompletionChunk

        if not isinstance(chunk, ChatCompletionChunk) or not isinstance(chunk.choices or [], list):
            raise TypeError("not a chunk")
        if chunk.usage is not None:
            self.tokens_in, self.tokens_out = int(chunk.usage.prompt_tokens), int(chunk.usage.completion_tokens)
        words = []
        for choice in (chunk.choices or [])[:1]:
            self.reason = choice.finish_reason or self.reason
            if not choice.delta:  # some servers end with a choice that has none
                continue
            for piece in choice.delta.tool_calls or []:
                self._add(piece)
            if text := choice.delta.content or choice.delta.refusal:
                if not isinstance(text, str):
                    raise TypeError("content that is not text")
                words.append(text)
        return words

    def finish(self) -> list[Delta]:
        """Return the calls in order, then the end. Raise `_Failed` for a stream that broke off."""
        if self.reason is None:
            raise _Failed("The model's stream broke off.", "broken_off")
        deltas: list[Delta] = []
        for index, call in sorted(self.calls.items()):
            if not call.name:
                raise _Failed("The model called a tool without a name.", "unreadable")
            deltas.append(replace(call, id=call.id or f"call_{index}"))
        return [*deltas, Finished(self.reason, self.tokens_in, self.tokens_out)]

    def _add(self, piece: Any) -> None:
        """Add a part of a call. Some servers omit the index, or send whole calls under one index."""
        name, more = (piece.function.name, piece.function.arguments) if piece.function is not None else ("", "")
        index = piece.index if isinstance(piece.index, int) else len(self.calls)
        if index not in self.calls and self.calls and not name:
            index = max(self.calls)  # no index, and no new name: more of the last call
        call = self.calls.get(index, ToolCall("", "", ""))
        if (name and call.arguments and not call.id) or (piece.id and call.id and piece.id != call.id):
            index, call = max(self.calls) + 1, ToolCall("", "", "")  # another call under the same index
        self.calls[index] = ToolCall(call.id or piece.id or "", call.name or name or "", call.arguments + (more or ""))


def _translated(error: openai.APIError) -> _Failed:
    """Return the package's error as `_Failed`, without the server's text, which may repeat the caller's words."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return _Failed("The model does not answer.", "silent")
    if isinstance(error, openai.APIConnectionError):
        return _Failed("The model cannot be reached, or its connection broke.", "unreachable")
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        hopeless = error.code in HOPELESS_CODES
        retryable = not hopeless and (status in RETRYABLE_STATUS or status >= 500)
        detail = f"{status}{f', {error.code}' if hopeless else ''}"
        # A server that fails or is busy may answer later; a used-up account will not.
        reason: Reason = "rate_limited" if status == 429 and not hopeless else "refused"
        return _Failed(f"The model refuses ({detail}).", reason, retryable=retryable, asked_s=_asked_s(error.response))
    return _Failed("The model broke off with an error.", "broken_off", retryable=error.code not in HOPELESS_CODES)


def _asked_s(response: httpx2.Response) -> float:
    """Return `Retry-After` in seconds; 0 where it is missing or a date."""
    try:
        return float(response.headers.get("retry-after", ""))
    except ValueError:
        return 0.0
