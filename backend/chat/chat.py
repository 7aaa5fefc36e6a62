"""Each typed turn begins once, retries join it, and a conversation has one turn at a time.

begin ──▶ the same message id: join its turn, or return the stored reply
      ──▶ a turn of this conversation is running, here or in another process (`turn_claims`): `Conflict`
      ──▶ a task that answers (`turn_runner`), within its deadline
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext

import msgspec

from backend.chat.turn import ChatReply, ChatRequest, ChatTurn
from backend.chat.turn_runner import ChatDependencies, TurnRunner
from backend.errors import BadRequest, Conflict, NoAnswer, TooMany, VoiceError
from backend.runtime.faults import decode_or_skip
from backend.runtime.supervisor import cancel_all
from backend.storage.memory import HISTORY_TTL_S, briefly
from backend.users.modes import Modes

log = logging.getLogger(__name__)

AT_ONCE = 64
"""The most turns that run in this process at the same time; more are refused."""
MEMORY_WITHIN_S = 0.5
"""Seconds memory may take to find or store a reply."""
STOP_WITHIN_S = 1.0
"""Seconds a cancelled turn gets to clean up."""
BROKEN_OFF = "The answer was broken off."
AGAIN = "Send the message again."
BROKEN = "The answer failed."

Key = tuple[str, str]


class _StoredReply(msgspec.Struct):
    question: str
    reply: ChatReply


_stored_decoder = msgspec.json.Decoder(_StoredReply)


class Chat:
    """The typed turns of this process, until `close`."""

    def __init__(self, dependencies: ChatDependencies) -> None:
        self._dependencies = dependencies
        self._by_message: dict[Key, ChatTurn] = {}
        self._by_conversation: dict[Key, ChatTurn] = {}
        self._tasks: dict[asyncio.Task[None], ChatTurn] = {}
        self._claims = dependencies.claims
        self._claims.on_stop = self._stop_here

    @property
    def running(self) -> int:
        """The number of running turns."""
        return len(self._tasks)

    @property
    def modes(self) -> Modes:
        """The modes that a turn may name or a user may choose."""
        return self._dependencies.shared.modes

    async def begin(self, request: ChatRequest) -> ChatTurn:
        """Return the turn that answers `request`: a new one or, for a repeated message id, the existing one.

        Raises `NotFound` for an unknown mode, `Conflict` when another turn of the conversation is running,
        `BadRequest` when the id was another message's, or `TooMany`.
        """
        if request.mode:
            self.modes.get(request.mode)
        if (known := self._known(request) or await self._stored(request)) is not None:
            return known
        if (known := self._known(request)) is not None:  # A retry began it in the meantime.
            return known
        self._check_room(request)
        if request.conversation_id and not await self._claims.claim(request):
            raise _busy(request)
        if (known := self._known(request)) is not None:
            return known
        try:
            self._check_room(request)
        except VoiceError:
            await self._claims.release(request)
            raise
        return self._start(request)

    async def cancel(self, user_id: str, conversation_id: str) -> bool:
        """Stop the conversation's running turn in any process. Returns False when there is none."""
        turn = self._by_conversation.get((user_id, conversation_id))
        return turn.cancel() if turn is not None else bool(await self._claims.stop(user_id, conversation_id))

    async def busy(self, user_id: str, conversation_id: str) -> bool:
        """Return whether a turn of the conversation is running in any process."""
        return (user_id, conversation_id) in self._by_conversation or conversation_id in await self._claims.running(
            user_id
        )

    async def settle(self, user_id: str, conversation_id: str | None = None) -> None:
        """Stop a user's turns, or one conversation's, and wait until nothing more is written."""
        mine = [
            (task, turn)
            for task, turn in self._tasks.items()
            if turn.request.user_id == user_id and conversation_id in (None, turn.request.conversation_id)
        ]
        await asyncio.gather(self._stop(mine), self._claims.stop(user_id, conversation_id))
        if self._dependencies.profiles:
            self._dependencies.profiles.forget(user_id, conversation_id)

    async def close(self) -> None:
        """Stop all turns."""
        await self._stop(list(self._tasks.items()))

    def _known(self, request: ChatRequest) -> ChatTurn | None:
        """Return the running turn of this message; None when there is none."""
        turn = self._by_message.get((request.user_id, request.message_id))
        if turn is not None:
            _check_same(request, turn.request.text, turn.request.conversation_id)
        return turn

    async def _stored(self, request: ChatRequest) -> ChatTurn | None:
        """Return an ended turn with the stored reply to this message; None when there is none."""
        loading = self._dependencies.memory.cache_get(request.user_id, _key(request))
        raw = await briefly(loading, None, within_s=MEMORY_WITHIN_S)
        if raw is None or (stored := decode_or_skip("typed turn's reply", raw, _stored_decoder.decode)) is None:
            return None
        _check_same(request, stored.question, stored.reply.conversation_id)
        turn = ChatTurn(request)
        turn.finish(stored.reply)
        return turn

    def _check_room(self, request: ChatRequest) -> None:
        if (request.user_id, request.conversation_id) in self._by_conversation:
            raise _busy(request)
        if len(self._tasks) >= AT_ONCE:
            raise TooMany("Too many answers are being written at the moment.", retry_after_s=2)

    def _start(self, request: ChatRequest) -> ChatTurn:
        turn = ChatTurn(request)
        self._by_message[request.user_id, request.message_id] = turn
        if request.conversation_id:
            self._by_conversation[request.user_id, request.conversation_id] = turn
        task = asyncio.create_task(self._run(turn), name=f"typed turn {request.message_id[:10]}")
        self._tasks[task] = turn
        task.add_done_callback(lambda task: self._on_end(task, turn))
        return turn

    async def _run(self, turn: ChatTurn) -> None:
        """Answer the turn. A failure ends this turn alone."""
        try:
            async with self._claims.holding(turn.request) if turn.request.conversation_id else nullcontext():
                reply = await TurnRunner(self._dependencies, turn).run()
                if reply.state == "complete":
                    await self._store(turn.request, reply)
            turn.finish(reply)
        except VoiceError as error:
            turn.fail(error)
        except asyncio.CancelledError:
            turn.fail(NoAnswer(BROKEN_OFF, hint=AGAIN))
            raise
        except Exception as error:  # noqa: BLE001 - its text may hold the user's words
            log.error("a typed turn failed: %s", type(error).__name__)
            turn.fail(NoAnswer(BROKEN, hint="Send the message again. The server's log says more."))

    def _stop_here(self, user_id: str, conversation_id: str) -> None:
        """Cancel a turn at the request of another process."""
        if turn := self._by_conversation.get((user_id, conversation_id)):
            turn.cancel()

    def _on_end(self, task: asyncio.Task[None], turn: ChatTurn) -> None:
        request = turn.request
        del self._tasks[task]
        if self._by_conversation.get((request.user_id, request.conversation_id or "")) is turn:
            del self._by_conversation[request.user_id, request.conversation_id or ""]
        if not task.cancelled():
            task.exception()
        turn.fail(NoAnswer(BROKEN_OFF, hint=AGAIN))
        del self._by_message[request.user_id, request.message_id]

    async def _store(self, request: ChatRequest, reply: ChatReply) -> None:
        value = msgspec.json.encode(_StoredReply(request.text, reply)).decode()
        storing = self._dependencies.memory.cache_put(request.user_id, _key(request), value, HISTORY_TTL_S)
        warning = "a reply could not be stored, so a retry after a restart gets a new answer"
        await briefly(storing, None, within_s=MEMORY_WITHIN_S, warning=warning)

    async def _stop(self, turns: list[tuple[asyncio.Task[None], ChatTurn]]) -> None:
        for _, turn in turns:
            turn.cancel()
        if turns:
            _, late = await asyncio.wait([task for task, _ in turns], timeout=STOP_WITHIN_S)
            await cancel_all(late, within_s=STOP_WITHIN_S)


def _busy(request: ChatRequest) -> Conflict:
    return Conflict(
        "This conversation is still busy with your last message.",
        hint=f"Wait for its answer, or POST /api/conversations/{request.conversation_id}/cancel.",
    )


def _key(request: ChatRequest) -> str:
    return f"turn:{request.message_id}"


def _check_same(request: ChatRequest, text: str, conversation_id: str | None) -> None:
    if request.text != text or (request.named_conversation and request.conversation_id != conversation_id):
        raise BadRequest("This message_id belongs to another message.", hint="Give each message its own ID, or none.")
