"""What to answer: a pure function from messages and tools to words or tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local_responder.chat.bringing_up import with_due_notes
from local_responder.chat.choosing import chosen
from local_responder.chat.conversing import converse
from local_responder.chat.coordination import actions, asked_to_coordinate, decision
from local_responder.chat.deliberation import delivered, part_played, task_of
from local_responder.chat.facts import recall
from local_responder.chat.notes import notes
from local_responder.chat.reports import plan, report
from local_responder.chat.skill import Asked, Skill, skill_for
from local_responder.dialogue import wording
from local_responder.dialogue.keeping import whole
from local_responder.dialogue.obeying import obeyed
from local_responder.dialogue.wording import spoken

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function and its arguments as JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Words, or calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


def think(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], tool_choice: Any = "auto") -> Thought:
    """Word the results of tools if there are any since the last question; else call a tool that fits, else answer."""
    known = _system(messages)
    if (said := part_played(known)) is not None:
        return Thought(said)
    task = task_of(known)
    asked = Asked(task or _last_user(messages), known)
    thought = _thought(asked, messages, tools, may_call=tool_choice != "none")
    if thought.text:
        text = thought.text if thought.calls else obeyed(thought.text, known)
        thought = Thought(with_due_notes(text, known), thought.calls)
    return thought if task is None or thought.calls else Thought(delivered(thought.text))


def _thought(
    asked: Asked, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, may_call: bool
) -> Thought:
    results = _results(messages)
    if asked_to_coordinate(asked):
        wanted = () if results or not may_call else actions(asked)
        calls = tuple(ToolCall(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in wanted)
        return Thought(calls=calls) if calls else Thought(decision(asked))
    if results:
        if further := _further(asked, results):
            return Thought(calls=further)
        return Thought(" ".join(_word(asked, name, content) for name, content in results))
    fitting = _fitting(asked.sentence, tools if may_call else ())
    if not any(not skill.last_resort for _, skill in fitting) and may_call:
        wish = converse(_said(messages), asked.known, _functions(tools))
        if wish is not None:
            return Thought(wish.words, (ToolCall(wish.call.name, wish.call.arguments),) if wish.call else ())
    for tool, skill in fitting:
        fillings = skill.fill(asked, tool.get("parameters") or {})
        if not fillings:
            return Thought(skill.missing)
        return Thought(calls=tuple(ToolCall(tool["name"], json.dumps(each, ensure_ascii=False)) for each in fillings))
    return Thought(chosen(asked) or notes(asked) or plan(asked) or report(asked) or recall(asked.sentence))


def text_of(content: Any) -> str:
    """A message's content as text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _fitting(sentence: str, tools: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Skill]]:
    """The offered functions a skill knows and the sentence calls for, in the order they are offered; the ones that
    any sentence would do for come last."""
    functions = _functions(tools)
    fitting = [
        (function, skill)
        for function in functions
        if (skill := skill_for(function["name"])) is not None and skill.fits(sentence)
    ]
    return sorted(fitting, key=lambda pair: pair[1].last_resort)


def _functions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [tool["function"] for tool in tools if tool.get("type") == "function"]


def _said(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Who said what, without tools and instructions."""
    return [
        (str(each["role"]), text_of(each.get("content")))
        for each in messages
        if each.get("role") in ("user", "assistant")
    ]


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The newest round's tool results, if it is our turn to go on: the tool's name and the result's text."""
    names, results = _called_names(messages), []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.append((names.get(message.get("tool_call_id"), ""), text_of(message.get("content"))))
    return results[::-1]


def _further(asked: Asked, results: Sequence[tuple[str, str]]) -> tuple[ToolCall, ...]:
    """The calls that the results lead to."""
    calls = []
    for name, content in results:
        skill, result = skill_for(name), _read(content)
        if skill and isinstance(result, Mapping) and (then := skill.then(asked, result)):
            calls.append(ToolCall(then[0], json.dumps(then[1], ensure_ascii=False)))
    return tuple(calls)


def _called_names(messages: Sequence[Message]) -> dict[Any, str]:
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    return {call.get("id"): (call.get("function") or {}).get("name", "") for call in calls}


def _word(asked: Asked, name: str, content: str) -> str:
    result = _read(content)
    if not isinstance(result, Mapping):
        return spoken(str(result))
    if _needs_consent(result):
        return wording.question_of_consent(asked.sentence)
    if result.get("error"):
        return f"I could not find that out. {_reason(result['error'])}".strip()
    answer = _by_skill(asked, name, result) or "I got an answer that I cannot put into words."
    if result.get("sample") is True and "sample" not in answer.lower():
        return f"I could not reach the live service, so this is sample data: {answer}"
    return answer


def _read(content: str) -> Any:
    """The result's JSON; the text itself when it is none."""
    try:
        return json.loads(content)
    except ValueError:
        return content


def _needs_consent(result: Mapping[str, Any]) -> bool:
    error = result.get("error")
    return isinstance(error, Mapping) and error.get("type") == "needs_confirmation"


def _by_skill(asked: Asked, name: str, result: Mapping[str, Any]) -> str | None:
    skill = skill_for(name)
    try:
        return skill.word(asked, result) if skill else None
    except (KeyError, TypeError, AttributeError):
        return None  # not the result this skill knows


def _reason(error: Any) -> str:
    """The first sentence of a failure: what follows is often advice to a model."""
    message = error.get("message", "") if isinstance(error, Mapping) else str(error)
    return spoken(str(message)).partition(". ")[0].rstrip(".") + "." if message else ""


def _last_user(messages: Sequence[Message]) -> str:
    """What was said last; where it leans on what was said before, made whole."""
    *before, last = ["", *(text for role, text in _said(messages) if role == "user")]
    return whole(last, before)


def _system(messages: Sequence[Message]) -> str:
    return "\n".join(text_of(each.get("content")) for each in messages if each.get("role") in ("system", "developer"))
