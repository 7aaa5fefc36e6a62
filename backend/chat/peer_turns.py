"""Typed turns in the server's other processes: a conversation answers one message at a time, wherever it is sent.

Every method is bounded in time, and none raises: while Redis does not answer, each process relies on its own turns. A
message answered twice is better than none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from backend.chat.turn import ChatRequest
from backend.errors import PeerError
from backend.storage.memory import briefly
from backend.storage.turn_claims import TurnClaims

WITHIN_S = 0.5
"""Seconds one question to Redis may take."""
STOP_WITHIN_S = 1.0
"""Seconds another process gets to stop a turn before it counts as dead."""
LOOK_S = 0.05
"""Seconds between two looks whether it has stopped."""


class PeerTurns:
    """The typed turns of all processes, by their claims in Redis; without claims (None) there is one process."""

    def __init__(self, claims: TurnClaims | None, on_stop: Callable[[str, str], None]) -> None:
        """`on_stop` is called with user and conversation when another process wants a turn of this one stopped."""
        self._claims = claims
        if claims is not None:
            claims.on_stop(on_stop)

    async def claim(self, request: ChatRequest) -> str:
        """Claim the conversation; return the message another process answers in it, or an empty string."""
        if self._claims is None or not request.conversation_id:
            return ""
        claiming = self._claims.claim(request.user_id, request.conversation_id, request.message_id)
        return await briefly(claiming, "", within_s=WITHIN_S)

    @asynccontextmanager
    async def holding(self, request: ChatRequest) -> AsyncIterator[None]:
        """Renew the claim during the block, and release it at its end."""
        if self._claims is None or not request.conversation_id:
            yield
            return
        keeping = asyncio.create_task(
            self._claims.keep(request.user_id, request.conversation_id, request.message_id), name="typed turn's claim"
        )
        try:
            yield
        finally:
            keeping.cancel()
            await self.release(request)

    async def release(self, request: ChatRequest) -> None:
        """Release the claim of this message, if it has one."""
        if self._claims is not None:
            releasing = self._claims.release(request.user_id, request.conversation_id or "", request.message_id)
            await briefly(releasing, None, within_s=WITHIN_S)

    async def running(self, user_id: str) -> dict[str, str]:
        """Return the user's turns in other processes: conversation → message."""
        return {} if self._claims is None else await briefly(self._claims.running(user_id), {}, within_s=WITHIN_S)

    async def stop(self, user_id: str, conversation_id: str | None) -> list[str]:
        """Stop a user's turns in other processes, or one conversation's, and wait for it; return which they were.

        The claim of a process that does not stop in time is taken away: it is dead.
        """
        wanted = [name for name in await self.running(user_id) if conversation_id in (None, name)]
        if self._claims is None or not wanted:
            return []
        with suppress(PeerError, TimeoutError):
            async with asyncio.timeout(2 * STOP_WITHIN_S):
                for name in wanted:
                    await self._claims.stop(user_id, name)
                ends_at, left = time.monotonic() + STOP_WITHIN_S, wanted
                while left and time.monotonic() < ends_at:
                    await asyncio.sleep(LOOK_S)
                    left = [name for name in await self.running(user_id) if name in wanted]
                for name in left:
                    await self._claims.release(user_id, name)
        return wanted
