"""What a typed conversation teaches of its user: names and homes they state, topics, and the rolling summary.

It is what a call learns, by the same rules (`session/knowing`), so that who typed is known to who speaks.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from backend.chat.turn import ChatReply, ChatRequest
from backend.responders.base import PastMessage
from backend.storage.memory import Memory
from backend.storage.outbox import Enqueue
from backend.users.extraction import stated
from backend.users.profile_learner import SUMMARY_EVERY, SUMMARY_TURNS, IngestUtterance
from backend.users.profile_updates import CountTopic, ProfileUpdate, update_profile
from backend.users.summaries import Summaries

CONVERSATIONS = 1_000
"""Conversations whose turns are counted at once; of more, the one longest idle is counted anew."""


@dataclass(slots=True)
class _Said:
    turns: int = 0
    words: deque[PastMessage] = field(default_factory=lambda: deque(maxlen=2 * SUMMARY_TURNS))


class ChatProfileUpdater:
    """Told of every turn that was answered; returns at once."""

    def __init__(self, keep: Enqueue, summaries: Summaries, ingest: IngestUtterance | None = None) -> None:
        self._keep = keep
        self._ingest = ingest
        self._summaries = summaries
        self._said: OrderedDict[tuple[str, str], _Said] = OrderedDict()

    def __repr__(self) -> str:
        return f"ChatProfileUpdater({len(self._said)} conversations)"

    def __call__(self, asked: ChatRequest, reply: ChatReply) -> None:
        if asked.conversation_id is None or reply.state != "complete":
            return
        if self._ingest and asked.user_id:
            self._ingest(asked.user_id, asked.text, "chat")
        topics = tuple(CountTopic(domain, time.time()) for domain in reply.thinkers)
        updates: tuple[ProfileUpdate, ...] = (*stated(asked.text), *topics)
        if updates:
            self._learn(asked.user_id, updates)
        self._count(asked.user_id, asked.conversation_id, asked.text, reply.text)

    def forget(self, user_id: str) -> None:
        """Count nothing of this user any more."""
        for key in [key for key in self._said if key[0] == user_id]:
            del self._said[key]

    def _learn(self, user_id: str, updates: tuple[ProfileUpdate, ...]) -> None:
        async def learn(memory: Memory) -> None:
            await update_profile(memory, user_id, *updates)

        self._keep(learn)

    def _count(self, user_id: str, conversation_id: str, question: str, answer: str) -> None:
        said = self._said.setdefault((user_id, conversation_id), _Said())
        self._said.move_to_end((user_id, conversation_id))
        while len(self._said) > CONVERSATIONS:
            self._said.popitem(last=False)
        said.turns += 1
        said.words += [PastMessage("user", question), PastMessage("assistant", answer)]
        if said.turns % SUMMARY_EVERY == 0:
            self._summaries.request(conversation_id, user_id, tuple(said.words))
