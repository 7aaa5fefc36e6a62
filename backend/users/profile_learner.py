"""What one call learns of its caller, and how the Responder hears of what is known.

Learning: names and homes from what the caller says, topics from the questions put to Thinkers, a summary every few
turns and at the end. All of it goes to memory through the outbox, or to `Summaries`; nothing here is waited for.

Hearing of it: whoever in this process changes what is known of the user — this call, its Thinkers, another call —
memory tells us. A moment later, when several changes may have come, the Responder is briefed anew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from backend.responders.base import PastMessage
from backend.storage.memory import Memory, Unwatch
from backend.storage.outbox import Keep
from backend.users.extraction import stated
from backend.users.profile import UserProfile
from backend.users.profile_updates import CountTopic, ProfileUpdate, update_profile
from backend.users.summaries import Summaries

log = logging.getLogger(__name__)

SUMMARY_EVERY = 10
"""Turns of the caller's after which the summary is written anew."""
SUMMARY_TURNS = 30
"""Turns, a question and its answer each, that a summary looks back on."""
REFRESH_AFTER_S = 0.25
"""Seconds from a change to the new briefing; changes in between go with it."""

Overhear = Callable[[str, str, str], None]
"""User, words, and where they were said ("voice" or "chat"). Returns at once."""
Refresh = Callable[[UserProfile], None]
"""Brief the Responder anew, when that makes a difference."""


@dataclass(frozen=True, slots=True)
class Learning:
    """What every call of this server shares for it."""

    watch: Callable[[str, Callable[[UserProfile], None]], Unwatch]
    """See `profile.watch_profile`."""
    summaries: Summaries
    overhear: Overhear | None = None
    """Told of what users say, beside all this."""


class Knowing:
    """One call's part. Call `close` when the call is over."""

    def __init__(self, learning: Learning, session_id: str, user_id: str, keep: Keep, refresh: Refresh) -> None:
        self._summaries = learning.summaries
        self._overhear = learning.overhear
        self._session_id = session_id
        self._user_id = user_id
        self._keep = keep
        self._refresh = refresh
        self._said: deque[PastMessage] = deque(maxlen=2 * SUMMARY_TURNS)
        self._turns = 0
        self._told_turns = 0
        self._news: UserProfile | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unwatch = learning.watch(user_id, self._changed)
        keep(self._own)

    def __repr__(self) -> str:
        return f"Knowing({self._turns} turns, {self._told_turns} of them told)"

    def heard(self, role: str, text: str) -> None:
        """Something was really said and heard."""
        self._said.append(PastMessage(cast(Literal["user", "assistant"], role), text))
        if role != "user":
            return
        self._turns += 1
        if self._overhear:
            self._overhear(self._user_id, text, "voice")
        if updates := stated(text):
            self._learn(*updates)
        if self._turns - self._told_turns >= SUMMARY_EVERY:
            self._summarise()

    def asked(self, domain: str) -> None:
        """A question went to a Thinker."""
        self._learn(CountTopic(domain, time.time()))

    def close(self, reason: str) -> None:
        """The call is over: no more briefings, and a last summary of what has not been told. Returns at once.

        A session that was deleted is not told of.
        """
        self._unwatch()
        if self._timer:
            self._timer.cancel()
        if reason == "deleted":
            self._summaries.drop(self._session_id)
            return
        self._keep(self._own)  # anew, for a call may have lasted long
        if self._turns > self._told_turns:
            self._summarise()

    async def _own(self, memory: Memory) -> None:
        await memory.own_session(self._session_id, self._user_id)

    def _learn(self, *updates: ProfileUpdate) -> None:
        async def learn(memory: Memory) -> None:
            await update_profile(memory, self._user_id, *updates)

        self._keep(learn)

    def _summarise(self) -> None:
        self._told_turns = self._turns
        self._summaries.ask(self._session_id, self._user_id, tuple(self._said))

    def _changed(self, profile: UserProfile) -> None:
        self._news = profile
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(REFRESH_AFTER_S, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._news is not None:
            news, self._news = self._news, None
            self._refresh(news)
