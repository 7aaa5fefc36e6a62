"""Typed conversation with the demonstration: the rules of the spoken one, with the earlier words."""

import json
from typing import Any

from backend.extensions.local.dialogue.calls import Thought
from backend.extensions.local.dialogue.without_model import complete
from tests.extensions.local.orders import NOW, route_of

ROUTE = {"type": "function", "function": route_of("assistant", "knowledge", "memory", "stocks", "weather")}


def answer(*texts: str) -> Thought:
    """The result for these texts, the user's first, in turns."""
    said = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
    return complete(said, [ROUTE], NOW)


def routed(thought: Thought) -> Any:
    (call,) = thought.calls
    assert call.name == "route_to_thinker"
    return json.loads(call.arguments)


def test_a_yes_repeats_the_offered_request() -> None:
    wish = "Cancel the meeting on Monday."
    agreed = routed(answer(wish, "Shall I cancel the meeting on Monday? Please say yes or no.", "Yes."))
    assert agreed == {"domain": "assistant", "query": f"Yes, c{wish[1:]}"}


def test_that_refers_to_the_request_before() -> None:
    said = "Remember that my sister's name is Anna."
    assert routed(answer(said, "I will.", "Forget that.")) == {"domain": "memory", "query": f"Forget that: {said}"}
