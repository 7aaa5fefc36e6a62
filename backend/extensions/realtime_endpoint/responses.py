"""The responses that are being sent to the client. The provider may be ahead of the client."""

from dataclasses import dataclass, field

from backend.realtime.items import Item
from backend.realtime.response import Counts, Response, usage_of
from backend.runtime.json_objects import Json
from backend.turns.events import ReplyFinished


@dataclass(slots=True)
class OutputItem(Item):
    """One message or function call of a response."""

    worded: bool = False
    """True once all of its words are known."""
    drained: bool = False
    """True if all of its audio so far was sent."""
    done: bool = False


@dataclass(slots=True)
class ClientResponse(Response):
    """One response, from its first content until all of it was sent, or cut."""

    items: dict[str, OutputItem] = field(default_factory=dict)
    """The items of the response, by the provider's id or the call's."""
    finished: ReplyFinished | None = None
    """The provider's end of the response; None while it goes on."""
    begun: bool = False
    """True once the client was sent `response.created`."""

    @property
    def complete(self) -> bool:
        """Return whether everything of the response was sent."""
        return self.finished is not None and all(item.done for item in self.items.values())


def usage_shown(finished: ReplyFinished | None) -> Json | None:
    """Return the tokens of a response; None while the provider has not reported them."""
    if finished is None:
        return None
    tokens = finished.usage
    return usage_of(
        Counts(tokens.text_in, tokens.audio_in, tokens.image_in),
        Counts(tokens.cached_text_in, tokens.cached_audio_in, tokens.cached_image_in),
        Counts(tokens.text_out, tokens.audio_out),
        (finished.input_tokens, finished.output_tokens),
    )


def status_details(finished: ReplyFinished | None, cut_by: str) -> tuple[str, Json | None]:
    """Return the status of a response and its details; `cut_by` is the reason for a cut, or empty."""
    if cut_by:
        return "cancelled", {"type": "cancelled", "reason": cut_by}
    match finished:
        case ReplyFinished(status="completed") | None:
            return "completed", None
        case ReplyFinished(status="incomplete", detail=detail):
            reason = detail if detail in ("max_output_tokens", "content_filter") else "max_output_tokens"
            return "incomplete", {"type": "incomplete", "reason": reason}
        case ReplyFinished(status="cancelled"):
            return "cancelled", {"type": "cancelled", "reason": "turn_detected"}
        case ReplyFinished(detail=detail):
            error = {"type": "server_error", "code": detail or "unknown"}
            return "failed", {"type": "failed", "error": error}
