"""Opens the calls of a process: what they share, where they live, and the other processes they are shared with."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from aiortc import RTCIceServer
from prometheus_client import generate_latest

from backend.app.models import api_key
from backend.app.observability import open_load
from backend.app.stores import Stores
from backend.app.tasks import TaskSubsystem
from backend.app.thinkers import ThinkerSubsystem
from backend.call.engine import CallDependencies, ResponderInfo, run_call
from backend.call.prompts import CallerBackground, brief
from backend.conversation.limits import TurnLimits
from backend.conversation.page_events import PageEvent
from backend.errors import ResponderUnavailable
from backend.http.page_streams import PageStreams
from backend.media.endpointing import choose_engine, open_endpointing
from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import Tracer
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from backend.sessions.cluster.cluster import Cluster, ClusterRedis
from backend.sessions.load import Load
from backend.sessions.offers import AcceptOffer
from backend.sessions.page_json import PageMessage, page_message
from backend.sessions.registry import QUEUES, SessionRegistry
from backend.settings.settings import Settings
from backend.storage.memory import HISTORY_LIMIT, Memory, briefly, following_changes
from backend.storage.messages import Message
from backend.tasks.service import TaskQueries
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.transport import accept_offer
from backend.users.profile import UserProfile, load_profile, watch_profile
from backend.users.profile_learner import LearnerDependencies

LISTENING_WITHIN_S = 1.0
"""Seconds a server that starts waits until its pub/sub channels are open."""
MEMORY_WITHIN_S = 0.5
"""Seconds memory has to say what it knows of a caller; after that the caller is served as a stranger."""
OFFLINE_NAME = "offline demonstration"


class ResponderEndpoint:
    """Dials the Realtime API, and remembers whether the last attempt worked."""

    def __init__(self, settings: Settings) -> None:
        voice = Voice(settings.realtime_model, settings.realtime_voice, settings.transcript_model)
        self._endpoint = RealtimeEndpoint(settings.realtime_url, api_key(settings), voice)
        self.trouble = ""
        """Why the last attempt failed; empty when it did not, or none was made."""

    def __repr__(self) -> str:
        return f"ResponderEndpoint({self._endpoint!r}, {self.trouble or 'ok'})"

    async def dial(self, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        """Connect to the API as `responders.base.ResponderFactory` asks. Raises `ResponderUnavailable`."""
        try:
            responder = await connect_realtime(self._endpoint, briefing, history)
        except ResponderUnavailable as error:
            self.trouble = f"{error} {error.hint}".strip()
            raise
        self.trouble = ""
        return responder


@dataclass(frozen=True, slots=True)
class CallSubsystem:
    """The calls of a process."""

    registry: SessionRegistry
    responder: ResponderEndpoint
    about: ResponderInfo
    accept_offer: AcceptOffer
    pages: PageStreams
    """The event streams of open pages, outside of calls."""
    cluster: Cluster | None
    """The other processes; None when this one serves alone."""


@asynccontextmanager
async def open_calls(
    settings: Settings,
    stores: Stores,
    thinkers: ThinkerSubsystem,
    tasks: TaskSubsystem,
    metrics: CallMetrics,
    tracer: Tracer,
) -> AsyncIterator[CallSubsystem]:
    """Open the calls. At the end of the block calls are ended first; then the other processes hear of it."""
    async with AsyncExitStack() as stack:
        responder = ResponderEndpoint(settings)
        dependencies = _dependencies(settings, stores, thinkers, tasks, responder, metrics, tracer)
        load = await stack.enter_async_context(open_load(settings))
        registry = _registry(settings, dependencies, load, metrics)
        offers = partial(accept_offer, config=_ice_config(settings))
        cluster = await _cluster(settings, stores, registry, offers, load, metrics, stack)
        stack.push_async_callback(registry.close)
        pages = PageStreams(tasks.notifications.presence)
        metrics.watch_queue("open_pages", lambda: pages.count)
        await _listen(stores, tasks, registry, pages, stack)
        yield CallSubsystem(registry, responder, dependencies.about, offers, pages, cluster)


def _dependencies(
    settings: Settings,
    stores: Stores,
    thinkers: ThinkerSubsystem,
    tasks: TaskSubsystem,
    responder: ResponderEndpoint,
    metrics: CallMetrics,
    tracer: Tracer,
) -> CallDependencies:
    registry, modes = thinkers.registry, thinkers.registry.dependencies.modes
    limits = _limits(settings)
    return CallDependencies(
        connect=responder.dial,
        brief=lambda caller: brief(
            registry,
            caller,
            mode=modes.chosen(caller.profile),
            endpointing=limits.endpointing,
            greeting=settings.greeting,
        ),
        mode=modes.chosen,
        background=partial(_background, stores.memory, tasks.store.queries),
        earlier=partial(_earlier, stores.memory),
        thinkers=thinkers.dispatcher.with_handoff(tasks.handoff),
        keep=stores.outbox.enqueue,
        learning=LearnerDependencies(
            partial(watch_profile, stores.memory), thinkers.summaries, tasks.coordinator.ingest
        ),
        open_endpointing=partial(open_endpointing, settings.vad),
        limits=limits,
        max_s=settings.session_max_minutes * 60,
        about=(
            ResponderInfo(OFFLINE_NAME, OFFLINE_NAME, offline=True)
            if settings.offline
            else ResponderInfo("OpenAI Realtime API", settings.realtime_model, offline=False)
        ),
        metrics=metrics,
        tracer=tracer,
        subscribe=tasks.notifications.dispatcher.subscribe,
    )


def _limits(settings: Settings) -> TurnLimits:
    if settings.vad.enabled:
        choose_engine(settings.vad.engine)  # loaded now: the first caller should not wait for a model
    return TurnLimits(
        interruption_min_ms=settings.interruption_min_ms,
        idle_nudge_s=settings.idle_nudge_s,
        idle_disconnect_s=settings.idle_disconnect_s,
        filler_after_s=settings.filler_after_s,
        endpointing="local" if settings.vad.enabled else "provider",
        greeting=bool(settings.greeting),
    )


async def _background(memory: Memory, task_queries: TaskQueries, user_id: str) -> CallerBackground:
    """Return what memory knows of the user, and the background tasks there are."""
    profile = briefly(load_profile(memory, user_id), UserProfile(), within_s=MEMORY_WITHIN_S)
    return CallerBackground(*await asyncio.gather(profile, task_queries.for_prompt(user_id)))


async def _earlier(memory: Memory, user_id: str, conversation_id: str) -> list[Message] | None:
    asked = memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT)
    return await briefly(asked, None, within_s=MEMORY_WITHIN_S)


def _registry(settings: Settings, dependencies: CallDependencies, load: Load, metrics: CallMetrics) -> SessionRegistry:
    registry = SessionRegistry(
        partial(run_call, dependencies),
        cap=settings.session_cap,
        responder=dependencies.about.responder,
        on_lapse=partial(metrics.session_ended, "never_connected"),
        admit=load.admit,
    )
    for queue in QUEUES:
        metrics.watch_queue(queue, partial(registry.depth, queue))
    return registry


async def _listen(
    stores: Stores, tasks: TaskSubsystem, registry: SessionRegistry, pages: PageStreams, stack: AsyncExitStack
) -> None:
    """Pass on what other processes publish for the calls and pages of this one."""

    def here(owner: str) -> bool:
        return registry.is_here(owner) or pages.is_here(owner)

    def show(owner: str, message: PageMessage) -> None:
        registry.show(owner, message)
        pages.show(owner, message)

    def publish(owner: str, event: PageEvent) -> None:
        show(owner, page_message(event))

    pubsub = stores.pubsub
    await stack.enter_async_context(following_changes(pubsub, stores.opened.memory))
    await stack.enter_async_context(tasks.broadcasting(pubsub, here, publish))
    pubsub.on_page_event(lambda owner, type_, data: show(owner, PageMessage(type_, data)))
    pubsub.start()
    stack.push_async_callback(pubsub.close)
    await pubsub.wait_until_open(LISTENING_WITHIN_S)


async def _cluster(
    settings: Settings,
    stores: Stores,
    registry: SessionRegistry,
    offers: AcceptOffer,
    load: Load,
    metrics: CallMetrics,
    stack: AsyncExitStack,
) -> Cluster | None:
    """The other processes this one serves with, if any. Closed after its calls, so that all learn of their end."""
    if not settings.share_sessions:
        return None
    opened = stores.opened
    cluster = await stack.enter_async_context(
        Cluster(
            ClusterRedis(opened.redis, opened.waiting),
            registry,
            offers,
            lambda: (load.fullness, not (load.is_full or registry.closing)),
            metrics=lambda: generate_latest(metrics.registry).decode(),
            group=f"{socket.gethostname()}:{os.getppid()}" if settings.workers > 1 else None,
        )
    )
    metrics.watch_queue("fleet_events", lambda: cluster.depth)
    return cluster


def _ice_config(settings: Settings) -> IceConfig:
    return IceConfig(
        ice_servers=tuple(RTCIceServer(s.urls, s.username, s.credential) for s in settings.ice_servers),
        force_host=settings.rtc_force_host,
        port_range=settings.rtc_port_range,
        pauses=settings.rtc_dtx,
    )
