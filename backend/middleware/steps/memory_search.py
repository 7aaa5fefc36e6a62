"""Finds what of the user's own memories, facts and past conversations bears on the question.

Texts are compared by the words they share with it or, where there is an embedding model, by meaning.
"""

from __future__ import annotations

import asyncio

from backend.agent.context import Note
from backend.middleware.base import Asked, StepOptions, step
from backend.models.embedding import Embedder
from backend.storage.memory import Memory
from backend.users.memories import Memories
from backend.users.profile import load_profile
from backend.users.ranking import fitting

TITLE = "From what the user has said before, what may bear on the question"
CONVERSATIONS = 3
"""Past conversations looked through."""
MESSAGES = 20
"""Messages of each."""
TEXT_LIMIT = 400
"""Characters shown of one finding."""


@step(
    "memory_search",
    stage="pre",
    domains=("knowledge", "assistant", "reason", "memory"),  # for an answer to this user alone
    options={"limit": 4},
    deadline_s=1.0,
)
async def memory_search(
    asked: Asked, memory: Memory, memories: Memories | None, embedder: Embedder | None, options: StepOptions
) -> Note | None:
    """Show up to `limit` findings. Raises `MemoryUnavailable`."""
    if not asked.user_id:
        return None
    kept, profile, said = await asyncio.gather(
        _memories(memories, asked.user_id), load_profile(memory, asked.user_id), _conversations(memory, asked)
    )
    sources = dict.fromkeys(said, "earlier conversation") | dict.fromkeys(profile.facts, "fact")
    sources |= dict.fromkeys(kept, "memory")
    texts = list(sources)[::-1]
    places = await fitting(asked.text, texts, embedder, int(options.values["limit"]))
    found = [{"from": sources[texts[place]], "text": texts[place][:TEXT_LIMIT]} for place in places]
    return Note(TITLE, found) if found else None


async def _memories(memories: Memories | None, user_id: str) -> list[str]:
    kept = await memories.all(user_id) if memories is not None else []
    return [one.text for one in reversed(kept)]


async def _conversations(memory: Memory, asked: Asked) -> list[str]:
    """Return what the user said in other conversations than this one, oldest first."""
    latest = await memory.latest_messages(
        asked.user_id, conversations=CONVERSATIONS, messages=MESSAGES, besides=asked.conversation_id
    )
    return [
        message.content
        for messages in reversed(latest)
        for message in messages
        if message.role == "user" and message.said
    ]
