"""A session is one conversation with the agent: think, cancel, read its context and metrics.

agent = Agent(model, toolbox, model_name="…")
session = agent.create_session("conversation-1", on_token=print)
response = await session.think("Will it rain in Seattle tomorrow?", source_mode="voice")
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from backend.agent.context import TASK, ConversationContext, Exchange, Situation, SourceMode
from backend.agent.events import AgentEvent, OnEvent, StateChanged, ThinkerResponse, ThinkingState
from backend.agent.tool_router import ToolRouter
from backend.agent.turn import ThinkerMetrics, Turn
from backend.errors import BadRequest, PeerError
from backend.models.base import ChatModel
from backend.page_events import TokenGenerated, ToolCallEvent, ToolResultEvent
from backend.runtime.supervisor import leave_behind
from backend.storage.messages import ClientRound, Message
from backend.tools.base import Client, ToolContext, ToolRights
from backend.tools.runner import Toolbox

log = logging.getLogger(__name__)

STOP_WITHIN_S = 0.05
"""Seconds a cancelled turn may take to clean up before the session stops waiting for it."""
APOLOGY = "I am sorry, I could not find an answer just now. Please ask me again in a moment."
"""The answer of a turn that failed; the cause goes to the log."""

Revise = Callable[[ThinkerResponse], Awaitable[str]]
"""Returns an answer's text in the form to keep. Never raises."""


class ContextStore(Protocol):
    """Keeps conversations beyond the life of the process. A conversation belongs to one user."""

    async def load(self, conversation_id: str, user_id: str) -> list[Message]:
        """Load the messages, oldest first; empty when there are none. Never raises, and never waits long."""

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
        """Add a turn's messages in one step, and keep all for an idle hour. Never raises, and never waits long."""


@dataclass(frozen=True, slots=True)
class Agent:
    """The model, the tools and the store of all sessions. `replace` returns an agent with other tools or limits."""

    model: ChatModel
    toolbox: Toolbox
    model_name: str
    store: ContextStore | None = None
    clock: Callable[[], float] = time.time
    router: ToolRouter | None = None
    """Picks the tools of each turn; None: all of them are offered."""
    profile: str = ""
    """The name of the mode that is on, for tools."""
    shown: bool = True
    """Whether a reader sees the words as they arrive. If not, an answer that breaks off is requested once more."""

    def create_session(
        self,
        conversation_id: str,
        on_token: Callable[[str], object] | None = None,
        on_tool_call: Callable[[ToolCallEvent], object] | None = None,
        on_tool_result: Callable[[ToolResultEvent], object] | None = None,
        system_prompt: str | None = None,
        user_id: str | None = None,
        *,
        on_event: OnEvent | None = None,
        situation: Situation | None = None,
        client: Client | None = None,
        revise: Revise | None = None,
        private: bool = False,
        rights: ToolRights = ToolRights(),  # noqa: B008 - nothing in it changes
        context: ConversationContext | None = None,
    ) -> ThinkerSession:
        """Create a session of conversation `conversation_id`.

        Callbacks may be asynchronous: the turn goes on when they have returned, and ends with the error of one that
        fails. `on_event` gets every event first, and must not block.

        `system_prompt` is the task; style, date, `situation` and the tools' guidance are added to it every turn.
        `client` is the kind of client that tools must suit; None: each turn's source mode. `revise` gets a whole answer
        before it is kept. Of a `private` session, figures but no words enter traces. `rights` are the rights of its
        tool calls: by default, public tools alone. `context` is a conversation to continue; None: the store has it.
        """

        def notify(event: AgentEvent) -> object:
            if on_event:
                on_event(event)
            match event:
                case TokenGenerated(text) if on_token:
                    return on_token(text)
                case ToolCallEvent() if on_tool_call:
                    return on_tool_call(event)
                case ToolResultEvent() if on_tool_result:
                    return on_tool_result(event)
            return None

        called_back = on_token or on_tool_call or on_tool_result
        options = SessionOptions(
            on_event if on_event and not called_back else notify,
            user_id or "",
            system_prompt or TASK,
            situation,
            client,
            revise,
            rights,
            private,
        )
        return ThinkerSession(self, conversation_id, options, context)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of one session; see `Agent.create_session`."""

    on_event: Callable[[AgentEvent], object]
    """Gets every event. An awaitable that it returns is awaited."""
    user_id: str = ""
    task: str = TASK
    situation: Situation | None = None
    client: Client | None = None
    revise: Revise | None = None
    rights: ToolRights = ToolRights()  # noqa: RUF009 - nothing in it changes
    private: bool = False

    @property
    def before(self) -> Sequence[Exchange | ClientRound]:
        """The tool calls that were made before the model is asked."""
        situation = self.situation
        return [*situation.exchanges, *situation.client_rounds] if situation else ()


class ThinkerSession:
    """One conversation with the agent, one turn at a time."""

    def __init__(
        self, agent: Agent, conversation_id: str, options: SessionOptions, context: ConversationContext | None = None
    ) -> None:
        self._agent = agent
        self._conversation_id = conversation_id
        self._options = options
        self._turn: Turn | None = None
        """The running turn, or the last one."""
        self._context = context
        self._metrics = ThinkerMetrics()
        self._busy = False
        self._running: asyncio.Task[ThinkerResponse] | None = None
        self._released: asyncio.Future[None] | None = None
        """Done when the session no longer waits for the running turn."""
        self._turns = 0

    def __repr__(self) -> str:
        return f"ThinkerSession({self._conversation_id[:6]}… {self.state}, {self._turns} turns)"

    @property
    def state(self) -> ThinkingState:
        """The state of the running turn, or of the last."""
        return self._turn.state if self._turn else ThinkingState.IDLE

    async def think(
        self, user_input: str, source_mode: SourceMode = "voice", *, message_id: str = "", raises: bool = False
    ) -> ThinkerResponse:
        """Answer `user_input`. After `cancel()` it returns with state `cancelled` and the words so far.

        `message_id` names the question in the conversation; empty: an id is made. A failure gives a response with state
        `error` and words that can be spoken, or, with `raises`, the error `ModelUnavailable` or `NoAnswer`.

        Raises `BadRequest` when a turn is still running. If the awaiting task itself is cancelled, the turn is stopped
        first.
        """
        if self._busy:
            raise BadRequest("This conversation is still busy with your last question.")
        self._busy = True
        try:
            return await self._think(user_input, source_mode, message_id)
        except PeerError as error:
            if raises:
                raise
            log.warning("a turn failed: %s", error)
            return self._failed()
        finally:
            self._busy = False
            self._running = self._released = None

    def cancel(self) -> Stopping:
        """Stop the running turn, if any, with its model and tools. The result may be awaited, for at most 100 ms."""
        # Only a running turn that was not cancelled before can be stopped.
        if not self._busy or self._turn is None or self.is_cancelled():
            return Stopping(self._released)
        self._metrics.cancelled = True
        self._move(self._turn, ThinkingState.CANCELLED)
        if self._running is not None and self._released is not None:
            self._running.cancel()
            asyncio.get_running_loop().call_later(STOP_WITHIN_S, _release, self._released)
        return Stopping(self._released)

    def is_cancelled(self) -> bool:
        """Return whether the last turn was cancelled."""
        return self._metrics.cancelled

    def get_context(self) -> ConversationContext:
        """Return the conversation so far."""
        return self._context or ConversationContext(self._conversation_id, self._options.task)

    def get_metrics(self) -> ThinkerMetrics:
        """Return the tokens and calls of all turns, and the times of the last."""
        return replace(self._metrics)

    def _begun(self, mode: SourceMode) -> Turn:
        self._turns += 1
        options, turn_id = self._options, f"{self._turns}@{time.time_ns()}"
        tool_context = ToolContext(
            options.user_id,
            self._conversation_id,
            turn_id,
            options.client or mode,
            self._agent.profile,
            options.rights,
        )
        return Turn(self._agent, self.get_context(), tool_context, mode, options, self._metrics)

    async def _think(self, text: str, mode: SourceMode, message_id: str) -> ThinkerResponse:
        self._metrics.cancelled = False
        self._metrics.first_token_latency_ms = 0
        began = time.perf_counter()
        turn = self._turn = self._begun(mode)
        turn.context = await self._loaded()
        self._released = asyncio.get_running_loop().create_future()
        task = self._running = asyncio.create_task(turn.run(text, message_id), name=f"turn {self._conversation_id[:6]}")
        if self.is_cancelled():  # It was cancelled while the conversation was being loaded.
            task.cancel()
        try:
            waited: set[asyncio.Future[Any]] = {task, self._released}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait({task}, timeout=STOP_WITHIN_S)
            turn.keep_partial()
            turn.settle()
            raise
        finally:
            self._metrics.total_latency_ms = round((time.perf_counter() - began) * 1000)
            if not task.done():
                log.warning("a tool did not stop when its turn was cancelled")
                leave_behind(task)
            elif not task.cancelled():
                task.exception()  # Retrieve it, so that asyncio does not report it.
        return await self._outcome(task, turn)

    async def _outcome(self, task: asyncio.Task[ThinkerResponse], turn: Turn) -> ThinkerResponse:
        try:
            if self.is_cancelled() or task.cancelled():
                response = self._interrupted(turn)
            elif error := task.exception():
                turn.keep_partial()
                self._move(turn, ThinkingState.ERROR)
                raise error
            else:
                response = task.result()
                revise = None if response.client_calls else self._options.revise  # Calls are no answer yet.
                if revise is not None and (text := await revise(response)) != response.text:
                    turn.reword(text)
                    response = replace(response, text=text)
                self._move(turn, ThinkingState.COMPLETE)
        finally:
            turn.settle()
            await self._save(turn)
        return response

    def _interrupted(self, turn: Turn) -> ThinkerResponse:
        said = turn.partial.strip()
        turn.keep_partial()
        return turn.ended(said, ThinkingState.CANCELLED, cacheable=False)

    def _failed(self) -> ThinkerResponse:
        latency_ms = self._metrics.total_latency_ms
        return ThinkerResponse(APOLOGY, ThinkingState.ERROR, latency_ms=latency_ms, cacheable=False)

    def _move(self, turn: Turn, state: ThinkingState) -> None:
        turn.state = state
        self._options.on_event(StateChanged(state))

    async def _loaded(self) -> ConversationContext:
        if self._context is None:
            store = self._agent.store
            messages = await store.load(self._conversation_id, self._options.user_id) if store else ()
            self._context = ConversationContext(self._conversation_id, self._options.task, messages)
        return self._context

    async def _save(self, turn: Turn) -> None:
        """Add the turn to the stored conversation, unless it failed and added no more than the question."""
        if self._agent.store is None or (self.state is ThinkingState.ERROR and len(turn.added) < 2):
            return
        await self._agent.store.append(self._conversation_id, self._options.user_id, turn.added)


@dataclass(frozen=True, slots=True)
class Stopping:
    """A turn that is being cancelled: `await session.cancel()` returns once it has stopped."""

    stopped: asyncio.Future[None] | None
    """None: nothing was running."""

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until the turn has stopped, or `STOP_WITHIN_S` has passed."""
        if self.stopped is not None:
            yield from asyncio.shield(self.stopped).__await__()


def _release(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
