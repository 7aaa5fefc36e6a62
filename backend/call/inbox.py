"""The inbox keeps typed text and a program's decisions for a Responder that is still being connected."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from backend.errors import BadRequest
from backend.responders.failover import ProviderChoice
from backend.turns import events as ev

EARLY_LIMIT = 256
"""The most events that wait for a Responder that is still being connected; older ones are dropped."""
NEEDS_RESPONDER = (
    ev.TextTyped,
    ev.MessageAdded,
    ev.ReplyRequested,
    ev.OutOfBandRequested,
    ev.InputHandedIn,
    ev.ToolAnswered,
)
"""The events that wait until the Responder is connected."""


class Inbox:
    """The inbox of one call, for everything but the caller's voice."""

    def __init__(self, dispatch: Callable[[ev.Event], None], choice: ProviderChoice, over: asyncio.Event) -> None:
        """`choice` knows what the present Responder can do; when the call is `over`, nothing is taken."""
        self._dispatch = dispatch
        self._choice = choice
        self._over = over
        self._early: deque[ev.Event] = deque(maxlen=EARLY_LIMIT)
        self.opened = asyncio.Event()
        """Set when the Responder is connected or its first connection fails; the caller is heard from then on."""

    def open(self) -> None:
        """Pass on everything from now on, and what has waited."""
        self.opened.set()
        while self._early:
            self._dispatch(self._early.popleft())

    def submit(self, event: ev.Event) -> None:
        """Take a typed message or a program's decision; keep it until the Responder is connected."""
        if self.opened.is_set() or not isinstance(event, NEEDS_RESPONDER):
            self._dispatch(event)
        else:
            self._early.append(event)

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        """Take typed words and pictures. Raises `BadRequest` if the call is over, or the model sees no pictures."""
        if self._over.is_set():
            raise BadRequest("This call is over.", hint="Connect again, then type.")
        if pictures and not self._choice.capabilities.images:
            raise BadRequest("The model in this call cannot see pictures.", hint="Describe it in words.")
        self.submit(ev.TextTyped(text, tuple(pictures)))

    def type_if_live(self, text: str) -> None:
        """Take typed words, unless the call is over."""
        if not self._over.is_set():
            self.type_text(text)
