"""Remembering, listing and forgetting without a model: our own tools, called for real, and their words."""

from typing import Any

from fakeredis import FakeAsyncRedis

from backend.extensions.local.dialogue.without_model import complete
from backend.models.embedding import Embedder
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.tools.get_personality import get_personality
from backend.tools.manage_prompt import manage_prompt
from backend.tools.memory import memory
from backend.tools.registry import Registry
from backend.users.memories import Memories
from backend.users.modes import Modes, load_modes
from tests.extensions.local.orders import NOW
from tests.support.agents import toolbox
from tests.support.consent import tool_context


class Conversation:
    """A Thinker's turns without a model, with its tools and the earlier words."""

    def __init__(self, box: Registry) -> None:
        self.box = box
        self.messages: list[dict[str, Any]] = []

    async def say(self, text: str) -> str:
        """The answer, after any number of calls."""
        self.messages.append({"role": "user", "content": text})
        for round_ in range(5):
            thought = complete(self.messages, self.box.schemas("chat"), NOW)
            if not thought.calls:
                self.messages.append({"role": "assistant", "content": thought.text})
                return thought.text
            calls = [
                {"id": f"{len(self.messages)}.{n}", "function": {"name": call.name, "arguments": call.arguments}}
                for n, call in enumerate(thought.calls)
            ]
            self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            for call in calls:
                function = call["function"]
                assert isinstance(function, dict)
                result = await self.box.run(
                    function["name"], function["arguments"], tool_context("ada", "c", str(round_))
                )
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.content})
        raise AssertionError("no answer came")


def conversation(kept: Any = None) -> Conversation:
    store = kept or FakeMemory()
    services: dict[Any, Any] = {Memories: Memories(FakeAsyncRedis()), Embedder: None}
    services |= {Memory: store, Modes: load_modes()}
    return Conversation(toolbox(memory, manage_prompt, get_personality, services=services))


async def test_a_memory_is_stored_read_and_deleted() -> None:
    talk = conversation()
    assert await talk.say("What do you know about my sister?") == "You have not told me anything about that."
    assert await talk.say("Remember that my sister's name is Anna.") == "I will remember: Your sister's name is Anna."
    assert await talk.say("Remember that the bike is in the cellar.") == "I will remember: The bike is in the cellar."
    assert await talk.say("What do you know about my sister?") == "You told me: Your sister's name is Anna."
    assert await talk.say("Forget that: what do you know about my sister?") == (
        "I have forgotten this: Your sister's name is Anna."
    )
    assert await talk.say("What's my sister's name?") == "You have not told me anything about that."
    assert await talk.say("What do you remember?") == "You told me: The bike is in the cellar."


async def test_forget_alone_asks_what_to_forget() -> None:
    assert await conversation().say("Forget that.") == "Which one do you mean?"


async def test_an_instruction_is_stored_listed_and_dropped() -> None:
    kept = FakeMemory()
    talk = conversation(kept)
    assert await talk.say("From now on, answer in one sentence.") == "All right, from now on: Answer in one sentence."
    assert (await kept.user_context("ada"))["instructions"] == ["Answer in one sentence."]
    assert await talk.say("What are my standing instructions?") == "You have asked me for this: Answer in one sentence."
    assert await talk.say("Forget that: from now on, answer in one sentence.") == (
        "All right, no longer: Answer in one sentence."
    )
    assert (await kept.user_context("ada")).get("instructions") is None


async def test_the_mode_is_named() -> None:
    assert await conversation().say("What is your personality?") == (
        "The mode default is on. As it comes: warm, brief, and with everything at hand."
    )
