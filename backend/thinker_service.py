"""The service of one design document: sessions that think with this server's model and tools.

    session = thinker_service.create_session(conversation_id="conv-1", on_token=send_to_tts, user_id="ada")
    response = await session.think("What's on my calendar today?")

Within a running server the sessions use its model, its tools and its budgets. Elsewhere the first session opens
OpenAI's model and the tools, with the Redis of the settings or of a server on this machine; there no budget counts.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any

import httpx2
from fakeredis import FakeAsyncRedis

from backend.access.principal import CallerScope, ToolScope
from backend.agent.context import ConversationContext
from backend.agent.events import ThinkerResponse, ThinkingState
from backend.agent.session import Agent, ThinkerSession
from backend.agent.turn import ThinkerMetrics
from backend.app.endpoints import openai_endpoint
from backend.app.models import HTTP_TIMEOUT_S, chat_completions
from backend.app.thinkers import build_thinkers
from backend.errors import SetupError
from backend.models.tagged import TaggedChatModel
from backend.page_events import ToolCallEvent, ToolResultEvent
from backend.runtime.json_objects import Json
from backend.settings.settings import load_settings
from backend.storage.client import connect
from backend.storage.memory import Memory
from backend.storage.messages import Message as ConversationMessage
from backend.storage.redis_server import embedded_url
from backend.tools.base import ToolRights
from backend.tools.registry import Registry as ToolRegistry

__all__ = [
    "ConversationContext",
    "ConversationMessage",
    "ThinkerMetrics",
    "ThinkerResponse",
    "ThinkerService",
    "ThinkerSession",
    "ThinkingState",
    "ToolCallEvent",
    "ToolRegistry",
    "ToolResultEvent",
    "thinker_service",
]

CONTEXT_TTL_SECONDS = 3600
"""Seconds a conversation is kept after its last use."""
CONTEXTS_LIMIT = 1_000
"""The most conversations that are kept; beyond that, the one that was opened longest ago is dropped."""


class ThinkerService:
    """Creates sessions. Those of one user and one conversation share its context."""

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._tools = ToolRegistry()
        self._contexts: dict[tuple[str, str], tuple[float, ConversationContext]] = {}
        """User and conversation → the time at which a session was last created, and the context."""
        self._closing = AsyncExitStack()

    def __repr__(self) -> str:
        return f"ThinkerService({len(self._contexts)} conversations)"

    def create_session(
        self,
        conversation_id: str,
        on_token: Callable[[str], object] | None = None,
        on_tool_call: Callable[[ToolCallEvent], object] | None = None,
        on_tool_result: Callable[[ToolResultEvent], object] | None = None,
        system_prompt: str | None = None,
        user_id: str | None = None,
    ) -> ThinkerSession:
        """Create a session; see `Agent.create_session`. A user's session has the tools of a user who is signed in.

        Calls that need the user's agreement are not made. Raises `SetupError` when there is no key for a model.
        """
        if self._agent is None:
            self._agent = self._opened()
        agent = replace(self._agent, toolbox=self._agent.toolbox.plus(*self._tools.offered()))
        scope = CallerScope(ToolScope.SIGNED_IN if user_id else ToolScope.ANONYMOUS)
        return agent.create_session(
            conversation_id,
            on_token,
            on_tool_call,
            on_tool_result,
            system_prompt,
            user_id,
            rights=ToolRights(scope, attended=False),
            context=self._context(conversation_id, user_id or ""),
        )

    def register_tool(
        self, name: str, description: str, parameters: Json, handler: Callable[[Json], Awaitable[Any]]
    ) -> None:
        """Offer one more tool in later sessions, also in place of the server's own. Raises `BadPlugin`."""
        self._tools.register(name, description, parameters, handler)

    @contextmanager
    def serving(self, agent: Agent) -> Iterator[None]:
        """Use a server's agent within the block."""
        before, self._agent = self._agent, agent
        try:
            yield
        finally:
            self._agent = before

    async def close(self) -> None:
        """Close the model and the connections that were opened outside a server. The next session opens new ones."""
        self._agent = None
        await self._closing.aclose()

    def _context(self, conversation_id: str, user_id: str) -> ConversationContext:
        """Return the conversation's context, and drop those that were not used for `CONTEXT_TTL_SECONDS`."""
        now, key = time.time(), (user_id, conversation_id)
        since = now - CONTEXT_TTL_SECONDS
        kept = {each: used for each, used in self._contexts.items() if _last_use(*used) > since}
        _, context = kept.pop(key, (now, ConversationContext(conversation_id)))
        self._contexts = dict([*kept.items(), (key, (now, context))][-CONTEXTS_LIMIT:])
        return context

    def _opened(self) -> Agent:
        """Open the model of the settings, and the tools."""
        settings = load_settings()
        endpoint = openai_endpoint(settings)
        if endpoint is None:
            raise SetupError("The ThinkerService has no model.", hint="Set OPENAI_API_KEY.")
        model = chat_completions(settings, endpoint)
        url = settings.memory.redis_url or embedded_url(settings.memory.data_dir / "redis")
        memory = Memory(connect(url) if url else FakeAsyncRedis(), user_ttl_s=settings.memory.retention_s)
        http = httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S)
        for close in (model.close, memory.close, http.aclose):
            self._closing.push_async_callback(close)
        tagged = TaggedChatModel(model, settings.models.models_without_tools)
        return build_thinkers(settings, model=tagged, memory=memory, http=http).registry.dependencies.agent


def _last_use(created: float, context: ConversationContext) -> float:
    return max([created, *(message.timestamp for message in context.messages[-1:])])


thinker_service = ThinkerService()
"""The service of this process."""
