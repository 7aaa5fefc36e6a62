"""One reply while it is made: a handler's parts in, the response's events out.

A message stays open until a call, the end or a cancellation closes it. A cancelled reply may still be fed (late
deltas); its end is then 'cancelled', whatever the handler says.
"""

import base64
from collections.abc import Generator, Iterator, Sequence

from backend.realtime.conversation import Conversation
from backend.realtime.ids import random_id
from backend.realtime.items import Item
from backend.realtime.response import Counts, Event, Response, usage_of
from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import (
    Begin,
    Call,
    ContentPart,
    End,
    NextMessage,
    ReplySound,
    Words,
)
from backend.realtime.session import PCM

ARGUMENTS_CHUNK = 16
"""Characters of a function call's arguments in one delta."""


class ReplyStream:
    """The state of one reply being made."""

    def __init__(self, order: Order, conversation: Conversation) -> None:
        self.order = order
        self.cancelled = ""
        """The reason for which the reply was cancelled, client_cancelled or turn_detected; empty: it was not."""
        audio = {"format": dict(PCM), "voice": order.voice}
        named = None if order.out_of_band else "conv"
        self._shown = Response(order.response_id, order.modality, audio, named, order.metadata)
        self._conversation = conversation
        self._begun = False
        self._open: Item | None = None

    @property
    def id(self) -> str:
        """Return the response's id."""
        return self.order.response_id

    def take(self, part: ContentPart) -> Iterator[Event]:
        """Take a part, and yield the events that show it; a text reply has no sound."""
        if isinstance(part, ReplySound) and self.order.modality == "text":
            return
        if not self._begun:
            self._begun = True
            yield self._shown.created()
        match part:
            case Begin():
                return
            case Words(delta):
                item = yield from self._ensure_open()
                yield self._shown.words(item, delta)
            case ReplySound(pcm):
                item = yield from self._ensure_open()
                item.audio_bytes += len(pcm)
                yield self._shown.sound(item.id, self._shown.place(item), base64.b64encode(pcm).decode())
            case NextMessage():
                yield from self._close("completed")
            case Call(name, arguments):
                yield from self._close("completed")
                called = Item(random_id("item"), "function_call", status="in_progress", name=name)
                called.call_id = random_id("call")
                yield from self._shown.call(called, self._append(called), arguments, ARGUMENTS_CHUNK)
            case End():
                yield from self._end(part)

    def _end(self, end: End) -> Iterator[Event]:
        """End the response; a cancellation wins over any other end."""
        status, details = ("cancelled", {"reason": self.cancelled}) if self.cancelled else (end.status, end.details)
        yield from self._close("completed" if status == "completed" else "incomplete")
        shown_details = {"type": status, **details} if status != "completed" else None
        yield self._shown.done(status, shown_details, usage(self.order.items, self._shown.output))

    def _ensure_open(self) -> Generator[Event, None, Item]:
        if self._open is None:
            item = Item(random_id("item"), "message", role="assistant", status="in_progress")
            yield from self._shown.open(item, self._append(item))
            self._open = item
        return self._open

    def _close(self, status: str) -> Iterator[Event]:
        """Finish the open message, if there is one."""
        item, self._open = self._open, None
        if item is not None:
            yield from self._shown.close(item, self._conversation.before(item), status)

    def _append(self, item: Item) -> str | None:
        return None if self.order.out_of_band else self._conversation.append(item)


def usage(heard: Sequence[Item], said: Sequence[Item]) -> Event:
    """Return token counts of plausible size: one for 4 characters, 100 ms of input and 50 ms of output audio."""
    return usage_of(_tokens(heard, 100), Counts(), _tokens(said, 50))


def _tokens(items: Sequence[Item], audio_ms: int) -> Counts:
    characters = (len(item.words) + len(item.arguments) + len(item.output) for item in items)
    return Counts(sum((each + 3) // 4 for each in characters), sum(item.audio_ms // audio_ms for item in items))
