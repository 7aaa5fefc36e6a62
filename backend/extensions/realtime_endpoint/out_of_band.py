"""Responses outside of the conversation, from a client's request to the events that it gets.

The Responder's own events are passed on; only our own id of the response is removed from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backend.realtime.conversation import Conversation
from backend.realtime.faults import error_event, invalid
from backend.realtime.items import Item, read_item, reference_of
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.turns import events as ev

PASSED = ("instructions", "max_output_tokens", "tool_choice", "parallel_tool_calls", "reasoning")
"""Fields that the Responder gets as the client has sent them."""
NamedThere = Callable[[Item], str | None]
"""Returns the Responder's name of an item that it has made."""
INPUT_LIMIT = 100
"""The most input items of one response."""


@dataclass(slots=True)
class _Asked:
    metadata: Json | None
    event_id: str | None
    response_id: str = ""


@dataclass(slots=True)
class OutOfBand:
    """The out-of-band responses of one client that are under way."""

    items: Conversation
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def ask(
        self, asked: Json, event_id: str | None, session: ClientSession, named_there: NamedThere
    ) -> ev.OutOfBandRequested:
        """Return the event that asks the call for a response with the fields `asked`. Raises `Fault`."""
        if "prompt" in asked:
            raise invalid("response.prompt", "it is not supported.")
        (modality,) = asked.get("output_modalities", [session.modality])
        if modality == "audio" and session.output_law is not None:
            why = "outside of the conversation audio is sent as audio/pcm only: ask for ['text']."
            raise invalid("response.output_modalities", why)
        response: Json = {name: asked[name] for name in PASSED if name in asked}
        response |= {"conversation": "none", "output_modalities": [modality]}
        response["tools"] = asked.get("tools", session.tools)
        if "input" in asked:
            response["input"] = self._input(asked["input"], named_there)
        request = f"out_of_band-{next(self._numbers)}"
        self._asked[request] = _Asked(asked.get("metadata"), event_id)
        return ev.OutOfBandRequested(request, response)

    def shown(self, event: ev.Event | None) -> Json | None:
        """Return a call's event as the client sees it; None if it is not about these responses."""
        match event:
            case ev.OutOfBandProgress():
                return self._on_progress(event)
            case ev.OutOfBandRefused(request) if asked := self._asked.pop(request, None):
                return error_event(event.message, code=event.code, client_event_id=asked.event_id)
        return None

    def _on_progress(self, event: ev.OutOfBandProgress) -> Json | None:
        asked = self._asked.get(event.request)
        if asked is None:
            return None
        shown: Json = {name: value for name, value in event.event.items() if name != "event_id"}
        if isinstance(response := shown.get("response"), dict):
            asked.response_id = response.get("id", "")
            shown["response"] = response | {"metadata": asked.metadata, "conversation_id": None}
        if event.finished is not None:
            del self._asked[event.request]
        return shown

    def is_under_way(self, response_id: str) -> bool:
        """Return whether the response of this id is one of these."""
        return any(asked.response_id == response_id for asked in self._asked.values())

    def _input(self, given: list[Any], named_there: NamedThere) -> list[Json]:
        if len(given) > INPUT_LIMIT:
            raise invalid("response.input", f"at most {INPUT_LIMIT} items are taken.")
        return [self._item(item, f"response.input[{number}]", named_there) for number, item in enumerate(given)]

    def _item(self, item: Any, at: str, named_there: NamedThere) -> Json:
        if referred := reference_of(item, at):
            known = self.items.referred(referred, f"{at}.id")
            if name := named_there(known):
                return {"type": item["type"], "id": name}
            return {field: value for field, value in known.shown().items() if field not in ("id", "object", "status")}
        read = read_item(item, "", at)
        if read.pictures:
            raise invalid(f"{at}.content", "pictures are not supported.")
        return {name: value for name, value in item.items() if name not in ("object", "status")}
