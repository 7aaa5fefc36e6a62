"""Typed turns: begun once each, joined by retries, one at a time in a conversation, all of them owned.

begin ──▶ the same message id: join it, or give the stored reply
      ──▶ a turn of this conversation is running: `Conflict`
      ──▶ a task that answers (`answering`), within its deadline

What runs in another process counts as what runs here (`elsewhere`), but for its events: who joins such a turn gets its
whole reply.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from backend.chat.turn import ChatReply, ChatRequest, ChatTurn
from backend.chat.turn_runner import ChatDependencies, TurnRunner
from backend.errors import BadRequest, Conflict, NoAnswer, PeerError, TooMany, VoiceError
from backend.storage.memory import HISTORY_TTL_S
from backend.users.modes import Modes

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Turns running in this process at the same time; more are refused."""
RECENT = 256
"""Ended turns at hand for a retry, should memory not have them."""
MEMORY_WITHIN_S = 0.5
"""How long looking for a stored reply, or storing one, may take."""
STOP_WITHIN_S = 1.0
"""Seconds a cancelled turn gets to put its things away."""
LOOK_S = 0.2
"""Seconds between two looks at a turn of another process."""
BROKEN_OFF = "The answer was broken off."
AGAIN = "Send the message again."
BROKEN = "The answer failed for a reason of its own."

Key = tuple[str, str]


class Chat:
    """All typed turns of this process. Whoever makes it closes it."""

    def __init__(self, dependencies: ChatDependencies) -> None:
        self._dependencies = dependencies
        self._by_message: OrderedDict[Key, ChatTurn] = OrderedDict()
        self._by_conversation: dict[Key, ChatTurn] = {}
        self._tasks: dict[asyncio.Task[None], ChatTurn] = {}
        self._elsewhere = dependencies.elsewhere
        self._elsewhere.on_stop(self._unwanted)

    def __repr__(self) -> str:
        return f"Chat({len(self._tasks)} turns running)"

    @property
    def running(self) -> int:
        """Turns that are being answered."""
        return len(self._tasks)

    @property
    def modes(self) -> Modes:
        """Those a turn may name, or a user choose."""
        return self._dependencies.shared.modes

    def check_mode(self, name: str) -> None:
        """Raises `NotFound` when a mode is named that there is not."""
        if name:
            self._dependencies.shared.modes.get(name)

    async def begin(self, asked: ChatRequest) -> ChatTurn:
        """The turn that answers `asked`: a new one, or, for a message id sent again, the one it already has.

        Raises `NotFound` for an unknown mode, `Conflict` when another turn of the conversation is running,
        `BadRequest` when the id was another message's, or `TooMany`.
        """
        self.check_mode(asked.mode)
        if (known := self._known(asked)) is not None:
            return known
        if (stored := await self._stored(asked)) is not None:
            return stored
        if self._known(asked) is None:  # it may have been begun by a retry while we looked
            self._check_room(asked)
            other = await self._claimed(asked)
            if other and other != asked.message_id:
                raise _busy(asked)
            if self._known(asked) is None:
                try:
                    self._check_room(asked)
                except VoiceError:
                    await self._let_go(asked)
                    raise
                return self._start(asked, self._follow if other else self._run, ours=not other)
        known = self._known(asked)
        assert known is not None
        return known

    async def cancel(self, user_id: str, conversation_id: str) -> bool:
        """Stop the conversation's running turn, wherever it runs; False when there is none."""
        turn = self._by_conversation.get((user_id, conversation_id))
        if turn is not None:
            return turn.cancel()
        return bool(await self._stopped_elsewhere(user_id, conversation_id))

    async def busy(self, user_id: str, conversation_id: str) -> bool:
        """Whether a turn of it is running, wherever."""
        if (user_id, conversation_id) in self._by_conversation:
            return True
        return conversation_id in await self._running_elsewhere(user_id)

    async def settle(self, user_id: str, conversation_id: str | None = None) -> None:
        """Stop a user's turns, or one conversation's, and wait until nothing more is written."""
        mine = [
            (task, turn)
            for task, turn in self._tasks.items()
            if turn.asked.user_id == user_id and conversation_id in (None, turn.asked.conversation_id)
        ]
        for key in [key for key in self._by_message if key[0] == user_id and conversation_id is None]:
            del self._by_message[key]
        await asyncio.gather(self._stop(mine), self._stopped_elsewhere(user_id, conversation_id))

    async def close(self) -> None:
        """Stop all."""
        await self._stop(list(self._tasks.items()))

    def _known(self, asked: ChatRequest) -> ChatTurn | None:
        """The turn of this message that is running, or ended lately with a reply."""
        turn = self._by_message.get((asked.user_id, asked.message_id))
        if turn is not None:
            _check_same(asked, turn.asked.text, turn.asked.conversation_id)
        return turn

    async def _stored(self, asked: ChatRequest) -> ChatTurn | None:
        """A turn that has ended already, with the reply memory has for this message."""
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                raw = await self._dependencies.memory.cache_get(asked.user_id, _key(asked))
        except (PeerError, TimeoutError):
            return None
        if raw is None:
            return None
        try:
            kept = json.loads(raw)
            question, reply = str(kept["question"]), _read(kept["reply"])
        except (ValueError, TypeError, KeyError):
            log.warning("a stored reply cannot be read; it is answered anew")
            return None
        _check_same(asked, question, reply.conversation_id)
        turn = ChatTurn(asked)
        turn.finish(reply)
        return turn

    def _check_room(self, asked: ChatRequest) -> None:
        if (asked.user_id, asked.conversation_id) in self._by_conversation:
            raise _busy(asked)
        if len(self._tasks) >= AT_ONCE:
            raise TooMany("Too many answers are being written.", retry_after_s=2)

    def _start(
        self, asked: ChatRequest, run: Callable[[ChatTurn], Coroutine[Any, Any, None]], *, ours: bool
    ) -> ChatTurn:
        turn = ChatTurn(asked)
        self._by_message[asked.user_id, asked.message_id] = turn
        if asked.conversation_id and ours:
            self._by_conversation[asked.user_id, asked.conversation_id] = turn
        task = asyncio.create_task(run(turn), name=f"typed turn {asked.message_id[:10]}")
        self._tasks[task] = turn
        task.add_done_callback(lambda task: self._ended(task, turn))
        return turn

    async def _run(self, turn: ChatTurn) -> None:
        """Answer; whatever goes wrong is the turn's end, and nobody else's."""
        try:
            async with self._kept(turn.asked):
                reply = await TurnRunner(self._dependencies, turn).run()
                if reply.state == "complete":
                    await self._store(turn.asked, reply)
            turn.finish(reply)
        except VoiceError as error:
            turn.fail(error)
        except asyncio.CancelledError:
            turn.fail(NoAnswer(BROKEN_OFF, hint=AGAIN))
            raise
        except Exception as error:  # noqa: BLE001 - its text may hold the user's words
            log.error("a typed turn failed: %s", type(error).__name__)
            turn.fail(NoAnswer(BROKEN, hint="Send the message again; the server's log says more."))

    async def _follow(self, turn: ChatTurn) -> None:
        """Wait for the reply of a turn that runs in another process."""
        asked = turn.asked
        try:
            while asked.conversation_id in await self._running_elsewhere(asked.user_id):  # noqa: ASYNC110 - it is far away
                await asyncio.sleep(LOOK_S)
            stored = await self._stored(asked)
            turn.finish(await stored.wait()) if stored else turn.fail(NoAnswer(BROKEN_OFF, hint=AGAIN))
        except VoiceError as error:
            turn.fail(error)

    async def _claimed(self, asked: ChatRequest) -> str:
        """The message another process answers in this conversation; empty: none, and it is ours now."""
        if not asked.conversation_id:
            return ""
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                return await self._elsewhere.claim(asked.user_id, asked.conversation_id, asked.message_id)
        except (PeerError, TimeoutError):
            return ""

    @asynccontextmanager
    async def _kept(self, asked: ChatRequest) -> AsyncIterator[None]:
        """A block in which the conversation is ours; it is let go before anybody has the reply."""
        if not asked.conversation_id:
            yield
            return
        keeping = asyncio.create_task(
            self._elsewhere.keep(asked.user_id, asked.conversation_id, asked.message_id), name="typed turn's claim"
        )
        try:
            yield
        finally:
            keeping.cancel()
            await self._let_go(asked)

    async def _let_go(self, asked: ChatRequest) -> None:
        with suppress(PeerError, TimeoutError):
            async with asyncio.timeout(MEMORY_WITHIN_S):
                await self._elsewhere.release(asked.user_id, asked.conversation_id or "", asked.message_id)

    async def _running_elsewhere(self, user_id: str) -> dict[str, str]:
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                return await self._elsewhere.running(user_id)
        except (PeerError, TimeoutError):
            return {}

    async def _stopped_elsewhere(self, user_id: str, conversation_id: str | None) -> list[str]:
        """Stop a user's turns in other processes, or one conversation's, and wait for it. Whoever does not stop in
        time is taken for dead.
        """
        running = await self._running_elsewhere(user_id)
        wanted = [name for name in running if conversation_id in (None, name)]
        with suppress(PeerError, TimeoutError):
            async with asyncio.timeout(2 * STOP_WITHIN_S):
                for name in wanted:
                    await self._elsewhere.stop(user_id, name)
                ends_at = time.monotonic() + STOP_WITHIN_S
                left = wanted
                while left and time.monotonic() < ends_at:
                    await asyncio.sleep(LOOK_S / 4)
                    left = [name for name in await self._running_elsewhere(user_id) if name in wanted]
                for name in left:
                    await self._elsewhere.release(user_id, name)
        return wanted

    def _unwanted(self, user_id: str, conversation_id: str) -> None:
        """Another process wants it stopped."""
        if turn := self._by_conversation.get((user_id, conversation_id)):
            turn.cancel()

    def _ended(self, task: asyncio.Task[None], turn: ChatTurn) -> None:
        asked = turn.asked
        del self._tasks[task]
        if self._by_conversation.get((asked.user_id, asked.conversation_id or "")) is turn:
            del self._by_conversation[asked.user_id, asked.conversation_id or ""]
        key = (asked.user_id, asked.message_id)
        if not task.cancelled():
            task.exception()
        turn.fail(NoAnswer(BROKEN_OFF, hint=AGAIN))
        if self._by_message.get(key) is turn and not turn.answered:
            del self._by_message[key]  # a retry asks anew
        while len(self._by_message) > RECENT + len(self._tasks):
            oldest = next(key for key, each in self._by_message.items() if each.over)
            del self._by_message[oldest]

    async def _store(self, asked: ChatRequest, reply: ChatReply) -> None:
        value = json.dumps({"question": asked.text, "reply": reply.shown()}, ensure_ascii=False)
        try:
            async with asyncio.timeout(MEMORY_WITHIN_S):
                await self._dependencies.memory.cache_put(asked.user_id, _key(asked), value, HISTORY_TTL_S)
        except (PeerError, TimeoutError):
            log.warning("a reply could not be stored: a retry of its message after a restart is answered anew")

    async def _stop(self, turns: list[tuple[asyncio.Task[None], ChatTurn]]) -> None:
        for _, turn in turns:
            turn.cancel()
        tasks = [task for task, _ in turns]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=STOP_WITHIN_S)


def _busy(asked: ChatRequest) -> Conflict:
    return Conflict(
        "This conversation is still busy with its last message.",
        hint=f"Wait for its answer, or POST /api/conversations/{asked.conversation_id}/cancel.",
    )


def _key(asked: ChatRequest) -> str:
    return f"turn:{asked.message_id}"


def _read(stored: Mapping[str, Any]) -> ChatReply:
    """Raises `TypeError` when it is none."""
    lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
    return ChatReply(**{**stored, **lists})


def _check_same(asked: ChatRequest, text: str, conversation_id: str | None) -> None:
    if asked.text != text or (asked.named_conversation and asked.conversation_id != conversation_id):
        raise BadRequest(
            "This message_id belongs to another message.", hint="Give every message an id of its own, or none."
        )
