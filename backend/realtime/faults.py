"""The mistakes of a client, in the words of the Realtime API.

A `Fault` is answered with an `error` event, and the session goes on.
"""

from typing import Any

EXPIRED = "session_expired"
"""The code of a session that has reached its longest time."""
ACTIVE_RESPONSE = "conversation_already_has_active_response"
"""The code for a request for a reply while another is being made."""
NOTHING_TO_CANCEL = "response_cancel_not_active"
NOTHING_TO_COMMIT = "input_audio_buffer_commit_empty"
EVENT_ID_LIMIT = 512
"""The most characters of a client's event id that an error repeats."""


class Fault(Exception):
    """A client event that cannot be carried out. `code`, `param` and `kind` (`type` there) are the API's own."""

    def __init__(
        self, message: str, *, code: str | None, param: str | None = None, kind: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.kind = kind

    def event(self, client_event: Any = None) -> dict[str, Any]:
        """Return the `error` event that answers the client's event."""
        event_id = client_event.get("event_id") if isinstance(client_event, dict) else None
        named = event_id[:EVENT_ID_LIMIT] if isinstance(event_id, str) else None
        return error_event(str(self), code=self.code, kind=self.kind, param=self.param, client_event_id=named)


def error_event(
    message: str,
    *,
    code: str | None,
    kind: str = "invalid_request_error",
    param: str | None = None,
    client_event_id: str | None = None,
) -> dict[str, Any]:
    """Return an `error` event; `client_event_id` names the client event it answers."""
    return {
        "type": "error",
        "error": {"type": kind, "code": code, "message": message, "param": param, "event_id": client_event_id},
    }


def not_json(why: str) -> Fault:
    """Return the fault of a message that cannot be read."""
    return Fault(why, code="invalid_json")


def no_event(why: str) -> Fault:
    """Return the fault of a message that is JSON, and no event."""
    return Fault(why, code="invalid_event")


def missing(param: str) -> Fault:
    """Return the fault of a required field that is not there."""
    return Fault(f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)


def invalid(param: str, message: str) -> Fault:
    """Return the fault of a field with a value that is not allowed."""
    return Fault(f"Invalid value for '{param}': {message}", code="invalid_value", param=param)


def invalid_type(param: str, why: str) -> Fault:
    """Return the fault of a field with the wrong JSON type."""
    return Fault(f"Invalid type for '{param}': {why}", code="invalid_type", param=param)


def active_response(response_id: str = "") -> Fault:
    """Return the fault of asking for a second reply while one is being made."""
    named = f": {response_id}" if response_id else ""
    return Fault(
        f"Conversation already has an active response in progress{named}. "
        "Wait until the response is finished before creating a new one.",
        code=ACTIVE_RESPONSE,
    )


def nothing_to_cancel() -> Fault:
    """Return the fault of cancelling where no reply is being made."""
    return Fault("Cancellation failed: no active response found", code=NOTHING_TO_CANCEL)


def nothing_to_commit(least_ms: int, there_ms: int) -> Fault:
    """Return the fault of a commit with less audio than a turn needs."""
    return Fault(
        f"Error committing input audio buffer: buffer too small. Expected at least {least_ms}ms of audio, "
        f"but buffer only has {there_ms}ms of audio.",
        code=NOTHING_TO_COMMIT,
    )
