"""Passes what a caller says to the consent questions of tools, in order and without delaying the call."""

import asyncio
from collections.abc import Awaitable, Callable

from backend.runtime.supervisor import cancel_all, start_among
from backend.sessions.session import Session
from backend.storage.memory import briefly

TakeAnswer = Callable[[str, str, str], Awaitable[None]]
"""(user, conversation, words) → takes the words as the answer to the consent question asked there, if any."""
HEARD_WITHIN_S = 1.0
"""Seconds in which an answer must be noted; after that, the caller is asked again."""
WAITING_LIMIT = 16
"""The most utterances that wait to be noted; further ones are dropped, so that the caller is asked again."""


class ConsentReplies:
    """Passes each utterance of one call as a possible answer; without `take_answer` no caller is asked."""

    def __init__(self, session: Session, take_answer: TakeAnswer | None) -> None:
        self._session = session
        self._take_answer = take_answer
        self._in_order = asyncio.Lock()
        self._waiting: set[asyncio.Task[None]] = set()

    def on_words(self, words: str) -> None:
        """Pass on what the caller has said or typed, without waiting."""
        if self._take_answer is not None and len(self._waiting) < WAITING_LIMIT:
            start_among(self._waiting, "answer to a question", self._heard(self._take_answer, words))

    async def close(self) -> None:
        """Stop, and drop words that still wait: they agree to nothing."""
        await cancel_all(self._waiting)

    async def _heard(self, take_answer: TakeAnswer, words: str) -> None:
        async with self._in_order:
            noting = take_answer(self._session.owner, self._session.conversation_id, words)
            await briefly(noting, None, within_s=HEARD_WITHIN_S, warning="an answer could not be noted")
