"""The runner answers one typed turn with the agent, the user's profile and mode, the middleware and the Thinkers.

profile ─▶ mode ─▶ pre-steps ─▶ the agent's turn ─▶ post-steps ─▶ reply
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from functools import partial

from backend.agent.context import Situation
from backend.agent.events import AgentEvent, StateChanged, ThinkerResponse, ThinkingState
from backend.agent.session import ThinkerSession
from backend.agent.tool_router import OFFERED_LIMIT
from backend.chat.client_tools import as_tool
from backend.chat.history import ChatHistory
from backend.chat.profile_updater import ChatProfileUpdater
from backend.chat.turn import ChatReply, ChatTurn
from backend.chat.turn_claims import TurnClaims
from backend.errors import NoAnswer
from backend.middleware.base import Asked
from backend.middleware.pipeline import Pipeline, Prepared
from backend.observability.tracing import NO_TRACER, Tracer, rooted
from backend.page_events import ChatStateChanged, ChatTurnStarted, ToolCallEvent
from backend.storage.ledger.ledger import Ledger
from backend.storage.ledger.work import working
from backend.storage.memory import Memory, briefly
from backend.thinkers.base import Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import ROUTE_TOOL
from backend.thinkers.routing import ThinkerRouting
from backend.thinkers.run import ThinkerDependencies
from backend.tools.base import ToolRights
from backend.tools.confirmations import Confirmations
from backend.tools.runner import Toolbox
from backend.users.modes import Mode
from backend.users.profile import UserProfile, load_profile

log = logging.getLogger(__name__)

TASK = """\
You are a warm, attentive assistant in a conversation that goes on by text and by voice: what was said in a call \
before belongs to it. Answer in the language of the user, briefly."""
KNOWN_WITHIN_S = 0.5
"""Seconds the profile may take to load; after that, the user is served as a stranger."""
HEARD_WITHIN_S = 1.0
"""Seconds the note of a consent reply may take; after that, the user is asked again."""
OWN_TOOLS = ("remember_preference", "memory", "manage_prompt", "get_personality")
"""The tools of Thinkers that a conversation also needs directly."""

CANCELLED = ThinkerResponse("", ThinkingState.CANCELLED, cacheable=False)
"""The response of a turn that was cancelled before the model was asked."""


@dataclass(frozen=True, slots=True)
class ChatDependencies:
    """The dependencies that all typed turns share."""

    thinkers: ThinkerDispatcher
    pipeline: Pipeline
    memory: Memory
    claims: TurnClaims
    """The claims of the turns of all processes."""
    deadline_s: float
    """Seconds a turn may take."""
    profiles: ChatProfileUpdater | None = None
    """Learns from every answered turn; None: nothing is learned."""
    tracer: Tracer = NO_TRACER
    confirmations: Confirmations | None = None
    """Takes each message as a possible consent reply; None: users are asked nothing."""
    ledger: Ledger | None = None
    """Keeps messages longer than memory does; None: there is no ledger."""

    @property
    def shared(self) -> ThinkerDependencies:
        """The dependencies that typed turns share with the Thinkers: agent, tools, modes."""
        return self.thinkers.registry.dependencies

    def tools(self, mode: Mode) -> Toolbox:
        """Return the mode's tools, or the tools that no Thinker has: Thinkers know better how to use their own."""
        box = self.shared.toolbox
        if mode.tools is not None:
            return box.only(name for name in mode.tools if name != ROUTE_TOOL)
        taken = {name for manifest in self.thinkers.registry.manifests for name in manifest.tools} - set(OWN_TOOLS)
        return box.only(name for name in box.names if name not in taken)


class TurnRunner:
    """Runs one typed turn. `run` is called once."""

    def __init__(self, dependencies: ChatDependencies, turn: ChatTurn) -> None:
        self._dependencies = dependencies
        self._turn = turn
        self._request = turn.request
        self._tools: list[str] = []
        self._late = False
        self._prepared: Prepared | None = None
        self._routing: ThinkerRouting | None = None
        self._mode = Mode()
        memory = dependencies.memory if turn.request.conversation_id is not None else None
        self._history = ChatHistory(memory, turn.request.earlier, dependencies.ledger, turn.request.platform)

    async def run(self) -> ChatReply:
        """Answer the request. Raises `ModelUnavailable`, or `NoAnswer` when there was none in time."""
        request = self._request
        conversation = request.conversation_id or request.message_id
        tracer, user = self._dependencies.tracer, request.user_id
        with working(), rooted(tracer, "turn", "typed turn", conversation, user=user) as span:
            span.asked(request.text)
            reply = await self._run()
            span.said(reply.text)
            span.note(typed=True, platform=request.platform or None, mode=reply.mode, history=reply.history)
            thinkers = ",".join(reply.thinkers) or None
            span.note(tool_calls=reply.tool_calls, thinkers=thinkers, total_ms=reply.latency_ms)
            if reply.state != "complete":
                span.end("cancelled")
        return reply

    async def _run(self) -> ChatReply:
        await self._take_answer()
        situation = await self._situation()
        if situation is None:
            return self._reply(CANCELLED)
        session = self._session(situation)
        self._turn.stop = session.cancel
        deadline_s = self._dependencies.deadline_s
        timer = asyncio.get_running_loop().call_later(deadline_s, self._too_late, session)
        try:
            response = await session.think(self._request.text, "chat", message_id=self._request.message_id, raises=True)
        finally:
            timer.cancel()
        if self._late and response.state is not ThinkingState.COMPLETE:
            raise NoAnswer(f"There was no answer within {deadline_s:g} seconds.", hint="Ask for less in one message.")
        reply = self._reply(response)
        if self._dependencies.profiles:
            self._dependencies.profiles.on_turn(self._request, reply)
        return reply

    async def _take_answer(self) -> None:
        """Take the message as the reply to an open question for the user's agreement, if there is one."""
        request, confirmations = self._request, self._dependencies.confirmations
        if confirmations is not None and request.conversation_id is not None:
            hearing = confirmations.take_answer(
                request.user_id, request.conversation_id, request.text, message=request.message_id
            )
            await briefly(hearing, None, within_s=HEARD_WITHIN_S, warning="an answer could not be noted")

    async def _situation(self) -> Situation | None:
        """Return the context of the question; None if the turn was cancelled in the meantime."""
        preparing = asyncio.ensure_future(self._prepare())
        self._turn.stop = preparing.cancel
        try:
            return await asyncio.shield(preparing) if self._turn.wanted else None
        except asyncio.CancelledError:
            if self._turn.wanted:  # This task itself is being cancelled.
                raise
            return None
        finally:
            preparing.cancel()

    async def _prepare(self) -> Situation:
        request = self._request
        loading = load_profile(self._dependencies.memory, request.user_id)
        warning = "a typed turn goes on without its user's profile"
        profile = await briefly(loading, UserProfile(), within_s=KNOWN_WITHIN_S, warning=warning)
        modes = self._dependencies.shared.modes
        self._mode = modes.named(request.mode) if request.mode else modes.chosen(profile)
        self._turn.publish(ChatTurnStarted(request.conversation_id, request.message_id, self._mode.name))
        conversation, mode = request.conversation_id or "", self._mode
        asked = Asked(request.text, request.user_id, conversation, "chat", mode.name, platform=request.platform)
        self._prepared = await self._dependencies.pipeline.before(asked, names=mode.steps)
        return self._prepared.add_to(Situation(profile, client_rounds=self._request.client_rounds))

    def _session(self, situation: Situation) -> ThinkerSession:
        mode, request = self._mode, self._request
        box = self._dependencies.tools(mode)
        if self._dependencies.thinkers.registry.manifests and (mode.tools is None or ROUTE_TOOL in mode.tools):
            conversation = request.conversation_id or request.message_id
            question = Question(
                "",
                "",
                conversation,
                "",
                "chat",
                mode,
                conversation,
                request.platform,
                self._rights(),
            )
            self._routing = ThinkerRouting(
                self._dependencies.thinkers,
                question,
                self._turn.publish,
                partial(self._history.on_outcome, message_id=request.message_id),
            )
            box = box.plus(self._routing.tool())
        box = box.plus(*map(as_tool, request.tools))
        shared = self._dependencies.shared
        agent = replace(
            shared.agent,
            toolbox=box,
            model_name=shared.model_name("fast", mode),
            profile=mode.name,
            store=self._history,
            router=shared.router if mode.tools is None or len(mode.tools) > OFFERED_LIMIT else None,
        )
        return agent.create_session(
            request.conversation_id or request.message_id,
            system_prompt="\n\n".join(filter(None, (request.instructions or TASK, mode.words()))),
            user_id=request.user_id,
            on_event=self._on_agent_event,
            situation=situation,
            revise=self._revise,
            rights=self._rights(),
        )

    def _rights(self) -> ToolRights:
        """Return the rights of the turn's tool calls. Results that a client sends count as text of others."""
        request = self._request
        untrusted = bool(request.client_rounds) or any(each.role == "tool" for each in request.earlier)
        return ToolRights(request.caller_scope, untrusted=untrusted, message=request.message_id)

    async def _revise(self, response: ThinkerResponse) -> str:
        """Return the answer after the post-steps."""
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

    def _reply(self, response: ThinkerResponse) -> ChatReply:
        request = self._request
        kept = "unavailable" if self._history.lost else "kept"
        history = "none" if request.conversation_id is None else kept
        return ChatReply(
            conversation_id=request.conversation_id,
            message_id=request.message_id,
            reply_id=response.message_id,
            text=response.text,
            state="complete" if response.state is ThinkingState.COMPLETE else "cancelled",
            mode=self._mode.name,
            history=history,
            incomplete=response.incomplete,
            sample=response.sample,
            citations=response.citations,
            tool_calls=len(response.tool_calls_made),
            thinkers=self._thinkers_used(),
            tokens=response.tokens_used,
            tokens_out=response.tokens_out,
            client_calls=response.client_calls,
            latency_ms=round((time.perf_counter() - self._turn.began) * 1000),
        )

    def _on_agent_event(self, event: AgentEvent) -> None:
        match event:
            case StateChanged(state):
                self._turn.publish(ChatStateChanged(state.value))
            case ToolCallEvent(tool_name=name):
                self._tools.append(name)
                self._turn.publish(event)
            case _:
                self._turn.publish(event)
