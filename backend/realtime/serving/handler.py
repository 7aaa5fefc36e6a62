"""The handler behind the Realtime protocol: a script, or recognition, dialogue and synthesis. One per connection."""

from collections.abc import AsyncIterator

from backend.realtime.items import Item
from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import HearingPart, ReplyPart, TranscriptGrew


class Handler:
    """The base of handlers. Each method returns immediately; only the iterators that it returns wait.

    A handler overrides the methods that it needs.
    """

    def listen(self) -> AsyncIterator[TranscriptGrew]:
        """Begin an utterance; return words of it, as soon as they are certain, until it is committed or discarded."""
        return _nothing()

    def feed(self, pcm: bytes) -> None:
        """Take more of the utterance, 24 kHz mono PCM16; never blocks."""

    def discard(self) -> None:
        """Forget the utterance."""

    def transcribe(self, item: Item) -> AsyncIterator[HearingPart]:
        """Return the transcript of the utterance, which has become user item `item`."""
        raise NotImplementedError

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """Return the parts of the reply, with `End` last; without an `End`, the reply never ends."""
        raise NotImplementedError

    def silenced(self) -> None:
        """Note that the client has cut the reply that sounded."""

    def lateness_s(self, order: Order) -> float:
        """Return the seconds for which a cancelled reply still goes on."""
        return 0.0


async def _nothing() -> AsyncIterator[TranscriptGrew]:
    for part in list[TranscriptGrew]():
        yield part
