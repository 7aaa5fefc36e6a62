"""Responses outside of the conversation: the caller's program asks for them and gets them; they are never spoken."""

from collections.abc import Callable

from backend.responders.base import Responder
from backend.turns import commands as do
from backend.turns import events as ev

AT_ONCE = 8
"""The most responses outside of the conversation that one call may have under way."""


class OutOfBandResponses:
    """The responses of one call that are under way; `dispatch` gets the refusals."""

    def __init__(self, dispatch: Callable[[ev.Event], None], count: Callable[[ev.ReplyFinished], None]) -> None:
        self._dispatch = dispatch
        self._count = count
        self.under_way: set[str] = set()

    def ask(self, command: do.CreateOutOfBand, responder: Responder | None) -> None:
        """Ask the Responder for a response; refuse the request if none is connected or it cannot do that."""
        if responder is None:
            self._refuse(command.request, "responder_unavailable", "The Responder cannot be reached just now.")
        elif not responder.capabilities.out_of_band:
            message = "This server's Responder gives no responses outside of the conversation."
            self._refuse(command.request, "unsupported_value", message)
        elif len(self.under_way) >= AT_ONCE:
            message = f"At most {AT_ONCE} responses outside of the conversation are given at once."
            self._refuse(command.request, "rate_limit_exceeded", message)
        else:
            self.under_way.add(command.request)
            responder.send(command)

    def on_event(self, event: ev.Event) -> None:
        """Follow the provider's events; a lost connection ends the responses that are under way."""
        match event:
            case ev.OutOfBandProgress(request, finished=ev.ReplyFinished() as finished):
                self.under_way.discard(request)
                self._count(finished)
            case ev.OutOfBandRefused(request):
                self.under_way.discard(request)
            case ev.ResponderLost():
                for request in sorted(self.under_way):
                    self._refuse(request, "responder_unavailable", "The connection to the Responder was lost.")

    def _refuse(self, request: str, code: str, message: str) -> None:
        self._dispatch(ev.OutOfBandRefused(request, code, message))
