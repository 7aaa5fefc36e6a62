"""Who thinks behind the Realtime protocol: a script, or the demonstration. One brain per connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from demo.offline.realtime.items import Item
from demo.offline.realtime.parts import HearingPart, ReplyPart, Trouble
from demo.offline.realtime.response import Order


class Brain(Protocol):
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
