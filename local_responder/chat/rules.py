"""What to answer without a model: a pure function from messages and tools to words or tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from local_responder.chat.coordination import actions, asked_to_coordinate, decision
from local_responder.chat.deliberation import delivered, part_played, task_of
from local_responder.chat.facts import recall
from local_responder.chat.reports import plan, report
from local_responder.chat.set_pieces import chosen, notes, with_due_notes
from local_responder.chat.skill import Asked, Result, Skill, skill_for
from local_responder.dialogue import wording
from local_responder.dialogue.conversation import of_messages
from local_responder.dialogue.keeping import whole
from local_responder.dialogue.obeying import obeyed
from local_responder.dialogue.routing import Specialist, router_of
from local_responder.dialogue.rules import respond
from local_responder.realtime.parts import Call

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Thought:
    """Words, or calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def think(messages: Sequence[Message], tools: Sequence[Message], tool_choice: Any = "auto") -> Thought:
    """Word the results of tools if there are any since the last question; else call a tool that fits, else answer."""
    known = "\n".join(text_of(each.get("content")) for each in messages if each.get("role") in ("system", "developer"))
    if (said := part_played(known)) is not None:
        return Thought(said)
    task = task_of(known)
    asked = Asked(task or _last_user(messages), known)
    functions = [tool["function"] for tool in tools if tool.get("type") == "function" and tool_choice != "none"]
    thought = _thought(asked, messages, functions)
    if thought.text:
        text = thought.text if thought.calls else obeyed(thought.text, known)
        thought = Thought(with_due_notes(text, known), thought.calls)
    return thought if task is None or thought.calls else Thought(delivered(thought.text))


def _thought(asked: Asked, messages: Sequence[Message], functions: Sequence[Message]) -> Thought:
    results = _results(messages)
    if asked_to_coordinate(asked):
        calls = () if results or not functions else tuple(_call(*each) for each in actions(asked))
        return Thought(calls=calls) if calls else Thought(decision(asked))
    if results:
        if further := _further(asked, results):
            return Thought(calls=further)
        return Thought(" ".join(_word(asked, name, content) for name, content in results))
    tool = _fitting(asked.sentence, functions)
    if tool is None and (routing := [each for each in functions if each["name"].startswith("route_")]):
        reply = respond(of_messages(_said(messages)), asked.known, routing, datetime.now())
        return Thought(calls=(reply.call,)) if reply.call else Thought(reply.words)
    for function, skill in [tool] if tool else _nearest(asked.sentence, functions):
        if fillings := skill.fill(asked, function.get("parameters") or {}):
            return Thought(calls=tuple(_call(function["name"], each) for each in fillings))
        if skill.missing and (tool or len(functions) == 1):
            return Thought(skill.missing)
    return Thought(chosen(asked) or notes(asked) or plan(asked) or report(asked) or recall(asked.sentence))


def text_of(content: Any) -> str:
    """A message's content as text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _fitting(sentence: str, functions: Sequence[Message]) -> tuple[Message, Skill] | None:
    """The first of the offered functions whose skill the sentence calls for by its words."""
    known = ((function, skill_for(function["name"])) for function in functions)
    return next(
        ((each, skill) for each, skill in known if skill and not skill.last_resort and skill.fits(sentence)), None
    )


def _nearest(sentence: str, functions: Sequence[Message]) -> list[tuple[Message, Skill]]:
    """The offered functions that some skill uses, the one whose description is nearest to the sentence first."""
    usable = {each["name"]: (each, skill) for each in functions if (skill := skill_for(each["name"]))}
    told = tuple(Specialist(name, str(each.get("description", ""))) for name, (each, _) in usable.items())
    return [usable[name] for name, _ in router_of(told).scores(sentence)] if told and sentence.strip() else []


def _said(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Who said what, without tools and instructions."""
    roles = ("user", "assistant")
    return [(str(each["role"]), text_of(each.get("content"))) for each in messages if each.get("role") in roles]


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The newest round's tool results, if it is our turn to go on: the tool's name and the result's text."""
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    names = {call.get("id"): (call.get("function") or {}).get("name", "") for call in calls}
    results: list[tuple[str, str]] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.append((names.get(message.get("tool_call_id"), ""), text_of(message.get("content"))))
    return results[::-1]


def _further(asked: Asked, results: Sequence[tuple[str, str]]) -> tuple[Call, ...]:
    """The calls that the results lead to."""
    calls = []
    for name, content in results:
        skill, result = skill_for(name), wording.read(content)
        if skill and isinstance(result, Mapping) and (then := skill.then(asked, result)):
            calls.append(_call(*then))
    return tuple(calls)


def _call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))


def _word(asked: Asked, name: str, content: str) -> str:
    result = wording.read(content)
    if not isinstance(result, dict):
        return wording.spoken(str(result))
    if isinstance(error := result.get("error"), Mapping) and error.get("type") == "needs_confirmation":
        return wording.question_of_consent(asked.sentence)
    if error:
        return f"I could not find that out. {wording.failure(result)}".strip()
    answer = _by_skill(asked, name, result) or "I got an answer that I cannot put into words."
    if result.get("sample") is True and "sample" not in answer.lower():
        return f"I could not reach the live service, so this is sample data: {answer}"
    return answer


def _by_skill(asked: Asked, name: str, result: Result) -> str | None:
    skill = skill_for(name)
    try:
        return skill.word(asked, result) if skill else None
    except (KeyError, TypeError, AttributeError):
        return None  # not the result this skill knows


def _last_user(messages: Sequence[Message]) -> str:
    """What was said last; where it leans on what was said before, made whole."""
    *before, last = ["", *(text for role, text in _said(messages) if role == "user")]
    return whole(last, before)
