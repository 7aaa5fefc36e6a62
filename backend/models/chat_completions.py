"""The chat completions protocol, spoken through the `openai` package to any server that speaks it too.

Failures that may pass (429, 5xx, 408, 409, a dropped or unreadable stream, a silent server) are tried again with
growing pauses, as long as nothing has been handed out: after the first delta a second attempt would say
everything twice. A model that stays away gives way to its fallback, if one is named.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from backend.errors import ModelUnavailable
from backend.models.base import Delta, Finished, Json, TextDelta, ToolCall

log = logging.getLogger(__name__)

RETRYABLE_STATUS = frozenset({408, 409, 429})
HOPELESS_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "account_deactivated"})
"""Codes that come as 429 and do not pass."""


OnFailure = Callable[[str, int, str, float], None]
"""Model, number of the attempt, what went wrong, after how many seconds."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a model, in seconds, and how often to ask."""

    attempts: int = 3
    connect_s: float = 5.0
    silence_s: float = 20.0
    """Without a byte, before and between deltas."""
    backoff_s: float = 0.3
    """Before the second attempt; doubled for each further one, and shaken by half."""
    longest_pause_s: float = 4.0
    """However long the server asks us to wait: a caller is on the line."""

    def pause_s(self, attempt: int, asked_s: float | None) -> float:
        """The pause after failed attempt number `attempt`, counted from 1."""
        grown: float = self.backoff_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
        return min(max(grown, asked_s or 0.0), self.longest_pause_s)


class ChatCompletions:
    """One endpoint. `fallbacks` maps a model's name to the one asked when it fails."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        fallbacks: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        """`on_failure` is told of every attempt that comes to nothing, at once."""
        self._on_failure = on_failure
        self._fallbacks = dict(fallbacks or {})
        self._patience = patience or Patience()
        self._client = AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,  # ours know what has been handed out, and the caller's patience
            timeout=httpx2.Timeout(self._patience.silence_s, connect=self._patience.connect_s),
        )
        self._completions = self._client.chat.completions  # loaded lazily: now, and not on a caller's time

    def __repr__(self) -> str:
        return f"ChatCompletions({self._client.base_url})"

    async def stream(
        self,
        messages: Sequence[Json],
        *,
        model: str,
        tools: Sequence[Json] = (),
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel.stream`."""
        request: Json = {"messages": list(messages)}
        if tools:
            request["tools"] = list(tools)
        names = [model, *([fallback] if (fallback := self._fallbacks.get(model)) and fallback != model else [])]
        for number, name in enumerate(names, start=1):
            handed_out = False
            try:
                async with aclosing(self._patiently({**request, "model": name})) as deltas:
                    async for delta in deltas:
                        handed_out = True
                        yield replace(delta, model=name) if isinstance(delta, Finished) else delta
                return
            except ModelUnavailable as error:
                if handed_out or number == len(names):
                    raise
                log.warning("model %s failed (%s); asking %s", name, error, names[number])

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()

    async def _patiently(self, request: Json) -> AsyncGenerator[Delta, None]:
        """The deltas of the first attempt that gets as far as one."""
        for attempt in range(1, self._patience.attempts + 1):
            handed_out = False
            began = time.perf_counter()
            try:
                async with aclosing(self._attempt(request)) as deltas:
                    async for delta in deltas:
                        handed_out = True
                        yield delta
                return
            except _Failed as failed:
                if self._on_failure:
                    self._on_failure(request["model"], attempt, str(failed.error), time.perf_counter() - began)
                if handed_out or not failed.error.retryable or attempt == self._patience.attempts:
                    raise failed.error from failed.__cause__
                pause = self._patience.pause_s(attempt, failed.asked_s)
                log.info("model %s: %s; again in %.1f s", request["model"], failed.error, pause)
            await asyncio.sleep(pause)

    async def _attempt(self, request: Json) -> AsyncGenerator[Delta, None]:
        """One request. Raises `_Failed`; closes the HTTP stream however it ends."""
        assembly = _Assembly()
        try:
            chunks = await self._completions.create(**request, stream=True, stream_options={"include_usage": True})
            try:
                async for chunk in chunks:
                    for text in assembly.take(chunk):
                        yield TextDelta(text)
            finally:
                await chunks.close()
        except openai.APIError as error:
            raise _translated(error) from error
        except (httpx2.HTTPError, ValueError, TypeError, AttributeError) as error:
            raise _Failed("The model's stream cannot be read.") from error
        for delta in assembly.finish():
            yield delta


class _Failed(Exception):
    """One attempt failed; `error` is what the caller is told if it was the last."""

    def __init__(self, message: str, *, retryable: bool = True, asked_s: float | None = None) -> None:
        super().__init__(message)
        self.error = ModelUnavailable(message)
        self.error.retryable = retryable
        self.asked_s = asked_s


@dataclass
class _Assembly:
    """Puts the pieces of tool calls together, and keeps the end and the bill."""

    reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    spoke: bool = False

    def take(self, chunk: Any) -> list[str]:
        """The words in one chunk. Raises `ValueError` and kin on something that is no chunk."""
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
                    raise TypeError("words that are not text")
                words.append(text)
        self.spoke = self.spoke or bool(words)
        return words

    def finish(self) -> list[Delta]:
        """The calls, in order, then the end. A stream that broke off raises `_Failed`."""
        if self.reason is None:
            raise _Failed("The model's stream broke off.")
        deltas: list[Delta] = []
        for index, call in sorted(self.calls.items()):
            if not call["name"]:
                raise _Failed("The model called a tool without a name.")
            deltas.append(ToolCall(call["id"] or f"call_{index}", call["name"], call["arguments"]))
        return [*deltas, Finished(self.reason, self.tokens_in, self.tokens_out)]

    def _add(self, piece: Any) -> None:
        """Some servers leave the index out, or send a whole call under the index of the one before."""
        index = piece.index if isinstance(piece.index, int) else len(self.calls)
        known = self.calls.get(index)
        if known is not None and piece.id and known["id"] and piece.id != known["id"]:
            index = max(self.calls) + 1
        call = self.calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or piece.id or ""
        if piece.function is not None:
            call["name"] = call["name"] or piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""


def _translated(error: openai.APIError) -> _Failed:
    """The package's errors in our terms. Texts of the server stay out: they may repeat the caller's words."""
    if isinstance(error, openai.APITimeoutError):
        return _Failed("The model does not answer.")
    if isinstance(error, openai.APIConnectionError):
        return _Failed("The model cannot be reached, or its connection broke.")
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        hopeless = error.code in HOPELESS_CODES
        retryable = not hopeless and (status in RETRYABLE_STATUS or status >= 500)
        detail = f"{status}{f', {error.code}' if hopeless else ''}"
        return _Failed(f"The model refuses ({detail}).", retryable=retryable, asked_s=_asked_s(error.response))
    return _Failed("The model broke off with an error.", retryable=error.code not in HOPELESS_CODES)


def _asked_s(response: httpx2.Response) -> float | None:
    """`Retry-After` in seconds, if it is given as such."""
    try:
        return float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
