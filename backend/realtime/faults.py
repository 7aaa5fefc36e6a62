"""What the client did wrong, in the words of the Realtime API.

A `Fault` never leaves the core: it becomes an `error` event, and the session lives on.
"""

from __future__ import annotations

from typing import Any


class Fault(Exception):
    """A client event that cannot be carried out. `code` and `param` are the API's own."""

    def __init__(
        self, message: str, *, code: str | None, param: str | None = None, kind: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.kind = kind


def error_event(
    message: str,
    *,
    code: str | None,
    kind: str = "invalid_request_error",
    param: str | None = None,
    client_event_id: str | None = None,
) -> dict[str, Any]:
    """The `error` event; `client_event_id` names the client event it answers."""
    return {
        "type": "error",
        "error": {"type": kind, "code": code, "message": message, "param": param, "event_id": client_event_id},
    }


def missing(param: str) -> Fault:
    """A required field is not there."""
    return Fault(f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)


def invalid(param: str, message: str) -> Fault:
    """A field has a value that is not allowed."""
    return Fault(f"Invalid value for '{param}': {message}", code="invalid_value", param=param)


def invalid_type(param: str, wanted: str) -> Fault:
    """A field has the wrong JSON type."""
    return Fault(f"Invalid type for '{param}': expected {wanted}.", code="invalid_type", param=param)


def unknown(param: str) -> Fault:
    """A field the API does not have: often one of the beta protocol's."""
    return Fault(f"Unknown parameter: '{param}'.", code="unknown_parameter", param=param)


def active_response(response_id: str) -> Fault:
    """A second reply was asked for while one is being made."""
    return Fault(
        f"Conversation already has an active response in progress: {response_id}. "
        "Wait until the response is finished before creating a new one.",
        code="conversation_already_has_active_response",
    )
