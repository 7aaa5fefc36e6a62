"""Typed conversation with the demonstration: by the rules of the spoken one, and with what was said before."""

from __future__ import annotations

import json
from typing import Any

from backend.extensions.local.dialogue.calls import Thought
from backend.extensions.local.dialogue.without_model import complete
from tests.extensions.local.orders import NOW, route_of

ROUTE = {"type": "function", "function": route_of("assistant", "knowledge", "memory", "stocks", "weather")}


def answer(*texts: str) -> Thought:
    """The thought after these texts, the user's first, in turns."""
    said = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
    return complete(said, [ROUTE], NOW)


def routed(thought: Thought) -> Any:
    (call,) = thought.calls
    assert call.name == "route_to_thinker"
    return json.loads(call.arguments)


def test_a_yes_is_the_wish_it_agrees_to() -> None:
    wish = "Cancel the meeting on Monday."
    agreed = routed(answer(wish, "Shall I cancel the meeting on Monday? Please say yes or no.", "Yes."))
    assert agreed == {"domain": "assistant", "query": f"Yes, c{wish[1:]}"}


def test_that_is_what_was_asked_for_before() -> None:
    said = "Remember that my sister's name is Anna."
    assert routed(answer(said, "I will.", "Forget that.")) == {"domain": "memory", "query": f"Forget that: {said}"}
