"""Hears what a caller answers to the question whether something shall be done, beside the call and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backend.runtime.supervisor import cancel_all, start_among
from backend.sessions.session import Session
from backend.storage.memory import briefly

TakeAnswer = Callable[[str, str, str], Awaitable[None]]
"""(user, conversation, words) → takes the words as the answer to what the user was asked there, if anything."""
HEARD_WITHIN_S = 1.0
"""Seconds noting one answer may take; after that, the caller is asked again."""
WAITING_LIMIT = 16
"""Utterances that wait to be noted; of more, the newest are dropped, so that the caller is asked again."""


class ConsentReplies:
    """Takes each utterance of one call as a possible answer. Without `take_answer`, callers are asked nothing."""

    def __init__(self, session: Session, take_answer: TakeAnswer | None) -> None:
        self._session = session
        self._take_answer = take_answer
        self._in_order = asyncio.Lock()
        self._waiting: set[asyncio.Task[None]] = set()

    def on_words(self, words: str) -> None:
        """Take what the caller has said or typed. Does not wait."""
        if self._take_answer is not None and len(self._waiting) < WAITING_LIMIT:
            start_among(self._waiting, "answer to a question", self._heard(self._take_answer, words))

    async def close(self) -> None:
        """Stop; words that wait are dropped, and agree to nothing."""
        await cancel_all(self._waiting)

    async def _heard(self, take_answer: TakeAnswer, words: str) -> None:
        async with self._in_order:
            noting = take_answer(self._session.owner, self._session.conversation_id, words)
            await briefly(noting, None, within_s=HEARD_WITHIN_S, warning="an answer could not be noted")
