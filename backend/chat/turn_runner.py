"""How one typed turn is answered: the agent, with what is known of the user, their mode, the steps and the Thinkers.

what is known ─▶ mode ─▶ pre-steps ─▶ the agent's turn ─▶ post-steps ─▶ reply
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from backend.agent.context import ContextMessage, Situation
from backend.agent.conversations import MemoryConversations
from backend.agent.events import (
    AgentEvent,
    TurnState,
    StateChanged,
    ThinkerResponse,
    Token,
    ToolFinished,
    ToolStarted,
)
from backend.agent.session import Agent, ContextStore, ThinkerSession
from backend.chat.peer_turns import NO_PEERS, PeerTurns
from backend.chat.routing import ThinkerRouting
from backend.chat.turn import ChatReply, ChatRequest, ChatTurn
from backend.conversation.page_events import (
    ChatStateChanged,
    ChatTurnStarted,
    TokenGenerated,
    ToolCallFinished,
    ToolCallStarted,
)
from backend.errors import NoAnswer, PeerError
from backend.middleware.base import Asked
from backend.middleware.pipeline import Pipeline, Prepared
from backend.observability.tracing import NO_TRACER, Span, Tracer, rooted
from backend.storage.memory import Memory
from backend.thinkers.base import Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import ROUTE_TOOL
from backend.thinkers.run import ThinkerDependencies
from backend.tools.runner import Toolbox
from backend.users.modes import Mode
from backend.users.profile import UserProfile, load_profile

log = logging.getLogger(__name__)

TASK = """\
You are a warm, attentive assistant in a conversation that goes on by text and by voice: what was said in a call \
before belongs to it. Answer in the language of the user, briefly."""
KNOWN_WITHIN_S = 0.5
"""A user of whom memory says nothing in this time is served as a stranger."""
HISTORY_WITHIN_S = 0.4
"""The same for the conversation; less than the agent gives its store."""
RESULT_SHOWN = 2_000
"""Characters of a tool's result shown in an event."""
OWN_TOOLS = ("remember_preference", "memory", "manage_prompt", "get_personality")
"""Tools of Thinkers that a conversation needs at hand itself."""

CANCELLED = ThinkerResponse("", "", (), 0, 0, 0, TurnState.CANCELLED, cacheable=False)
"""A turn that was cancelled before the model was asked."""

OnTurn = Callable[[ChatRequest, ChatReply], None]
"""Told of every turn that was answered; returns at once."""


@dataclass(frozen=True, slots=True)
class ChatDependencies:
    """What all typed turns share."""

    thinkers: ThinkerDispatcher
    pipeline: Pipeline
    memory: Memory
    deadline_s: float
    """Seconds a turn has, unless its mode says otherwise."""
    on_turn: OnTurn = lambda asked, reply: None
    tracer: Tracer = NO_TRACER
    elsewhere: PeerTurns = NO_PEERS
    """The other processes that answer typed turns."""

    @property
    def shared(self) -> ThinkerDependencies:
        """The agent, the tools and the modes, which typed turns share with the Thinkers."""
        return self.thinkers.registry.dependencies

    def tools(self, mode: Mode) -> Toolbox:
        """The mode's tools; or those that no Thinker has, as Thinkers know better how to use theirs."""
        box = self.shared.toolbox
        if mode.tools is not None:
            return box.only(name for name in mode.tools if name != ROUTE_TOOL)
        taken = {name for manifest in self.thinkers.registry.manifests for name in manifest.tools} - set(OWN_TOOLS)
        return box.only(name for name in box.names if name not in taken)


class TurnRunner:
    """One turn's own part. `run` is called once."""

    def __init__(self, dependencies: ChatDependencies, turn: ChatTurn) -> None:
        self._dependencies = dependencies
        self._turn = turn
        self._asked = turn.asked
        self._tools: list[str] = []
        self._late = False
        self._prepared: Prepared | None = None
        self._routing: ThinkerRouting | None = None
        self._mode = Mode()
        self._kept_in: ContextStore | None = None

    def __repr__(self) -> str:
        return f"TurnRunner({self._asked!r})"

    async def run(self) -> ChatReply:
        """Raises `ModelUnavailable`, or `NoAnswer` when there was none in time."""
        asked = self._asked
        with rooted(self._dependencies.tracer, "turn", "typed turn", asked.conversation_id or asked.message_id) as span:
            span.asked(asked.text)
            reply = await self._run()
            _describe(span, asked, reply)
        return reply

    async def _run(self) -> ChatReply:
        situation = await self._begun()
        if situation is None:
            return self._reply(CANCELLED)
        session = self._session(situation)
        self._turn.stop = session.cancel
        deadline_s = self._mode.limits.deadline_s or self._dependencies.deadline_s
        timer = asyncio.get_running_loop().call_later(deadline_s, self._too_late, session)
        try:
            response = await session.think(self._asked.text, "chat", message_id=self._asked.message_id)
        finally:
            timer.cancel()
        if self._late and response.state is not TurnState.COMPLETE:
            raise NoAnswer(f"There was no answer within {deadline_s:g} seconds.", hint="Ask for less at once.")
        reply = self._reply(response, session)
        self._dependencies.on_turn(self._asked, reply)
        return reply

    async def _begun(self) -> Situation | None:
        """What the turn knows beside the question; None when it was cancelled meanwhile."""
        preparing = asyncio.ensure_future(self._prepare())
        self._turn.stop = lambda: _cancel(preparing)
        try:
            return await asyncio.shield(preparing) if self._turn.wanted else None
        except asyncio.CancelledError:
            if self._turn.wanted:  # it is this task that is cancelled
                raise
            return None
        finally:
            preparing.cancel()

    async def _prepare(self) -> Situation:
        profile, asked = await self._profile(), self._asked
        self._mode = (
            self._dependencies.shared.modes.named(asked.mode)
            if asked.mode
            else self._dependencies.shared.modes.chosen(profile)
        )
        self._turn.publish(ChatTurnStarted(asked.conversation_id, asked.message_id, self._mode.name))
        self._prepared = await self._dependencies.pipeline.before(self._pipeline_view(), names=self._mode.steps)
        return self._prepared.add_to(Situation(profile))

    def _session(self, situation: Situation) -> ThinkerSession:
        mode, asked = self._mode, self._asked
        box = self._dependencies.tools(mode)
        if self._dependencies.thinkers.registry.manifests and (mode.tools is None or ROUTE_TOOL in mode.tools):
            conversation = asked.conversation_id or asked.message_id
            question = Question("", "", conversation, "", "chat", mode, conversation, asked.platform)
            self._routing = ThinkerRouting(self._dependencies.thinkers, question, self._turn.publish)
            box = box.plus(self._routing.tool())
        shared = self._dependencies.shared
        agent: Agent = shared.agent.with_(
            toolbox=box,
            model_name=shared.model_name("fast", mode),
            rounds=mode.limits.tool_rounds,
            profile=mode.name,
            message_limit=mode.limits.history_messages,
            store=self._store(),
            router=shared.router if mode.tools is None else None,
        )
        return agent.create_session(
            asked.conversation_id or asked.message_id,
            system_prompt="\n\n".join(filter(None, (TASK, mode.words()))),
            user_id=asked.user_id,
            on_event=self._tell,
            situation=situation,
            revise=self._revise,
        )

    @property
    def _lost(self) -> bool:
        """Whether the conversation could not be read."""
        return isinstance(self._kept_in, StoredHistory) and self._kept_in.lost

    def _store(self) -> ContextStore | None:
        asked = self._asked
        if asked.conversation_id is not None:
            self._kept_in = StoredHistory(MemoryConversations(self._dependencies.memory), asked.earlier)
        elif asked.earlier:
            self._kept_in = SuppliedHistory(asked.earlier)
        return self._kept_in

    async def _profile(self) -> UserProfile:
        try:
            async with asyncio.timeout(KNOWN_WITHIN_S):
                return await load_profile(self._dependencies.memory, self._asked.user_id)
        except (PeerError, TimeoutError):
            log.warning("a typed turn goes on without what is known of its user: memory does not answer")
            return UserProfile()

    def _pipeline_view(self) -> Asked:
        asked = self._asked
        conversation = asked.conversation_id or ""
        return Asked(asked.text, asked.user_id, conversation, "chat", self._mode.name, platform=asked.platform)

    async def _revise(self, response: ThinkerResponse) -> str:
        """The answer as the post-steps leave it."""
        assert self._prepared is not None
        whole = self._prepared.turn(
            response.text,
            message_id=response.message_id,
            tools=tuple(dict.fromkeys(self._tools)),
            thinkers=self._thinkers_used(),
            citations=response.citations,
        )
        return (await self._dependencies.pipeline.after(whole, names=self._mode.steps)).answer

    def _thinkers_used(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._routing.domains)) if self._routing else ()

    def _too_late(self, session: ThinkerSession) -> None:
        self._late = True
        session.cancel()

    def _reply(self, response: ThinkerResponse, session: ThinkerSession | None = None) -> ChatReply:
        asked = self._asked
        lost = self._lost or (session is not None and session.history == "unavailable")
        history = "none" if asked.conversation_id is None else "unavailable" if lost else "kept"
        return ChatReply(
            conversation_id=asked.conversation_id,
            message_id=asked.message_id,
            reply_id=response.message_id,
            text=response.text,
            state="complete" if response.state is TurnState.COMPLETE else "cancelled",
            mode=self._mode.name,
            history=history,
            incomplete=response.incomplete,
            sample=response.sample,
            citations=response.citations,
            tool_calls=response.tool_calls_made,
            thinkers=self._thinkers_used(),
            tokens=response.tokens_used,
            latency_ms=round((time.perf_counter() - self._turn.began) * 1000),
        )

    def _tell(self, event: AgentEvent) -> None:
        """The loop's events, as a stream shows them."""
        match event:
            case Token(text):
                self._turn.publish(TokenGenerated(text))
            case StateChanged(state):
                self._turn.publish(ChatStateChanged(state.value))
            case ToolStarted(call, name, arguments):
                self._tools.append(name)
                self._turn.publish(ToolCallStarted(call, name, arguments))
            case ToolFinished(call, name, content, error, sample, elapsed_ms):
                shown = content[:RESULT_SHOWN]
                self._turn.publish(ToolCallFinished(call, name, shown, error, sample, elapsed_ms))


def _describe(span: Span, asked: ChatRequest, reply: ChatReply) -> None:
    """What a turn came to, for its trace."""
    span.said(reply.text)
    span.note(typed=True, platform=asked.platform or None, mode=reply.mode, history=reply.history)
    span.note(tool_calls=reply.tool_calls, thinkers=",".join(reply.thinkers) or None, total_ms=reply.latency_ms)
    if reply.state != "complete":
        span.end("cancelled")


def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()


class SuppliedHistory:
    """A `ContextStore` of what the caller brings along, which keeps nothing."""

    def __init__(self, earlier: Sequence[tuple[str, str]]) -> None:
        self._earlier = earlier

    async def load(self, conversation_id: str, user_id: str) -> list[ContextMessage]:
        """What was brought."""
        return [
            ContextMessage("user" if role == "user" else "assistant", text, time.time(), "chat")
            for role, text in self._earlier
        ]

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[ContextMessage]) -> None:
        """Nothing."""


class StoredHistory:
    """The kept conversation; where there is none yet, what the caller brings is its beginning, and is kept with it.

    A conversation that cannot be read is answered from what the caller brings; then nothing of that is kept.
    """

    def __init__(self, kept: ContextStore, earlier: Sequence[tuple[str, str]]) -> None:
        self._kept = kept
        self._brought = SuppliedHistory(earlier)
        self._to_keep: list[ContextMessage] = []
        self.lost = False
        """Whether the kept conversation could not be read."""

    async def load(self, conversation_id: str, user_id: str) -> list[ContextMessage]:
        """The kept messages, or those the caller brings. Raises nothing."""
        brought = await self._brought.load(conversation_id, user_id)
        try:
            async with asyncio.timeout(HISTORY_WITHIN_S):
                kept = await self._kept.load(conversation_id, user_id)
        except (PeerError, TimeoutError):
            log.warning("a typed turn goes on without its conversation: memory does not answer")
            self.lost = True
            return brought
        if not kept:
            self._to_keep = brought
        return kept or list(brought)

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[ContextMessage]) -> None:
        """See `ContextStore.append`."""
        await self._kept.append(conversation_id, user_id, [*self._to_keep, *messages])
        self._to_keep = []
