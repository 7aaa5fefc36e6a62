"""Typed turns update the user's profile: stated names and homes, and the rolling summary.

The rules are the same as in a call (`users/profile_learner.py`), so a call knows what its user typed before.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from backend.chat.turn import ChatReply, ChatRequest
from backend.responders.base import PastMessage
from backend.storage.outbox import Enqueue
from backend.users.extraction import stated
from backend.users.profile_learner import SUMMARY_EVERY, SUMMARY_TURNS, IngestUtterance
from backend.users.profile_updates import update_profile
from backend.users.summaries import Summaries

CONVERSATIONS = 1_000
"""The most conversations counted at the same time; beyond that, the count of the longest idle one starts again."""


@dataclass(slots=True)
class _Recent:
    turns: int = 0
    messages: deque[PastMessage] = field(default_factory=lambda: deque(maxlen=2 * SUMMARY_TURNS))


class ChatProfileUpdater:
    """Learns from every answered turn. Never waits."""

    def __init__(self, enqueue: Enqueue, summaries: Summaries, ingest: IngestUtterance | None = None) -> None:
        self._enqueue = enqueue
        self._ingest = ingest
        self._summaries = summaries
        self._recent: OrderedDict[tuple[str, str], _Recent] = OrderedDict()

    def on_turn(self, request: ChatRequest, reply: ChatReply) -> None:
        """Learn from an answered turn."""
        # Only a complete answer in a conversation says something lasting about the user.
        if request.conversation_id is None or reply.state != "complete" or reply.client_calls:
            return
        if self._ingest and request.user_id:
            self._ingest(request.user_id, request.text, "chat", request.caller_scope)
        if updates := stated(request.text):
            self._enqueue(lambda memory: update_profile(memory, request.user_id, *updates))
        key = (request.user_id, request.conversation_id)
        recent = self._recent.setdefault(key, _Recent())
        self._recent.move_to_end(key)
        while len(self._recent) > CONVERSATIONS:
            self._recent.popitem(last=False)
        recent.turns += 1
        recent.messages += [PastMessage("user", request.text), PastMessage("assistant", reply.text)]
        if recent.turns % SUMMARY_EVERY == 0:
            self._summaries.request(request.conversation_id, request.user_id, tuple(recent.messages))

    def forget(self, user_id: str, conversation_id: str | None = None) -> None:
        """Drop the held messages of a user's conversations, or of one."""
        for key in [key for key in self._recent if key[0] == user_id and conversation_id in (None, key[1])]:
            del self._recent[key]
