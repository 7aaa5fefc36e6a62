"""The dialogue by a language model: any server of the chat completions API, such as Ollama, llama.cpp, vLLM, LM Studio.

The answer is spoken sentence by sentence while it streams. Whatever goes wrong ends in a sentence for the
caller, and in a line of the log that says what to set.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
import openai
from httpx2 import AsyncClient, Timeout
from httpx2 import Response as HttpResponse
from openai import AsyncOpenAI

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.dialogue.model_messages import messages_of, tools_of, with_tools_as_text
from backend.extensions.local.dialogue.model_text import ModelText
from backend.models.chat_completions import Assembly
from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import Call
from backend.runtime.json_objects import Json

log = logging.getLogger(__name__)

UNREACHABLE = "I am sorry, I cannot reach my language model. Please check that it is running."
UNKNOWN_MODEL = "I am sorry, my language model is not set up: its server does not know the model by that name."
REFUSED = "I am sorry, my language model refused that. The server's log says why."
SILENT = "I am sorry, my language model takes too long to answer."
BROKE_OFF = "I am sorry, my answer broke off."
EMPTY = "I am sorry, I have no answer to that."


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Time limits in seconds."""

    connect_s: float = 5.0
    first_s: float = 60.0
    """Until the first piece of an answer: a server may have to load the model."""
    silence_s: float = 20.0
    """Between two pieces."""
    short_s: float = 6.0
    """For all of a short purpose, before fixed words take its place."""


class ModelFailed(Exception):
    """An answer failed; holds what is said about it. Its text is for the operator."""

    def __init__(self, said: str, logged: str) -> None:
        super().__init__(logged)
        self.said = said


class ChatModelDialogue:
    """Answers with a chat model. One for all connections; it keeps nothing of what is said."""

    def __init__(self, url: str, model: str = "", key: str = "", *, limits: ModelLimits | None = None) -> None:
        """`url` is the API's base URL, with or without `/v1`; without a `model`, the first one it lists is asked."""
        self._url = url.rstrip("/")
        self._model = model
        self._limits = limits or ModelLimits()
        self._knows_tools = True
        """Whether the server takes tools; if it has refused them once, they are described in text."""
        self._base_url = self._url if "/v" in self._url.rpartition("://")[2] else f"{self._url}/v1"
        self._key = key or "none"
        timeout = Timeout(self._limits.first_s, connect=self._limits.connect_s)
        self._client = AsyncOpenAI(api_key=self._key, base_url=self._base_url, max_retries=0, timeout=timeout)
        self._http = AsyncClient(timeout=timeout)

    def __repr__(self) -> str:
        return f"ChatModelDialogue({self.name} at {self._url})"

    @property
    def name(self) -> str:
        return self._model or "the language model"

    async def warm_up(self) -> None:
        """Ask for one token, so that the server loads the model; a failure is logged only."""
        try:
            async with aclosing(
                self._pieces([{"role": "user", "content": "Hello."}], [], Assembly(), most=1)
            ) as pieces:
                await anext(pieces, None)
        except ModelFailed as failed:
            log.warning("The language model is not ready: %s", failed)

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._client.close()
        await self._http.aclose()

    async def send(self, request: Mapping[str, object]) -> HttpResponse:
        """Send a chat completion of another client to the model; the caller closes the response.

        Raise `ModelFailed`, `httpx2.HTTPError` or `openai.APIError` where the server is not there.
        """
        body = msgspec.json.encode({**request, "model": await self._model_name()})
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        sent = self._http.build_request("POST", f"{self._base_url}/chat/completions", content=body, headers=headers)
        return await self._http.send(sent, stream=True)

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Follow `Dialogue`."""
        return heard[0][0]

    async def answer(self, order: Order) -> AsyncGenerator[Part, None]:
        """Follow `Dialogue`. Closing it closes the HTTP stream, upon which the server ends its work."""
        purpose = order.purpose or ""
        if dictated := wording.dictated(order.instructions):
            yield dictated
            return
        if purpose in wording.PURPOSES:  # one sentence; fixed words will do where the model is slow or away
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
        except ModelFailed as failed:
            log.warning("The language model failed: %s", failed)
            yield BROKE_OFF if said else failed.said

    async def _short(self, order: Order, purpose: str) -> str:
        """Return the model's first sentence, or fixed words where it does not come in time."""
        try:
            async with asyncio.timeout(self._limits.short_s), aclosing(self._parts(order)) as parts:
                async for part in parts:
                    if isinstance(part, str):
                        return part
        except (ModelFailed, TimeoutError) as failed:
            log.info("The language model worded no %s: %s", purpose, failed or "it was too slow.")
        return wording.purpose(purpose, order.instructions, turn=len(order.items)) or EMPTY

    async def _parts(self, order: Order) -> AsyncGenerator[Part, None]:
        """Yield the sentences as they are whole, then the calls."""
        messages, tools = messages_of(order), tools_of(order)
        text, calls = ModelText(frozenset(tool["function"]["name"] for tool in tools)), list[Call]()
        native = Assembly()
        async with aclosing(self._pieces(messages, tools, native)) as pieces:
            async for piece in pieces:
                for found in text.feed(piece):
                    if isinstance(found, Call):
                        calls.append(found)
                    else:
                        yield found
        for found in text.finish():
            if isinstance(found, Call):
                calls.append(found)
            else:
                yield found
        for _, native_call in sorted(native.calls.items()):
            yield Call(native_call.name, native_call.arguments or "{}")
        for call in calls:
            yield Call(call.name, call.arguments or "{}")

    async def _pieces(
        self, messages: Sequence[Json], tools: Sequence[Json], native: Assembly, most: int | None = None
    ) -> AsyncGenerator[str, None]:
        """Yield pieces of text; `native` takes the tool calls. Raise `ModelFailed`."""
        try:
            stream = await self._begin(messages, tools, most)
            async with stream:
                chunks = aiter(stream)
                limit = self._limits.first_s
                while True:
                    async with asyncio.timeout(limit):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    limit = self._limits.silence_s
                    for words in native.take(chunk):
                        yield words
        except (openai.APITimeoutError, TimeoutError) as error:
            raise ModelFailed(SILENT, f"{self._url} does not answer in time.") from error
        except openai.APIConnectionError as error:
            hint = "start its server (for Ollama: `ollama serve`), or correct LOCAL_MODEL_URL."
            raise ModelFailed(UNREACHABLE, f"nothing answers at {self._url}: {hint}") from error
        except openai.APIStatusError as error:
            raise await self._refused(error) from error
        except (openai.APIError, ValueError, TypeError, AttributeError) as error:
            raise ModelFailed(BROKE_OFF, f"{self._url} sent what cannot be read ({type(error).__name__}).") from error

    async def _begin(self, messages: Sequence[Json], tools: Sequence[Json], most: int | None) -> Any:
        """Send the request; where a server refuses tools, once more with the tools as text."""
        model = await self._model_name()
        extra: Json = {"max_tokens": most} if most else {}
        asking: Any = self._client.chat.completions.create
        if tools and self._knows_tools:
            try:
                return await asking(model=model, messages=messages, tools=tools, stream=True, **extra)
            except openai.BadRequestError as error:
                if "tool" not in str(error).lower():
                    raise
                self._knows_tools = False
                log.info("%s takes no tools for the model %s: they are described to it in text.", self._url, model)
        if tools:
            messages = with_tools_as_text(messages, tools)
        return await asking(model=model, messages=messages, stream=True, **extra)

    async def _model_name(self) -> str:
        """Return the configured model; else the first that the server lists."""
        if not self._model:
            listed = [model.id async for model in self._client.models.list()]
            if not listed:
                raise ModelFailed(UNKNOWN_MODEL, f"{self._url} lists no model: load one there, or set LOCAL_MODEL.")
            self._model = listed[0]
            log.info("LOCAL_MODEL is not set: %s answers, the first model that %s lists.", self._model, self._url)
        return self._model

    async def _refused(self, error: openai.APIStatusError) -> ModelFailed:
        """Word a refusal without the server's text, which may repeat what the caller said."""
        if error.status_code in (401, 403):
            return ModelFailed(REFUSED, f"{self._url} refuses the key: set LOCAL_MODEL_KEY.")
        if error.status_code == 404:
            known = ", ".join(await self._listed()) or "none"
            return ModelFailed(
                UNKNOWN_MODEL, f"{self._url} does not know {self._model!r}: set LOCAL_MODEL. It has: {known}."
            )
        return ModelFailed(REFUSED, f"{self._url} refuses with HTTP {error.status_code}.")

    async def _listed(self) -> list[str]:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                return [model.id async for model in self._client.models.list()]
        except (TimeoutError, openai.APIError):
            return []
