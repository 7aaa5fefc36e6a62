"""The one place that knows how an event looks to the page: its name and its JSON data, as `docs/api.md` lists them.

Everything else in the server handles the types of `conversation.page_events`. Messages of other processes arrive as
JSON already (a `PageMessage`) and are passed to the page as they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import NamedTuple

from msgspec import Struct

from backend.citations import as_json
from backend.runtime.json_objects import Json
from backend.turns import page_events as page

ShowUser = Callable[[str, page.PageEvent], Awaitable[None]]
"""Shows an event on every open page of the user with that id, in every process."""

NAMES: dict[type[page.PageEvent], str] = {
    page.SessionStarted: "session_started",
    page.ResponderChanged: "responder_changed",
    page.SessionEnded: "session_ended",
    page.FloorChanged: "floor",
    page.KeysPressed: "keys_pressed",
    page.UserItemAdded: "transcript_delta",
    page.TranscriptDelta: "transcript_delta",
    page.ReplyWorded: "transcript_done",
    page.TranscriptCompleted: "transcript",
    page.TranscriptInterrupted: "transcript_interrupted",
    page.PlaybackFinished: "audio_playback_finished",
    page.TurnMeasured: "turn_metrics",
    page.AnswerMeasured: "answer_metrics",
    page.MurmurHeard: "murmur",
    page.ReplyDiscarded: "reply_discarded",
    page.ReplyFailed: "reply_failed",
    page.UsageCounted: "usage",
    page.InterruptionsChanged: "interruptions",
    page.RecordingChanged: "recording",
    page.IdleNudged: "session_idle_nudge",
    page.IdleDisconnected: "session_idle_disconnect",
    page.ErrorShown: "error",
    page.EventsMissed: "gap",
    page.ThinkerChanged: "thinker",
    page.NoticeChanged: "notice",
    page.ReminderChanged: "reminder",
    page.DecisionMade: "decision",
    page.TaskChanged: "task",
    page.UserContextChanged: "user_context",
    page.ConfirmationAsked: "confirmation.asked",
    page.ConfirmationAnswered: "confirmation.answered",
    page.ChatTurnStarted: "turn",
    page.ChatStateChanged: "state",
    page.TokenGenerated: "token",
    page.ToolCallStarted: "tool_call",
    page.ToolCallFinished: "tool_result",
    page.ChatTurnFinished: "final",
}
_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in (*NAMES, page.ThinkerWork)}


class PageMessage(NamedTuple):
    """An event as the page receives it: the name of a server-sent event, and its JSON data."""

    type: str
    data: Json


class LoggedEvent(Struct, frozen=True):
    """One event of a session as the page receives it: `id` counts from 1, `at` is Unix time in seconds."""

    id: int
    type: str
    at: float
    data: Json


def page_message(event: page.PageEvent) -> PageMessage:
    """Return the name and the JSON data under which the page receives `event`."""
    return PageMessage(NAMES[type(event)], _data(event))


def shown_by(show: Callable[[str, str, Json], Awaitable[None]]) -> ShowUser:
    """Return a function that sends a typed event through `show`, which takes a user id, a name and JSON data."""

    async def show_event(user_id: str, event: page.PageEvent) -> None:
        await show(user_id, *page_message(event))

    return show_event


def _data(event: page.PageEvent) -> Json:
    match event:
        case page.UserItemAdded(item_id, previous):
            return {"role": "user", "item_id": item_id, "delta": "", "previous_item_id": previous}
        case page.ReplyWorded(item_id, content):
            return {"role": "assistant", "item_id": item_id, "content": content}
        case page.ThinkerChanged():
            return _thinker(event)
        case page.NoticeChanged(notice_id, state, content):
            about = {} if content is None else {"kind": content.kind, "text": content.text, "source": content.source}
            at = {} if content is None or content.at is None else {"at": content.at}
            return {"id": notice_id, **about, **at, "state": state}
        case page.ReminderChanged(reminder_id, change, way):
            return {"id": reminder_id, "event": change, **_if_any(way=way)}
        case page.DecisionMade():
            data = _as_fields(event)
            return data | {"inputIds": data.pop("input_ids"), "taskSummary": data.pop("task_summary")}
        case page.TaskChanged(task_id, change, kind, instruction, detail, result):
            found: Json = {}
            if result is not None:
                found = {"result": result.result, "source": result.source, "citations": as_json(result.citations)}
            about = {"task_id": task_id, "event": change, "kind": kind, "instruction": instruction}
            return {**about, **_if_any(detail=detail), **found}
        case page.ErrorShown(message, hint, problem):
            return {"message": message, "hint": hint, **_if_any(problem=problem)}
        case page.ChatTurnFinished(reply):
            return dict(reply)
        case _:
            return _as_fields(event)


def _thinker(event: page.ThinkerChanged) -> Json:
    data: Json = {"call_id": event.call_id, "event": event.stage}
    if event.work is not None:
        work = _as_fields(event.work)
        ending = {name: work.pop(name) for name in ("source", "citations", "task_id", "error")}
        data |= work
        if ending["source"]:
            data |= {"source": ending["source"], "citations": as_json(ending["citations"])}
        data |= _if_any(task_id=ending["task_id"], error=ending["error"])
    data |= _if_any(detail=event.detail)
    if event.tool is not None:
        data["tool"] = {"id": event.tool.id, "name": event.tool.name, "event": event.tool.event}
    return data


def _as_fields(event: object) -> Json:
    """Return the fields of a dataclass by name; tuples become lists, as JSON has them."""
    data = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    return {name: list(value) if type(value) is tuple else value for name, value in data.items()}


def _if_any(**texts: str) -> Json:
    return {name: text for name, text in texts.items() if text}
