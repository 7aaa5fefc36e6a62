"""Errors on their way between processes: told as JSON, and raised again as what they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backend.errors import CallerError, PeerError, TooMany, VoiceError


def told(error: VoiceError) -> dict[str, Any]:
    """An error as JSON: its kind, its words, and what else its reader goes by."""
    answer: dict[str, Any] = {"error": type(error).__name__, "message": str(error), "hint": error.hint}
    if isinstance(error, CallerError):
        answer["status"] = error.status
    if isinstance(error, TooMany):
        answer["retry_after_s"] = error.retry_after_s
    if isinstance(error, PeerError):
        answer["retryable"] = error.retryable
    return answer


def raised(answer: Mapping[str, Any]) -> VoiceError:
    """The error that was told. A kind only a newer process knows is the nearest one known here."""
    message, hint = str(answer["message"]), str(answer["hint"])
    kind = _KINDS.get(answer["error"]) or _nearest(answer)
    if issubclass(kind, TooMany):
        return kind(message, retry_after_s=int(answer["retry_after_s"]), hint=hint)
    error = kind(message, hint=hint)
    if isinstance(error, CallerError):
        error.status = int(answer["status"])
    if isinstance(error, PeerError):
        error.retryable = bool(answer["retryable"])
    return error


def _nearest(answer: Mapping[str, Any]) -> type[VoiceError]:
    if "retry_after_s" in answer:
        return TooMany
    if "status" in answer:
        return CallerError
    return PeerError if "retryable" in answer else VoiceError


def _all(kind: type[VoiceError]) -> Iterator[type[VoiceError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _all(one)


_KINDS = {kind.__name__: kind for kind in _all(VoiceError) if kind.__module__ == VoiceError.__module__}
