"""What stands behind the Realtime protocol: a script, or recognition, dialogue and synthesis. One per connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from backend.realtime.items import Item
from backend.realtime.serving.parts import HearingPart, ReplyPart, TranscriptGrew, Trouble
from backend.realtime.serving.reply_stream import Order


class Handler(Protocol):
    """Each method decides at once and returns what will happen; waiting happens inside the iterators."""

    def opening(self) -> AsyncIterator[Trouble]:
        """Troubles of the connection as a whole; usually none."""
        ...

    def listen(self) -> AsyncIterator[TranscriptGrew]:
        """An utterance begins: words of it, as soon as they are certain, until it is committed or discarded."""
        ...

    def feed(self, pcm: bytes) -> None:
        """More of the utterance, 24 kHz mono PCM16; never blocks."""
        ...

    def discard(self) -> None:
        """The utterance was none."""
        ...

    def hear(self, item: Item, pcm: bytes) -> AsyncIterator[HearingPart]:
        """What the caller said in user item `item`; `pcm` is the utterance, whole."""
        ...

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """The reply; `End` comes last, or nothing more ever comes."""
        ...

    def silenced(self) -> None:
        """The client has cut what sounded."""
        ...

    def lateness_s(self, order: Order) -> float:
        """Seconds for which a cancelled reply still goes on."""
        ...
