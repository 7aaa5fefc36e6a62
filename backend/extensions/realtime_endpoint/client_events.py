"""Client events of the Realtime protocol, checked by the `openai` package's types before anything is done about them.

Fields that the types do not know are left alone: newer clients may send them, and our own extensions stand among them.
An `input_audio_buffer.append` comes many times a second and has a structure of its own.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import msgspec
from pydantic import BaseModel, ValidationError

from backend.runtime.json_objects import Json

APPEND = "input_audio_buffer.append"
REFERENCE = "item_reference"
EVENT_ID_LIMIT = 512
"""Characters of a client's event id that are given back."""


class ClientFault(Exception):
    """A client event that cannot be carried out; `code` and `param` are those of the API's `error` event."""

    def __init__(self, message: str, *, code: str = "invalid_value", param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.event_id: str | None = None


class ClientEvent(msgspec.Struct):
    """The fields that are read of any client event before its own are checked."""

    type: str
    event_id: str | None = None
    audio: str | None = None


_decode = msgspec.json.Decoder(ClientEvent).decode
_decode_all = msgspec.json.Decoder(dict[str, Any]).decode


def parse(text: str | bytes) -> tuple[ClientEvent, Json]:
    """Return a client event, and all its fields where they were checked by its type. Raises `ClientFault`."""
    try:
        event = _decode(text)
    except msgspec.ValidationError as error:
        raise ClientFault(f"The event is not valid: {error}.", code="invalid_event") from None
    except (msgspec.DecodeError, RecursionError):
        raise ClientFault("The event is not valid JSON.", code="invalid_json") from None
    event.event_id = event.event_id[:EVENT_ID_LIMIT] if event.event_id else None
    if event.type == APPEND:
        return event, {}
    try:
        return event, _checked(event, text)
    except ClientFault as fault:
        fault.event_id = event.event_id
        raise


def check_session(session: Json) -> None:
    """Check a session that is given outside of an event, as that of a `session.update`. Raises `ClientFault`."""
    try:
        _types()["session.update"].model_validate({"type": "session.update", "session": session})
    except ValidationError as error:
        raise _fault(error) from None


def audio_of(encoded: str | None) -> bytes:
    """Return the bytes of an event's `audio`. Raises `ClientFault`."""
    if encoded is None:
        raise ClientFault("Missing required parameter: 'audio'.", code="missing_required_parameter", param="audio")
    try:
        return binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise ClientFault("'audio' is not valid base64.", param="audio") from None


def _checked(event: ClientEvent, text: str | bytes) -> Json:
    kind = _types().get(event.type)
    if kind is None:
        names = ", ".join(sorted(_types()))
        raise ClientFault(f"Unknown event type {event.type[:64]!r}. Known are: {names}.", param="type")
    try:
        fields: Json = _decode_all(text)
        kind.model_validate(_without_references(fields))
    except ValidationError as error:
        raise _fault(error) from None
    except (msgspec.DecodeError, RecursionError):
        raise ClientFault("The event is not valid JSON.", code="invalid_json") from None
    return fields


def _without_references(fields: Json) -> Json:
    """Return the event without the references to items that a response's input may hold: the types do not know them."""
    response = fields.get("response")
    if not isinstance(response, dict) or not isinstance(response.get("input"), list):
        return fields
    known = [each for each in response["input"] if not (isinstance(each, dict) and each.get("type") == REFERENCE)]
    return {**fields, "response": {**response, "input": known}}


def _fault(error: ValidationError) -> ClientFault:
    """Return the first thing that is wrong; of a union's alternatives, that of the one that fits best."""
    first = max(error.errors(include_url=False, include_input=False), key=lambda each: len(each["loc"]))
    names = [str(part) for part in first["loc"] if not (isinstance(part, str) and part[:1].isupper())]
    param = ".".join(names)
    if first["type"] == "missing":
        return ClientFault(f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)
    return ClientFault(f"Invalid '{param}': {first['msg']}.", param=param)


@cache
def _types() -> Mapping[str, type[BaseModel]]:
    """Return the client events by type; the package takes a moment to import, so the first client pays for it."""
    from openai.types.realtime import RealtimeClientEvent

    kinds = get_args(get_args(RealtimeClientEvent)[0])
    return {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in kinds}
