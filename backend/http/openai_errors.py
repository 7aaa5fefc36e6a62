"""Errors in the shape of the OpenAI API: `{"error": {"message", "type", "param", "code"}}`, for its clients."""

from http import HTTPStatus

from backend.errors import BadField, CallerError, CeilingReached, OverBudget, PeerError, VoiceError
from backend.runtime.json_objects import Json

OPENAI_PATHS = "/v1/"
"""The beginning of the paths for clients of the OpenAI API."""
KINDS = {
    HTTPStatus.UNAUTHORIZED: ("authentication_error", "invalid_api_key"),
    HTTPStatus.FORBIDDEN: ("permission_error", "insufficient_permissions"),
    HTTPStatus.NOT_FOUND: ("invalid_request_error", "not_found"),
    HTTPStatus.CONFLICT: ("invalid_request_error", "conflict"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("invalid_request_error", "request_too_large"),
    HTTPStatus.TOO_MANY_REQUESTS: ("rate_limit_error", "rate_limit_exceeded"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("server_error", "service_unavailable"),
}
"""Status → the error's type and code."""


def openai_error(status: int, message: str) -> Json:
    """Return the object under `error`."""
    usual = ("server_error", "server_error") if status >= 500 else ("invalid_request_error", "invalid_value")
    kind, code = KINDS.get(HTTPStatus(status), usual)
    return {"message": message, "type": kind, "param": None, "code": code}


def details_of(error: VoiceError) -> Json:
    """Return the fields of `error` that are more precise than its status."""
    if isinstance(error, BadField):
        return {"param": error.param, "code": error.code}
    if isinstance(error, OverBudget | CeilingReached):
        return {"code": "insufficient_quota"}
    return {}


def error_object(error: VoiceError) -> Json:
    """Return the whole error, in its form within a stream that has begun."""
    return {"error": openai_error(status_of(error), f"{error} {error.hint}".strip()) | details_of(error)}


def status_of(error: VoiceError) -> int:
    """Return the HTTP status of `error`."""
    if isinstance(error, CallerError):
        return error.status
    return 503 if isinstance(error, PeerError) else 500
