"""A text model, as the agent loop sees it: messages and tools in, a stream of deltas out.

`chat` speaks the OpenAI-compatible chat completions protocol; `fake` is scripted, for tests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Json = dict[str, Any]
"""A JSON object as it enters from a model, a service or a client, or leaves to one."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some of the answer's words."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call the model asks for; `arguments` is its JSON, unchecked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The stream's last delta: why it ended and what it cost."""

    reason: str
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = field(default="", compare=False)
    """The one that answered, where that may be another than the one asked."""


Delta = TextDelta | ToolCall | Finished


class ChatModel(Protocol):
    """One endpoint and its way of failing."""

    def stream(
        self,
        messages: Sequence[Json],
        *,
        model: str,
        tools: Sequence[Json] = (),
    ) -> AsyncIterator[Delta]:
        """Deltas as the model produces them, `Finished` last.

        Closing the iterator closes the HTTP stream. Raises `ModelUnavailable`.
        """
        ...


def quoted(value: Any) -> str:
    """`value` as JSON that cannot break out of where it is put."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("`", "\\u0060")
