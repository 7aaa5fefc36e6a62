"""A typed turn has a request, a reply, and, while it runs, events that readers follow.

Any number of readers follow the same turn from its first event, since a retry joins the running turn. When the last
reader of a stream leaves, the turn is cancelled. A client that waits for the whole reply may come back for it, so its
leaving cancels nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Literal

from backend.access.principal import PUBLIC, CallerScope
from backend.citations import Citation
from backend.errors import VoiceError
from backend.models.base import ToolCall
from backend.page_events import ChatTurnFinished, ErrorShown
from backend.sessions.event_log import EventLog, LoggedEvent
from backend.storage.messages import ClientRound, Message, new_message_id
from backend.turns.call_options import ClientTool

EVENT_LIMIT = 8_000
"""The most events kept of one turn. The longest answers make about half as many."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One message to answer.

    `conversation_id` None: there is no conversation; nothing earlier is known, and nothing is kept. `earlier` are the
    client's messages, for a conversation without a stored history.
    """

    user_id: str = field(repr=False)
    text: str = field(repr=False)
    conversation_id: str | None = None
    named_conversation: bool = True
    """Whether the client named the conversation. If not, a retry may have another id."""
    message_id: str = field(default_factory=new_message_id)
    earlier: Sequence[Message] = field(default=(), repr=False)
    platform: str = ""
    """The platform that the client names; steps around the turn may depend on it."""
    mode: str = ""
    """The mode of this turn; empty: the one that the user has chosen."""
    caller_scope: CallerScope = PUBLIC
    """The tools within the caller's scope."""
    instructions: str = field(default="", repr=False)
    """Instructions that replace the usual character; empty: the usual one."""
    tools: Sequence[ClientTool] = ()
    """Functions that the client carries out itself. A call of one ends the turn."""
    client_rounds: Sequence[ClientRound] = ()
    """The calls that ended earlier turns of this question, with the client's results."""


@dataclass(frozen=True, slots=True, repr=False)
class ChatReply:
    """The reply to a request, as the API shows it."""

    conversation_id: str | None
    message_id: str
    """The id of the question."""
    reply_id: str
    """The id of the answer; empty if the turn was cancelled."""
    text: str
    state: Literal["complete", "cancelled"]
    mode: str
    history: str
    """`kept`; `unavailable`: the answer was given without it; `none`: there is no conversation."""
    incomplete: bool = False
    sample: bool = False
    citations: tuple[Citation, ...] = ()
    tool_calls: int = 0
    thinkers: tuple[str, ...] = ()
    tokens: int = 0
    tokens_out: int = 0
    """The part of `tokens` that the model of the conversation produced."""
    client_calls: tuple[ToolCall, ...] = ()
    """The calls that the client must carry out, and return the results of."""
    latency_ms: int = 0


class ChatTurn:
    """A running turn, shared by the task that answers and the clients that wait for it."""

    def __init__(self, request: ChatRequest) -> None:
        self.request = request
        self.event_log = EventLog(EVENT_LIMIT)
        self.publish = self.event_log.publish
        self.began = time.perf_counter()
        self.stop: Callable[[], object] = lambda: None
        """Ends the turn in order within 100 ms. The task that runs it sets this."""
        self.wanted = True
        """Whether a client still waits. A turn that was cancelled before its start never begins."""
        self._end: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._end.add_done_callback(lambda end: end.cancelled() or end.exception())  # perhaps no client waits
        self._streams = 0
        self._waits = 0

    @property
    def over(self) -> bool:
        """Whether the turn has ended."""
        return self._end.done()

    def finish(self, reply: ChatReply) -> None:
        """End the turn with its reply."""
        if not self.over:
            self.publish(ChatTurnFinished(asdict(reply)))
            self._end.set_result(reply)
            self.event_log.close()

    def fail(self, error: VoiceError) -> None:
        """End the turn without a reply."""
        if not self.over:
            self.publish(ErrorShown(str(error), error.hint))
            self._end.set_exception(error)
            self.event_log.close()

    def cancel(self) -> bool:
        """Stop the turn. Returns False when there is nothing left to stop."""
        if self.over:
            return False
        self.wanted = False
        self.stop()
        return True

    async def wait(self) -> ChatReply:
        """Return the whole reply, or raise the turn's error. Cancelling the waiter does not stop the turn."""
        self._waits += 1
        return await asyncio.shield(self._end)

    @property
    def end(self) -> asyncio.Future[ChatReply]:
        """The end of the turn. Do not cancel it. Unlike `wait`, it does not count as a waiting client."""
        return self._end

    async def follow(self, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield all events from the first (see `EventLog.follow`). The last reader to leave early cancels the turn."""
        self._streams += 1
        try:
            async with aclosing(self.event_log.follow(quiet_s=quiet_s)) as stream:
                async for events in stream:
                    yield events
        finally:
            self._streams -= 1
            if not self._streams and not self._waits:
                self.cancel()
