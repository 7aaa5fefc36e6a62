"""What stands behind the Realtime protocol: a script, or recognition, dialogue and synthesis. One per connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from local_responder.realtime.items import Item
from local_responder.realtime.parts import HearingPart, ReplyPart, Trouble
from local_responder.realtime.response import Order


class Handler(Protocol):
    """Each method decides at once and returns what will happen; waiting happens inside the iterators."""

    def opening(self) -> AsyncIterator[Trouble]:
        """Troubles of the connection as a whole; usually none."""
        ...

    def hear(self, item: Item, pcm: bytes) -> AsyncIterator[HearingPart]:
        """What the caller said in user item `item`; `pcm` is 24 kHz mono PCM16."""
        ...

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """The reply; `End` comes last, or nothing more ever comes."""
        ...

    def lateness_s(self, order: Order) -> float:
        """Seconds for which a cancelled reply still goes on."""
        ...
