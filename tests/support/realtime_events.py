"""Events of the Realtime protocol, each checked by the `openai` package's type for it."""

from typing import Any, get_args

from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import BaseModel

Event = dict[str, Any]


def _by_type(union: Any) -> dict[str, type[BaseModel]]:
    return {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(union)[0])}


CLIENT_EVENTS = _by_type(RealtimeClientEvent)
SERVER_EVENTS = _by_type(RealtimeServerEvent)


def check_server_event(event: Event) -> None:
    """Fail unless the `openai` package knows the event and it has an id."""
    SERVER_EVENTS[event["type"]].model_validate(event)
    assert event["event_id"]


def check_client_event(event: Event) -> None:
    """Fail unless the event is a client event of the `openai` package."""
    CLIENT_EVENTS[event["type"]].model_validate(event)
