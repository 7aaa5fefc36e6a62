"""The inbox keeps typed text and a program's decisions for a Responder that is still being connected."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from backend.errors import BadRequest
from backend.responders.failover import ProviderChoice
from backend.turns import events as ev

EARLY_LIMIT = 256
"""Events that wait at most for a Responder that is still being connected; older ones go."""
NEEDS_RESPONDER = (
    ev.TextTyped,
    ev.MessageAdded,
    ev.ReplyRequested,
    ev.OutOfBandRequested,
    ev.InputHandedIn,
    ev.ToolAnswered,
)
"""The events that mean nothing before the Responder is there."""


class Inbox:
    """One call's way in for everything but its caller's voice."""

    def __init__(self, dispatch: Callable[[ev.Event], None], choice: ProviderChoice, over: asyncio.Event) -> None:
        """`choice` knows what the Responder of the moment can do; once the call is `over`, nothing is taken."""
        self._dispatch = dispatch
        self._choice = choice
        self._over = over
        self._early: deque[ev.Event] = deque(maxlen=EARLY_LIMIT)
        self.opened = asyncio.Event()
        """The Responder is there, or has failed to come for the first time: the caller is heard from here on."""

    def open(self) -> None:
        """Pass on what the caller says and types from here on, and what was typed before."""
        self.opened.set()
        while self._early:
            self._dispatch(self._early.popleft())

    def submit(self, event: ev.Event) -> None:
        """Take what was typed or decided; before the Responder is there, it is kept for it."""
        if self.opened.is_set() or not isinstance(event, NEEDS_RESPONDER):
            self._dispatch(event)
        else:
            self._early.append(event)

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        """Take typed words, and pictures.

        Raises `BadRequest` when the call is over, or the model sees no pictures.
        """
        if self._over.is_set():
            raise BadRequest("This call is over.", hint="Connect again, then type.")
        if pictures and not self._choice.capabilities.images:
            raise BadRequest("The model in this call cannot see pictures.", hint="Describe it in words.")
        self.submit(ev.TextTyped(text, tuple(pictures)))

    def type_if_live(self, text: str) -> None:
        """Take typed words, unless the call is over."""
        if not self._over.is_set():
            self.type_text(text)
