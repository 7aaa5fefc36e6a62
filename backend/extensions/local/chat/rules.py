"""What to answer without a model: a pure function from messages and tools to words or tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from backend.extensions.local.chat.asked import Asked
from backend.extensions.local.chat.calls import call_after, calls_for, is_called_for
from backend.extensions.local.chat.duties import duty, task_of, with_due_notes
from backend.extensions.local.chat.facts import recall
from backend.extensions.local.chat.telling import worded
from backend.extensions.local.dialogue.conversation import of_messages
from backend.extensions.local.dialogue.keeping import whole
from backend.extensions.local.dialogue.obeying import obeyed
from backend.extensions.local.dialogue.rules import Thought, respond

Message = Mapping[str, Any]


def think(messages: Sequence[Message], tools: Sequence[Message], tool_choice: Any = "auto") -> Thought:
    """Word the results of tools if there are any since the last question; else call a tool that fits, else answer."""
    known = "\n".join(text_of(each.get("content")) for each in messages if each.get("role") in ("system", "developer"))
    task = task_of(known)
    asked = Asked(task or _last_user(messages), known)
    functions = [tool["function"] for tool in tools if tool.get("type") == "function" and tool_choice != "none"]
    thought = _thought(asked, messages, functions)
    if thought.text:
        text = thought.text if thought.calls else obeyed(thought.text, known)
        thought = Thought(with_due_notes(text, known), thought.calls)
    return thought if task is None or thought.calls else Thought(f"<deliverable>{thought.text}</deliverable>")


def _thought(asked: Asked, messages: Sequence[Message], functions: Sequence[Message]) -> Thought:
    results = _results(messages)
    if theirs := duty(asked, may_act=bool(functions) and not results):
        return theirs
    if results:
        after = [
            call_after(asked, functions, name, text) or Thought(worded(asked.sentence, text)) for name, text in results
        ]
        calls = tuple(call for each in after for call in each.calls)
        return Thought("" if calls else " ".join(each.text for each in after), calls)
    routing = [each for each in functions if each["name"].startswith("route_")]
    if routing and not is_called_for(asked, functions):
        reply = respond(of_messages(_said(messages)), asked.known, routing, datetime.now())
        return Thought(calls=reply.calls) if reply.calls else reply
    return calls_for(asked, functions) or Thought(recall(asked.sentence))


def text_of(content: Any) -> str:
    """A message's content as text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _said(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Who said what, without tools and instructions."""
    roles = ("user", "assistant")
    return [(str(each["role"]), text_of(each.get("content"))) for each in messages if each.get("role") in roles]


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The newest round's tool results, if it is our turn to go on: the tool's name and the result's text."""
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    names = {call.get("id"): (call.get("function") or {}).get("name", "") for call in calls}
    newest = [*takewhile(lambda each: each.get("role") == "tool", reversed(messages))][::-1]
    return [(names.get(each.get("tool_call_id"), ""), text_of(each.get("content"))) for each in newest]


def _last_user(messages: Sequence[Message]) -> str:
    """What was said last; where it leans on what was said before, made whole."""
    *before, last = ["", *(text for role, text in _said(messages) if role == "user")]
    return whole(last, before)
