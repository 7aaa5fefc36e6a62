"""Plain helpers for tests of the pure core: send client events, collect checked server events."""

from __future__ import annotations

import base64
from typing import Any

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Effect, Listen, Order, Send
from backend.realtime.serving.parts import ReplyPart
from tests.support.realtime_events import check_client_event, check_server_event

Event = dict[str, Any]
MANUAL = {"type": "realtime", "audio": {"input": {"turn_detection": None, "transcription": {"model": "m"}}}}


def a_core() -> Realtime:
    """A core with manual turns and transcription, its session set up."""
    core = Realtime("offline")
    core.open()
    tell(core, "session.update", session=MANUAL)
    return core


def events(effects: list[Effect]) -> list[Event]:
    """The server events among effects, each checked against the published types."""
    sent = [effect.event for effect in effects if isinstance(effect, Send)]
    for event in sent:
        check_server_event(event)
    return sent


def tell(core: Realtime, kind: str, **fields: Any) -> list[Effect]:
    """Send a client event, checked against the published types; returns the effects."""
    event = {"type": kind, "event_id": "mine", **fields}
    check_client_event(event)
    effects = core.receive(event)
    events(effects)
    return effects


def sent_back(core: Realtime, kind: str, **fields: Any) -> list[Event]:
    """Like `tell`, but returns the server events."""
    return events(tell(core, kind, **fields))


def error_code(answer: list[Event]) -> str | None:
    """The code of the one error, which names our event."""
    assert [event["type"] for event in answer] == ["error"]
    assert answer[0]["error"]["event_id"] == "mine"
    code: str | None = answer[0]["error"]["code"]
    return code


def append(core: Realtime, pcm: bytes) -> list[Effect]:
    """Append 24 kHz PCM16."""
    return tell(core, "input_audio_buffer.append", audio=base64.b64encode(pcm).decode())


def commit(core: Realtime, ms: int = 200) -> Listen:
    """Append silence and commit it; returns the order to listen."""
    append(core, bytes(ms * 48))
    listens = [each for each in tell(core, "input_audio_buffer.commit") if isinstance(each, Listen)]
    return listens[0]


def ask(core: Realtime, **response: Any) -> Order:
    """Ask for a reply; returns the order for it."""
    answers = [each for each in tell(core, "response.create", response=response) if isinstance(each, Order)]
    return answers[0]


def said(core: Realtime, order: Order, *parts: ReplyPart) -> list[Event]:
    """Feed a reply's parts."""
    return [event for part in parts for event in events(core.said(order.response_id, part))]


def message(role: str, text: str, **fields: Any) -> Event:
    """A text item."""
    kind = {"user": "input_text", "system": "input_text", "assistant": "output_text"}[role]
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **fields}
