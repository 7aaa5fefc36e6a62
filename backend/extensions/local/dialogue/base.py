"""A dialogue turns the conversation so far into sentences and tool calls. One dialogue serves many connections.

`chat_model` asks a language model, `without_model` needs none.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import Call

Part = str | Call
"""A part of a reply: a sentence to be spoken, as plain text without markup, or a tool call."""


class Dialogue(Protocol):
    """The source of answers. It keeps nothing between replies: the conversation stands in the order's items."""

    @property
    def name(self) -> str:
        """The name that the page shows, e.g. the model's."""

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Return the transcript that was most probably said; the likeliest by its sound is the first.

        Each comes with the logarithm of its probability by its sound. It takes some milliseconds: call it in a thread.
        """

    def answer(self, order: Order) -> AsyncIterator[Part]:
        """Yield each sentence as soon as it is whole, then tool calls; nothing if the answer is silence.

        Every transcript of the order's items must be known before. Closing the iterator ends its work immediately.
        A failure of a service becomes a sentence, and raises no error.
        """
