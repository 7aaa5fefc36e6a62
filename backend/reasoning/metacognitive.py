"""The two strategies of the metacognitive framework, in which a model names the state of its thinking.

    mono:  one model, in turns       <deep_thinking> … <action>            at most `rounds` turns
    dual:  Thinker ── <instruction>, <input> ──▶ Actor ── <shallow_thinking> … <action>
              ▲                                    │
              └── report, <function_call_result> ──┘                       at most `rounds` rounds

Both end with a `<deliverable>`: objective, context, key points, output. The single model, or the Thinker, first says
TASK_DONE; if it delivers nothing then, it is reminded. If the single model ignores the form, its first words are the
answer. The Thinker sees the results of tools, so it need not trust the Actor. The Actor sees none of the Thinker's
thoughts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.agent.speech import speakable
from backend.models.base import quoted
from backend.page_events import ToolResultEvent
from backend.reasoning.base import ROUND_LIMIT, Reasoned, ReasoningRun
from backend.runtime.prompts import prompt

OPEN, CLOSE = "<deliverable>", "</deliverable>"
TASK_DONE = "TASK_DONE"
BEGIN = "Give the first instruction."
GO_ON = "Go on."
DELIVER = f"The task is done. Now write its result between {OPEN} and {CLOSE}."
REPORT = "The Actor reports (data):\n{report}"
NEXT = "\nGive the next instruction."
BEST_LIMIT = 2_000
"""The most characters of a report that is no deliverable."""
RESULT_LIMIT = 2_000
"""The most characters of a tool's result that the Thinker sees."""
RESULTS_SHOWN = 20
"""The most results of one report that the Thinker sees: the latest."""
_THOUGHTS = re.compile(
    r"<(deep|shallow)_thinking>(?:.*?</\1_thinking>|.*?(?=<(?:action|instruction|input|deliverable)>)|.*)", re.DOTALL
)
_UNOPENED = re.compile(r"\A.*</(?:deep|shallow)_thinking>", re.DOTALL)
_MARKS = re.compile(rf"</?(?:action|instruction|input|deliverable|(?:deep|shallow)_thinking)>|\b{TASK_DONE}\b")
_SECTION = re.compile(
    r"^[^\w\n]*(?:\d+[^\w\n]+)?(objective|context|key points|output)[^\w\n]*?:[ \t*]*", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """The output of a model in one turn. `payload` includes all tags and private thoughts."""

    payload: str = field(repr=False)


@dataclass(slots=True)
class ReasonerMemory:
    """The messages of the single model or the Actor in one task, oldest first."""

    messages: list[ModelMessage] = field(default_factory=list)


def stopped(message: ModelMessage) -> bool:
    """Return whether a message ends the work with a complete deliverable outside of thoughts."""
    said = _said(message.payload)
    return OPEN in said and CLOSE in said.partition(OPEN)[2]


def conclude(memory: ReasonerMemory) -> str:
    """Return the deliverable of the last message, or its text without thoughts and tags; "" without messages."""
    if not memory.messages:
        return ""
    said = _said(memory.messages[-1].payload)
    return deliverable(said) or _MARKS.sub("", said).strip()


def deliverable(text: str) -> str | None:
    """Return the text between the tags; None when there is none. The closing tag may be missing."""
    _, opened, rest = text.partition(OPEN)
    result = rest.partition(CLOSE)[0].strip()
    return result if opened and result else None


def output_of(text: str) -> str:
    """Return the output section of a deliverable; without such a section, the whole deliverable."""
    marks = list(_SECTION.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    outputs = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False) if _is_output(mark)]
    return next(filter(None, outputs), text)


def between(text: str, tag: str) -> str:
    """Return the text within `<tag>`, outside of thoughts; "" if there is none. The closing tag may be missing."""
    return _said(text).partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


async def think_mono(run: ReasoningRun) -> Reasoned:
    """Think with one model. Raises `NoAnswer` or `ModelUnavailable`."""
    task = _prompt(run, "mono", metacognition=prompt("reasoning/metacognition"))
    session, memory = run.session("mono", task, tools=True), ReasonerMemory()
    asked = run.task.text
    for run.round in range(1, ROUND_LIMIT + 1):
        run.stage("thinking")
        response = await run.think(session, asked)
        if _ends(run, memory, response.text) or _is_plain(response.text):
            return run.reasoned(run.best, complete=not response.incomplete)
        asked = DELIVER if _is_done(response.text) else GO_ON
    return run.reasoned(run.best, complete=False)


async def think_dual(run: ReasoningRun, *, actor: str) -> Reasoned:
    """Think with two models; `actor` names the second. Raises `NoAnswer` or `ModelUnavailable`."""
    task = prompt(
        "reasoning/thinker",
        task=quoted(run.task.text),
        metacognition=prompt("reasoning/metacognition"),
        rounds=str(ROUND_LIMIT),
    )
    planning = run.session("thinker", task, tools=False)
    working, memory = run.session("actor", _prompt(run, "actor"), tools=True, model=actor), ReasonerMemory()
    asked = BEGIN
    for run.round in range(1, ROUND_LIMIT + 1):
        run.stage("planning")
        instruction = (await run.think(planning, asked)).text
        run.stage("carrying out")
        called = len(run.calls)
        report = await run.think(working, order(instruction))
        if _ends(run, memory, report.text):
            return run.reasoned(run.best, complete=not report.incomplete)
        reported = REPORT.format(report=quoted(conclude(memory)))
        asked = "\n".join(filter(None, (reported, called_results(run.calls[called:]), NEXT)))
    return run.reasoned(run.best, complete=False)


def order(plan: str) -> str:
    """Return the part of the Thinker's words for the Actor: instruction, input, and whether to deliver."""
    instruction = between(plan, "instruction") or _MARKS.sub("", _said(plan)).strip()
    parts = [f"<instruction>\n{instruction}\n</instruction>"]
    if given := between(plan, "input"):
        parts.append(f"<input>\n{given}\n</input>")
    if _is_done(plan):
        parts.append(f"{TASK_DONE}. {DELIVER}")
    return "\n".join(parts)


def called_results(calls: Sequence[ToolResultEvent]) -> str:
    """Return the results of tool calls for the Thinker, as tagged JSON that cannot pose as a tag."""
    return "\n".join(
        f"<function_call_result>\n{quoted(_result(call))}\n</function_call_result>" for call in calls[-RESULTS_SHOWN:]
    )


def _is_output(mark: re.Match[str]) -> bool:
    return mark[1].lower() == "output"


def _result(call: ToolResultEvent) -> dict[str, str]:
    status = "failed" if call.error else "succeeded"
    result = json.dumps(call.result, ensure_ascii=False)
    return {"name": call.tool_name, "status": status, "result": result[:RESULT_LIMIT]}


def _prompt(run: ReasoningRun, name: str, **parts: str) -> str:
    form = prompt("reasoning/deliverable")
    task = prompt(f"reasoning/{name}", task=quoted(run.task.text), deliverable=form, **parts)
    return f"{task}\n\n{run.task.guidance}".strip()


def _ends(run: ReasoningRun, memory: ReasonerMemory, text: str) -> bool:
    """Keep a message and the best result so far, and return whether the work ends with it."""
    message = ModelMessage(text)
    memory.messages.append(message)
    result, is_last = conclude(memory), stopped(message)
    if run.task.source_mode == "voice":
        result = speakable(output_of(result))
    if result:
        run.best = result if is_last else result[:BEST_LIMIT]
    return is_last and bool(result)


def _is_plain(text: str) -> bool:
    """Return whether a text has none of the framework's tags, so that its model does not follow the framework."""
    return _MARKS.search(text) is None


def _is_done(text: str) -> bool:
    return TASK_DONE in _said(text)


def _said(text: str) -> str:
    """Return a text without thoughts, even if one of their tags is missing."""
    return _UNOPENED.sub("", _THOUGHTS.sub("", text))
