"""Finds what of the user's own memories, facts and past conversations bears on the question.

Texts are compared by the words they share with it or, where there is an embedding model, by meaning.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, repr=False)
class Candidate:
    """A text that may bear on the question, and its source."""

    source: str
    text: str


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
    kept, known, said = await asyncio.gather(
        _memories(memories, asked.user_id), _facts(memory, asked.user_id), _conversations(memory, asked)
    )
    candidates = list({candidate.text: candidate for candidate in (*said, *known, *kept)}.values())[::-1]
    texts = [candidate.text for candidate in candidates]
    places = await fitting(asked.text, texts, embedder, int(options.values["limit"]))
    found = [candidates[place] for place in places]
    return Note(TITLE, [{"from": one.source, "text": one.text[:TEXT_LIMIT]} for one in found]) if found else None


async def _memories(memories: Memories | None, user_id: str) -> list[Candidate]:
    kept = await memories.all(user_id) if memories is not None else []
    return [Candidate("memory", one.text) for one in reversed(kept)]


async def _facts(memory: Memory, user_id: str) -> list[Candidate]:
    known = await load_profile(memory, user_id)
    return [Candidate("fact", fact) for fact in known.facts]


async def _conversations(memory: Memory, asked: Asked) -> list[Candidate]:
    """Return what the user said in other conversations than this one, oldest first."""
    latest = await memory.latest_messages(
        asked.user_id, conversations=CONVERSATIONS, messages=MESSAGES, besides=asked.conversation_id
    )
    return [
        Candidate("earlier conversation", message.content)
        for messages in reversed(latest)
        for message in messages
        if message.role == "user" and message.said
    ]
