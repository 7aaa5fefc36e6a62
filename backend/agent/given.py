"""What a turn is given beside the question: findings that were made before the model is asked.

A `Note` stands in the system prompt as quoted data. An `Exchange` stands in the conversation as a tool call with its
result, as if the model had asked for it: a form that models are trained to rely on.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backend.agent.context import ContextMessage, SourceMode
from backend.models.base import ToolCall


@dataclass(frozen=True, slots=True, repr=False)
class Note:
    """Data for the system prompt, under a title of ours."""

    title: str
    """What it is, in a few words: 'What the user said in earlier conversations'. Never a user's words."""
    data: Any
    """JSON data; it is quoted, so that nothing in it can pose as an instruction."""
    personal: bool = True
    """Whether it tells of one user: an answer that rests on it is never shown to another."""

    def __repr__(self) -> str:
        return f"Note({self.title!r}, personal={self.personal})"  # and nobody's words


@dataclass(frozen=True, slots=True, repr=False)
class Exchange:
    """A tool call with its result, both JSON objects."""

    tool: str
    """A name as tools have it: lower-case letters, digits, underscores."""
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]
    personal: bool = True
    citations: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Exchange({self.tool}, personal={self.personal})"

    def unit(self, now: float, mode: SourceMode) -> tuple[ContextMessage, ContextMessage]:
        """The two messages, which belong together; `now` is Unix time in seconds."""
        id_ = f"call_{secrets.token_hex(8)}"
        call = ToolCall(id_, self.tool, json.dumps(dict(self.arguments), ensure_ascii=False, sort_keys=True))
        content = json.dumps(dict(self.result), ensure_ascii=False, default=str)
        return (
            ContextMessage("assistant", "", now, mode, tool_calls=(call,)),
            ContextMessage("tool", content, now, mode, tool_call_id=id_, citations=self.citations),
        )
