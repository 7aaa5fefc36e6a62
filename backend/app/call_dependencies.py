"""What every call shares: the `Line`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Literal

from backend.app.responder_endpoint import ResponderLine
from backend.app.stores import Kept
from backend.app.tasks import Work
from backend.app.thinkers import Thinking
from backend.call.engine import Line
from backend.call.prompts import brief
from backend.conversation.limits import TurnLimits
from backend.errors import MemoryUnavailable
from backend.media.endpointing import open_hearing
from backend.media.vad import choose_engine
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings
from backend.storage.memory import HISTORY_LIMIT, Memory, Message
from backend.tasks.queries import Asking
from backend.users.profile_learner import Learning

KNOWN_WITHIN_S = 0.5
"""A caller of whom memory says nothing in this time is served as a stranger."""
OFFLINE_NAME = "offline demonstration"


def line_of(
    settings: Settings,
    kept: Kept,
    thinking: Thinking,
    work: Work,
    responder: ResponderLine,
    metrics: Metrics,
    tracer: Tracer,
) -> Line:
    """The line of this process's calls."""
    thinkers, modes = thinking.thinkers, thinking.thinkers.desk.modes
    limits = _limits(settings)
    return Line(
        dial=responder.dial,
        brief=lambda known: brief(
            thinkers, known, mode=modes.chosen(known), endpointing=limits.endpointing, greeting=settings.greeting
        ),
        mode=modes.chosen,
        known=partial(_known, kept.memory, thinking.asking),
        earlier=partial(_earlier, kept.memory),
        thinkers=thinkers,
        keep=kept.outbox.put,
        learning=Learning(kept.memory.watch_user, thinking.summaries, work.coordinating.overhear),
        open_hearing=partial(open_hearing, settings.vad),
        limits=limits,
        max_s=settings.session_max_minutes * 60,
        about=_about(settings),
        metrics=metrics,
        tracer=tracer,
        handover=work.handover,
        attend=work.teller.attend,
    )


def _about(settings: Settings) -> dict[str, Any]:
    return {
        "responder": OFFLINE_NAME if settings.offline else "OpenAI Realtime API",
        "model": OFFLINE_NAME if settings.offline else settings.realtime_model,
        "offline": settings.offline,
    }


def _limits(settings: Settings) -> TurnLimits:
    if settings.vad.enabled:
        choose_engine(settings.vad.engine)  # the first caller should not wait for a model
    endpointing: Literal["local", "provider"] = "local" if settings.vad.enabled else "provider"
    return TurnLimits(
        interruption_min_ms=settings.interruption_min_ms,
        idle_nudge_s=settings.idle_nudge_s,
        idle_disconnect_s=settings.idle_disconnect_s,
        filler_after_s=settings.filler_after_s,
        endpointing=endpointing,
        greeting=bool(settings.greeting),
    )


async def _known(memory: Memory, asking: Asking, user_id: str) -> dict[str, Any]:
    """What memory knows of the user, and what long work there is."""
    context, work = await asyncio.gather(_context(memory, user_id), asking.briefing(user_id))
    return {**context, "long_work": work}


async def _context(memory: Memory, user_id: str) -> dict[str, Any]:
    try:
        async with asyncio.timeout(KNOWN_WITHIN_S):
            return await memory.user_context(user_id)
    except (MemoryUnavailable, TimeoutError):
        return {}


async def _earlier(memory: Memory, user_id: str, conversation_id: str) -> list[Message] | None:
    try:
        async with asyncio.timeout(KNOWN_WITHIN_S):
            return await memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT)
    except (MemoryUnavailable, TimeoutError):
        return None
