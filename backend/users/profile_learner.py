"""The profile learner of a call learns about the caller, and briefs the Responder on changes.

It learns names and homes from the caller's words, and requests a summary every few turns and at the end. Everything
goes to memory through the outbox, or to `Summaries`; nothing here waits.

When the caller's profile changes, in any process, the Responder is briefed again a moment later, so that one briefing
covers several changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from backend.access.principal import PUBLIC, CallerScope
from backend.responders.base import PastMessage
from backend.storage.memory import Memory, Unwatch
from backend.storage.outbox import Enqueue
from backend.users.extraction import stated
from backend.users.profile import UserProfile
from backend.users.profile_updates import ProfileUpdate, update_profile
from backend.users.summaries import Summaries

log = logging.getLogger(__name__)

SUMMARY_EVERY = 10
"""The number of the caller's turns after which the summary is written again."""
SUMMARY_TURNS = 30
"""The most turns (a question and its answer) that a summary covers."""
REFRESH_AFTER_S = 0.25
"""Seconds from a change to the new briefing, which covers changes in between."""

IngestUtterance = Callable[[str, str, str, CallerScope], None]
"""Takes the user's id, the words, where they were said ("voice" or "chat"), and the user's scope. Never waits."""
Refresh = Callable[[UserProfile], None]
"""Briefs the Responder on a changed profile, if the change matters to it."""


@dataclass(frozen=True, slots=True)
class LearnerDependencies:
    """Dependencies of the learners, shared by every call of this server."""

    watch: Callable[[str, Callable[[UserProfile], None]], Unwatch]
    """Calls an observer with every change of a user's profile; see `profile.watch_profile`."""
    summaries: Summaries
    ingest: IngestUtterance | None = None
    """Takes every utterance of a user; None: utterances are not taken."""


class ProfileLearner:
    """The learner of one call; `begin` it with the call, and `close` it when the call is over."""

    def __init__(
        self, shared: LearnerDependencies, session_id: str, user_id: str, enqueue: Enqueue, refresh: Refresh
    ) -> None:
        self._summaries = shared.summaries
        self._ingest = shared.ingest
        self._session_id = session_id
        self._user_id = user_id
        self._enqueue = enqueue
        self._refresh = refresh
        self._said: deque[PastMessage] = deque(maxlen=2 * SUMMARY_TURNS)
        self._turns = 0
        self._summarised = 0
        self._changed: UserProfile | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watch = shared.watch
        self._unwatch: Unwatch | None = None

    def begin(self) -> None:
        """Follow the caller's profile."""
        self._unwatch = self._watch(self._user_id, self._on_profile)

    def on_message(self, role: str, text: str, scope: CallerScope = PUBLIC) -> None:
        """Take a message that the user, of that scope, said or heard. `role` is "user" or "assistant"."""
        self._said.append(PastMessage(cast(Literal["user", "assistant"], role), text))
        if role != "user":
            return
        self._turns += 1
        if self._ingest:
            self._ingest(self._user_id, text, "voice", scope)
        if updates := stated(text):
            self._learn(*updates)
        if self._turns - self._summarised >= SUMMARY_EVERY:
            self._summarise()

    def close(self, reason: str) -> None:
        """End the briefings and, unless the session was deleted, request a last summary. Never waits."""
        if self._unwatch:
            self._unwatch()
        if self._timer:
            self._timer.cancel()
        if reason == "deleted":
            self._summaries.drop(self._session_id)
            return
        if self._turns > self._summarised:
            self._summarise()

    def _learn(self, *updates: ProfileUpdate) -> None:
        async def learn(memory: Memory) -> None:
            await update_profile(memory, self._user_id, *updates)

        self._enqueue(learn)

    def _summarise(self) -> None:
        self._summarised = self._turns
        self._summaries.request(self._session_id, self._user_id, tuple(self._said))

    def _on_profile(self, profile: UserProfile) -> None:
        self._changed = profile
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(REFRESH_AFTER_S, self._refresh_now)

    def _refresh_now(self) -> None:
        self._timer = None
        if self._changed is not None:
            profile, self._changed = self._changed, None
            self._refresh(profile)
