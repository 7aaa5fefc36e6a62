"""Typed turns over a scripted model, for tests that need a whole HTTP edge."""

import httpx2
from fakeredis import FakeAsyncRedis

from backend.app.thinkers import build_thinkers
from backend.chat.chat import Chat
from backend.chat.profile_updater import ChatProfileUpdater
from backend.chat.turn_claims import TurnClaims
from backend.chat.turn_runner import ChatDependencies
from backend.middleware.pipeline import NO_STEPS, Pipeline
from backend.models.base import ChatModel
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.testing.model import ScriptedModel
from backend.tools.confirmations import Confirmations

NO_HTTP = httpx2.AsyncClient(verify=False)
"""The HTTP client of the tools, which stays unused."""


def chat_over(
    settings: Settings,
    memory: Memory,
    model: ChatModel | None = None,
    *,
    pipeline: Pipeline = NO_STEPS,
    tracer: Tracer = NO_TRACER,
    claims: TurnClaims | None = None,
    profiles: ChatProfileUpdater | None = None,
    confirmations: Confirmations | None = None,
    http: httpx2.AsyncClient = NO_HTTP,
) -> Chat:
    """A chat with all Thinkers and one model."""
    chosen = model or ScriptedModel()
    thinkers = build_thinkers(
        settings, model=chosen, memory=memory, http=http, pipeline=pipeline, confirmations=confirmations
    )
    deadline_s = settings.limits.chat_deadline_s
    claims = claims or TurnClaims(FakeAsyncRedis(), "here")
    return Chat(ChatDependencies(thinkers, pipeline, memory, claims, deadline_s, profiles, tracer, confirmations))
