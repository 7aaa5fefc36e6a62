"""Responses outside of the conversation, as a client asks for them and is shown them.

The Responder's own events are passed on; only what names the response to us is taken out of them again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backend.extensions.realtime_endpoint.client_events import REFERENCE, ClientFault
from backend.extensions.realtime_endpoint.items import ItemList
from backend.extensions.realtime_endpoint.session import RealtimeSession, read_modality, read_tools
from backend.runtime.json_objects import Json
from backend.turns import events as ev

PASSED = ("instructions", "max_output_tokens", "tool_choice", "parallel_tool_calls", "reasoning")
"""Fields that the Responder gets as the client has sent them."""
INPUT = frozenset({"message", "function_call", "function_call_output"})
NamedThere = Callable[[Json], str | None]
"""Returns the Responder's name of an item that it has made."""
INPUT_LIMIT = 100
"""Items that one response may be asked about."""


@dataclass(slots=True)
class _Asked:
    metadata: Json | None
    event_id: str | None
    response_id: str = ""


@dataclass(slots=True)
class OutOfBand:
    """The responses of one client that are under way."""

    items: ItemList
    _asked: dict[str, _Asked] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def ask(
        self, asked: Json, event_id: str | None, session: RealtimeSession, named_there: NamedThere
    ) -> ev.OutOfBandRequested:
        """Return what the call is asked for. Raises `ClientFault`."""
        if asked.get("prompt"):
            raise ClientFault("'response.prompt' is not supported.", param="response.prompt")
        given = asked.get("output_modalities")
        modality = session.modality if given is None else read_modality(given, "response.output_modalities")
        if modality == "audio" and session.output_law is not None:
            message = "Outside of the conversation audio is sent as audio/pcm only: ask for ['text']."
            raise ClientFault(message, param="response.output_modalities")
        tools = asked.get("tools")
        shown = session.shown()["tools"] if tools is None else read_tools(tools, "response.tools")
        response: Json = {name: asked[name] for name in PASSED if asked.get(name) is not None}
        response |= {"conversation": "none", "output_modalities": [modality], "tools": shown}
        if asked.get("input") is not None:
            response["input"] = self._input(asked["input"], named_there)
        request = f"out_of_band-{next(self._numbers)}"
        self._asked[request] = _Asked(asked.get("metadata"), event_id)
        return ev.OutOfBandRequested(request, response)

    def on_progress(self, event: ev.OutOfBandProgress) -> Json | None:
        """Return the Responder's event as the client is shown it; None for one that nobody waits for."""
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

    def on_refused(self, event: ev.OutOfBandRefused) -> Json | None:
        """Return the `error` event; None where nobody waits any more."""
        asked = self._asked.pop(event.request, None)
        if asked is None:
            return None
        error = {"type": "invalid_request_error", "code": event.code, "message": event.message, "param": None}
        return {"type": "error", "error": error | {"event_id": asked.event_id}}

    def is_under_way(self, response_id: str) -> bool:
        """Return whether a response of that id is one of these."""
        return any(asked.response_id == response_id for asked in self._asked.values())

    def _input(self, given: list[Any], named_there: NamedThere) -> list[Json]:
        if len(given) > INPUT_LIMIT:
            raise ClientFault(f"At most {INPUT_LIMIT} items are taken.", param="response.input")
        return [self._item(item, f"response.input[{number}]", named_there) for number, item in enumerate(given)]

    def _item(self, item: Json, at: str, named_there: NamedThere) -> Json:
        kind = item.get("type")
        if kind == REFERENCE:
            known = self.items.find(str(item.get("id")))
            if known is None:
                raise ClientFault(f"'{at}.id' names no item.", code="item_not_found", param=f"{at}.id")
            if name := named_there(known):
                return {"type": REFERENCE, "id": name}
            return {field: value for field, value in known.items() if field not in ("id", "object", "status")}
        if kind not in INPUT:
            raise ClientFault(f"Items of the type {str(kind)[:64]!r} are not supported.", param=f"{at}.type")
        if any(part.get("type") == "input_image" for part in item.get("content") or ()):
            raise ClientFault("Images are not supported.", param=f"{at}.content")
        return {name: value for name, value in item.items() if name not in ("object", "status")}
