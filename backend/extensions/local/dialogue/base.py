"""A dialogue makes sentences and tool calls of the conversation so far. One dialogue serves many connections.

`chat_model` asks a language model, `without_model` needs none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import Call

Part = str | Call
"""Something a reply consists of: a sentence to be spoken, plain text without markup, or a tool call."""


class Dialogue(Protocol):
    """Decides the answer. It keeps nothing between replies: the conversation stands in the order's items."""

    @property
    def name(self) -> str:
        """The name that the page shows, e.g. the model's."""

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Return which of several transcripts was said, the likeliest by its sound being the first.

        Each comes with the logarithm of its probability by its sound. It may take some milliseconds; for a thread.
        """

    def answer(self, order: Order) -> AsyncIterator[Part]:
        """Yield sentences as soon as each is whole, then tool calls; nothing at all when silence is the answer.

        Every transcript of the order's items is known by then. Closing the iterator immediately ends whatever it does.
        It does not raise for failures outside, which become a sentence.
        """
