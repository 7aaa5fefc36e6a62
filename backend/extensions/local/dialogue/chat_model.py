"""The dialogue by a language model, on any server of the chat completions API: Ollama, llama.cpp, vLLM, LM Studio.

The answer is spoken sentence by sentence while it streams. Every failure becomes a sentence for the caller, and a line
of the log that names the settings to check.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from httpx2 import AsyncClient, HTTPError

from backend.errors import ModelUnavailable, SetupError
from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.dialogue.model_messages import messages_of, tools_of, with_tools_as_text
from backend.extensions.local.dialogue.model_text import ModelText
from backend.models.base import ChatMessage, Delta, TextDelta, ToolCall
from backend.models.chat_completions import ChatCompletions, ModelLimits
from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import Call
from backend.runtime.json_objects import Json

log = logging.getLogger(__name__)

BROKE_OFF = "I am sorry, my answer broke off."
EMPTY = "I am sorry, I have no answer to that."
REFUSED = "I am sorry, my language model refused that. The server's log says why."
FAILURES = {
    "unreachable": "I am sorry, I cannot reach my language model. Please check that it is running.",
    "silent": "I am sorry, my language model takes too long to answer.",
    "refused": REFUSED,
    "rate_limited": REFUSED,
}
"""The words that the caller hears for each reason; `BROKE_OFF` for any other."""
HINT = "look at LOCAL_MODEL_URL, LOCAL_MODEL and LOCAL_MODEL_KEY, and whether it runs (Ollama: `ollama serve`)"
LIMITS = ModelLimits(attempts=1, silence_s=30.0)
"""The limits of a request: a server may have to load the model before its first word."""
NO_KEY = "none"
"""The key that is sent if none is set."""
SHORT_S = 6.0
"""The most seconds for a reply of a short purpose; then fixed words take its place."""


def base_url(url: str) -> str:
    """Return the base URL of an API, with its version, which `url` may lack."""
    url = url.rstrip("/")
    return url if "/v" in url.rpartition("://")[2] else f"{url}/v1"


async def first_model(url: str, key: str) -> str:
    """Return the first model that the server lists. Raises `SetupError`."""
    headers = {"authorization": f"Bearer {key or NO_KEY}"}
    try:
        async with AsyncClient(headers=headers, timeout=LIMITS.connect_s, trust_env=False) as http:
            listed: Any = (await http.get(f"{base_url(url)}/models")).json()
            return str(listed["data"][0]["id"])
    except (HTTPError, ValueError, LookupError, TypeError) as error:
        raise SetupError(f"The server at {url} lists no model.", hint="Start it first, or set LOCAL_MODEL.") from error


class ChatModelDialogue:
    """The dialogue by a chat model. One serves all connections; it keeps nothing of what is said."""

    def __init__(self, url: str, model: str, key: str = "", limits: ModelLimits = LIMITS) -> None:
        """`url` is the API's base URL, with or without `/v1`."""
        self.name = model
        self._url = url
        self._knows_tools = True
        """The server takes tools. Once it has refused them, they are described in text."""
        self._chat = ChatCompletions(base_url=base_url(url), api_key=key or NO_KEY, limits=limits)

    async def warm_up(self) -> None:
        """Ask for one word, so that the server loads the model; a failure is only logged."""
        try:
            async with aclosing(self._deltas([{"role": "user", "content": "Hello."}], [])) as deltas:
                await anext(deltas, None)
        except ModelUnavailable as failed:
            log.warning("The language model at %s is not ready: %s", self._url, failed)

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._chat.close()

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Follow `Dialogue`."""
        return heard[0][0]

    async def answer(self, order: Order) -> AsyncGenerator[Part, None]:
        """Follow `Dialogue`. Closing the iterator closes the HTTP stream, and the server then ends its work."""
        purpose = order.purpose or ""
        if dictated := wording.dictated(order.instructions):
            yield dictated
            return
        if purpose in wording.PURPOSES:  # one sentence; fixed words take its place if the model is slow or fails
            yield await self._short(order, purpose)
            return
        said = False
        try:
            async with aclosing(self._parts(order)) as parts:
                async for part in parts:
                    said = True
                    yield part
            if not said:
                yield EMPTY
        except ModelUnavailable as failed:
            log.warning("The language model at %s failed: %s Please %s.", self._url, failed, HINT)
            yield BROKE_OFF if said else FAILURES.get(failed.reason, BROKE_OFF)

    async def _short(self, order: Order, purpose: str) -> str:
        """Return the model's first sentence, or fixed words if it does not come in time."""
        try:
            async with asyncio.timeout(SHORT_S), aclosing(self._parts(order)) as parts:
                async for part in parts:
                    if isinstance(part, str):
                        return part
        except (ModelUnavailable, TimeoutError) as failed:
            log.info("The language model worded no %s: %s", purpose, failed or "it was too slow.")
        return wording.purpose(purpose, order.instructions, turn=len(order.items)) or EMPTY

    async def _parts(self, order: Order) -> AsyncGenerator[Part, None]:
        """Yield each sentence as soon as it is whole, and the calls."""
        messages, tools = messages_of(order), tools_of(order)
        text = ModelText(frozenset(tool["function"]["name"] for tool in tools))
        async with aclosing(self._deltas(messages, tools)) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextDelta):
                    for found in text.feed(delta.text):
                        yield found
                elif isinstance(delta, ToolCall):
                    for found in text.finish():
                        yield found
                    yield Call(delta.name, delta.arguments or "{}")
        for found in text.finish():
            yield found

    async def _deltas(self, messages: Sequence[Json], tools: Sequence[Json]) -> AsyncGenerator[Delta, None]:
        """Yield the answer's deltas; if the server refuses tools, ask once more with the tools as text."""
        if tools and self._knows_tools:
            try:
                async with aclosing(self._stream(messages, tools)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ModelUnavailable as error:
                if error.retryable or error.reason != "refused":
                    raise
        given = with_tools_as_text(messages, tools) if tools else messages
        async with aclosing(self._stream(given, [])) as deltas:
            async for delta in deltas:
                self._knows_tools = self._knows_tools and not tools
                yield delta

    def _stream(self, messages: Sequence[Json], tools: Sequence[Json]) -> AsyncGenerator[Delta, None]:
        return self._chat.stream(cast("Sequence[ChatMessage]", messages), model=self.name, tools=tools)
