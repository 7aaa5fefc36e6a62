"""Makes JSON of the events of `backend.page_events`, as the page receives them and `docs/api.md` lists them.

An event's name is the tag of its type, and its fields are its data; here stands what differs from that. Messages of
other processes arrive as JSON already (a `PageMessage`) and are passed to the page as they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from msgspec import Struct, to_builtins

from backend import page_events as page
from backend.citations import as_json
from backend.runtime.json_objects import Json

ShowUser = Callable[[str, page.PageEvent], Awaitable[None]]
"""Shows an event on every open page of the user with that id, in every process."""


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


def name_of(kind: type[page.PageEvent]) -> str:
    """Return the name under which the page receives events of that type."""
    return str(kind.__struct_config__.tag)


def page_message(event: page.PageEvent) -> PageMessage:
    """Return the name and the JSON data under which the page receives `event`."""
    fields: Json = to_builtins(event)
    name: str = fields.pop("type")
    return PageMessage(name, _data(event, fields))


def shown_by(show: Callable[[str, str, Json], Awaitable[None]]) -> ShowUser:
    """Return a function that sends a typed event through `show`, which takes a user id, a name and JSON data."""

    async def show_event(user_id: str, event: page.PageEvent) -> None:
        await show(user_id, *page_message(event))

    return show_event


def _data(event: page.PageEvent, fields: Json) -> Json:
    """Return the data of an event: its fields, but for records within it that are spread out."""
    match event:
        case page.UserItemAdded():
            return {"role": "user", "item_id": event.item_id, "delta": "", "previous_item_id": event.previous_item_id}
        case page.ReplyWorded():
            return {"role": "assistant"} | fields
        case page.ThinkerChanged(work=work):
            data: Json = {"call_id": fields.pop("call_id"), "event": fields.pop("event")}
            shown: Json = fields.pop("work", {})
            if work is not None and work.source:
                shown = shown | {"citations": as_json(work.citations)}
            else:
                shown.pop("citations", None)
            return data | shown | fields
        case page.NoticeChanged():
            return {"id": fields.pop("id"), **fields.pop("content", {}), **fields}
        case page.TaskChanged():
            found: Json = fields.pop("result", {})
            return fields | found | ({"citations": as_json(event.result.citations)} if event.result else {})
        case page.ChatTurnFinished(reply):
            return dict(reply)
        case _:
            return {name: list(value) if type(value) is tuple else value for name, value in fields.items()}
