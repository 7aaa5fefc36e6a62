"""The protocol of a text model, as the agent loop uses it: messages and tools in, a stream of deltas out.

`chat_completions` implements it for OpenAI-compatible servers; `backend.testing.model` is scripted, for tests.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from backend.models.options import USUAL, ModelOptions
from backend.runtime.json_objects import Json


class FunctionCall(TypedDict):
    """A function's name, and its arguments as JSON text."""

    name: str
    arguments: str


class MessageCall(TypedDict):
    """A tool call within a message of the model."""

    id: str
    type: Literal["function"]
    function: FunctionCall


class ChatMessage(TypedDict):
    """A message in the chat completions API's form; `tool_call_id` names the call that it is the result of."""

    role: str
    content: str
    tool_calls: NotRequired[list[MessageCall]]
    tool_call_id: NotRequired[str | None]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete tool call of the model; `arguments` is its JSON, unchecked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last delta of a stream: the reason of its end and the tokens that it used."""

    reason: str
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = field(default="", compare=False)
    """The model that answered, which may be a fallback of the one requested."""


Delta = TextDelta | ToolCall | Finished


class ChatModel(Protocol):
    """A text model that streams its answers."""

    def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        """Yield deltas as the model produces them, `Finished` last.

        Closing the iterator closes the HTTP stream. Raise `ModelUnavailable`.
        """


async def words_of(model: ChatModel, name: str, messages: Sequence[ChatMessage], options: ModelOptions = USUAL) -> str:
    """Return the words of the whole answer of the model `name`. Raises `ModelUnavailable`."""
    async with aclosing(model.stream(messages, model=name, options=options)) as deltas:
        return "".join([delta.text async for delta in deltas if isinstance(delta, TextDelta)])


def quoted(value: Any) -> str:
    """Return `value` as JSON that cannot break out of the markup around it."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("`", "\\u0060")
