"""The composition root: builds the whole server from its settings. The only file that names concrete classes.

settings ─► memory (Redis) ──────┐
         ─► offline child, maybe ─┤
         ─► Thinkers ─────────────┼─► Line ─► Directory ─► HTTP app ─► server
         ─► dial (Realtime API) ──┘
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx2
from fastapi import FastAPI
from prometheus_client import generate_latest
from starlette.websockets import WebSocket

from backend.audio.vad import choose_engine
from backend.background.asking import Asking
from backend.background.build import Store, open_archive, open_background
from backend.background.coordinating import open_coordinating
from backend.background.thinking import background_kinds
from backend.calendar.calendars import open_calendars
from backend.chat.build import open_chat
from backend.chat.chat import Chat
from backend.conversation.limits import TurnLimits
from backend.errors import MemoryUnavailable, ResponderUnavailable
from backend.fleet.fleet import Fleet, Link, open_fleet
from backend.http.app import build_app
from backend.http.services import Keeper, Services
from backend.mcp.build import described, other_servers, served_tools
from backend.memory.base import HISTORY_LIMIT, Memory, Message
from backend.memory.changes import follow_changes
from backend.memory.embedded import OpenedMemory, open_memory
from backend.memory.memories import Memories, RedisMemories
from backend.memory.notices import NoticeStore
from backend.memory.outbox import Outbox
from backend.memory.redis import RedisMemory
from backend.memory.relay import Relay
from backend.minds import HTTP_TIMEOUT_S, key_of, open_model, with_offline_child
from backend.models.embedding import Embedder, EmbeddingsAPI, NoEmbeddings
from backend.offline_child import OfflineChild
from backend.pipeline.build import open_pipeline
from backend.pipeline.pipeline import Pipeline
from backend.responder.base import Briefing, Remembered, Responder
from backend.responder.codec import Voice
from backend.responder.realtime import Line as RealtimeLine
from backend.responder.realtime import dial
from backend.session.call import Line, run_call
from backend.session.clips import load_clips
from backend.session.directory import QUEUES, Directory
from backend.session.handles import LocalSwitchboard
from backend.session.handover import Handover
from backend.session.hearing import open_hearing
from backend.session.knowing import Learning
from backend.session.knowing_summary import Summaries
from backend.session.load import Load
from backend.session.load import watch as watch_load
from backend.session.metrics import Metrics
from backend.session.placing import AcceptOffer
from backend.session.prompts import brief
from backend.session.teller import Teller
from backend.settings import Settings
from backend.thinkers.build import build as build_thinkers
from backend.thinkers.registry import Thinkers
from backend.tracing.base import NO_TRACER, Tracer
from backend.tracing.langsmith import LangSmithTracer
from backend.transports.base import Transport
from backend.transports.webrtc import accept_offer
from backend.transports.websocket import WebSocketTransport
from backend.transports.wire import IceServer, WireConfig

log = logging.getLogger(__name__)

FRONTEND = Path(__file__).parent.parent / "frontend"
KNOWN_WITHIN_S = 0.5
"""A caller of whom memory says nothing in this time is served as a stranger."""
OFFLINE_NAME = "offline demonstration"
SUMMARIES_WITHIN_S = 2.0
"""Seconds a server that ends gives the summaries of the calls it has just ended."""
ERASE_WITHIN_S = 3.0
"""Seconds what still waits to be written of a user may take before it can be erased."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class House:
    """A running server's parts, for whoever serves it."""

    app: FastAPI
    directory: Directory
    drain_s: float
    """Seconds calls may go on once the server is to end."""
    lines: tuple[str, ...]
    """What to tell the operator: Responder, memory, Thinkers, hearing."""


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Everything started, in order; everything ended, in the reverse. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        opened = await open_memory(
            settings.redis_url, settings.data_dir, user_ttl_s=settings.user_retention_days * DAY_S or None
        )
        stack.push_async_callback(opened.memory.close)
        settings, child = await with_offline_child(settings, stack)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S))
        archive = await stack.enter_async_context(open_archive(settings.background, opened.memory, opened.redis))
        model = open_model(settings, archive, stack)
        folders = settings.plugin_folders
        embeds = bool(settings.embedding_base_url) or not settings.offline
        embedder = _embedder(settings, http) if embeds else NoEmbeddings()
        memories = RedisMemories(opened.redis, ttl_s=settings.user_retention_days * DAY_S or None)
        pipeline = await stack.enter_async_context(
            open_pipeline(
                settings,
                model=model,
                memory=opened.memory,
                http=http,
                folders=folders,
                services={Memories: memories} | ({Embedder: embedder} if embeds else {}),
            )
        )
        asking = Asking()
        others = await stack.enter_async_context(other_servers(settings.mcp))
        thinkers = build_thinkers(
            settings,
            model=model,
            memory=opened.memory,
            http=http,
            folders=folders,
            pipeline=pipeline,
            tool_sources=[others] if others else [],
            modes_file=settings.modes_file,
            user_tasks=asking,
        )
        outbox = Outbox(opened.memory)
        stack.push_async_callback(outbox.drain, 2.0)
        summaries = Summaries(model, settings.thinker_model, opened.memory)
        stack.push_async_callback(summaries.close, SUMMARIES_WITHIN_S)
        metrics = Metrics(manifest.domain for manifest in thinkers.manifests)
        metrics.watch_queue("outbox", lambda: outbox.depth)
        metrics.watch_queue("summaries", lambda: summaries.depth)
        pipeline.counts.show_in(metrics.registry)
        metrics.watch_queue("post_steps", lambda: pipeline.depth)
        metrics.watch_losses(lambda: outbox.dropped + outbox.failed)
        background = await stack.enter_async_context(
            open_background(
                settings.background,
                Store(opened.redis, opened.waiting, opened.url),
                thinkers=thinkers,
                archive=archive,
                registry=metrics.registry,
            )
        )
        relay = Relay(opened.redis, opened.waiting)
        notices = NoticeStore(opened.redis)
        teller = Teller(notices, relay)
        stack.push_async_callback(teller.close)
        asking.open(background.board, teller)
        coordinating = await stack.enter_async_context(
            open_coordinating(
                settings.coordinator,
                opened.redis,
                tasks=background.board,
                model=model,
                model_name=settings.thinker_model,
                archive=archive,
                kinds=background_kinds(thinkers.manifests),
                teller=teller,
                waiting=teller.waiting,
                listening=teller.listening,
                show=relay.show,
            )
        )
        handover = Handover(background.board)
        stack.push_async_callback(handover.close)
        responder = ResponderLine(settings)
        tracer = _tracer(settings, metrics)
        stack.push_async_callback(tracer.close)
        line = _line(settings, child, responder, thinkers, opened.memory, outbox, summaries, metrics, tracer, handover)
        load = await stack.enter_async_context(_watched_load(settings))
        learning = replace(line.learning, overhear=coordinating.overhear)
        line = replace(line, attend=teller.attend, learning=learning, known=partial(_known, opened.memory, asking))
        directory = Directory(
            partial(run_call, line),
            cap=settings.session_cap,
            responder=str(line.about["responder"]),
            on_lapse=partial(metrics.session_ended, "never_connected"),
            admit=load.admit,
        )
        accept_offer = _offers(settings)
        fleet = await _fleet(settings, opened, directory, accept_offer, load, metrics, stack)
        stack.push_async_callback(directory.close)
        await stack.enter_async_context(background.crying(directory.is_here, directory.publish))
        relay.on_page(directory.publish)
        relay.begin()
        stack.push_async_callback(relay.close)
        for queue in QUEUES:
            metrics.watch_queue(queue, partial(directory.depth, queue))
        calendars = open_calendars(settings, http)
        chatting = open_chat(
            settings,
            thinkers=thinkers,
            memory=opened.memory,
            keep=outbox.put,
            summaries=summaries,
            pipeline=pipeline,
            handover=handover,
            overhear=coordinating.overhear,
        )
        chat = await stack.enter_async_context(chatting)
        metrics.watch_queue("typed_turns", lambda: chat.running)
        registry = thinkers.desk.toolbox
        doors = await stack.enter_async_context(served_tools(settings.mcp, registry, settings.allowed_origins))
        services = Services(
            settings=settings,
            directory=directory,
            sessions=fleet or LocalSwitchboard(directory),
            memory=opened.memory,
            chat=chat,
            embedder=embedder,
            accept_offer=accept_offer,
            attach_socket=_attach_socket,
            page_config=lambda: _page_config(settings, line, thinkers, opened),
            readiness=partial(_readiness, opened.memory, child, responder, directory),
            tasks=background.board,
            archive=archive,
            keepers=(
                Keeper("tasks", background.board.export, background.board.erase),
                _memory_keeper(opened.memory, outbox, summaries, chat, pipeline),
                Keeper("coordinator", coordinating.export, coordinating.erase),
                Keeper("notices", notices.export, notices.erase),
                Keeper("memories", memories.export, memories.erase),
                Keeper("calendar", calendars.export, calendars.erase),
                Keeper("model attempts", archive.export, archive.erase),
                *((Keeper("calls", fleet.export, fleet.erase),) if fleet else ()),
            ),
            frontend=FRONTEND,
            notices=teller.waiting,
            coordinating=coordinating,
            tools=lambda client: {"tools": registry.described(client), "servers": others.states() if others else {}},
            doors=doors,
            metrics=metrics,
            reasoner=thinkers.desk.reasoner,
        )
        load_clips()
        app = build_app(services)
        gc.collect()
        gc.freeze()  # what start-up made lives as long as we do: keep the collector from looking at it in a call
        lines = (*_lines(settings, line, thinkers, opened), f"Background {background.line}")
        yield House(app, directory, settings.drain_s, lines)


@asynccontextmanager
async def _watched_load(settings: Settings) -> AsyncIterator[Load]:
    """How busy this process is, from now on."""
    load = Load(max_lag_ms=settings.admission_max_lag_ms, max_cpu_percent=settings.admission_max_cpu_percent)
    async with _running(watch_load(load), "load watch"):
        yield load


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """A task that runs until the block ends."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _fleet(
    settings: Settings,
    opened: OpenedMemory,
    directory: Directory,
    accept_offer: AcceptOffer,
    load: Load,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> Fleet | None:
    """The other processes this one serves with, if it does. Ended after its calls, so that all learn of their end."""
    if not settings.share_sessions:
        return None
    link = Link(opened.redis, opened.waiting)
    fleet = await stack.enter_async_context(
        open_fleet(
            link,
            directory,
            accept_offer,
            lambda: (load.fullness, not (load.is_full or directory.closing)),
            figures=lambda: generate_latest(metrics.registry).decode(),
            group=f"{socket.gethostname()}:{os.getppid()}" if settings.workers > 1 else None,
        )
    )
    metrics.watch_queue("fleet_events", lambda: fleet.depth)
    if isinstance(opened.memory, RedisMemory):
        await stack.enter_async_context(_running(follow_changes(opened.waiting, opened.memory), "changes of users"))
    return fleet


class ResponderLine:
    """Dials the Realtime API, and remembers whether that worked the last time it was tried."""

    def __init__(self, settings: Settings) -> None:
        voice = Voice(settings.realtime_model, settings.realtime_voice, settings.transcript_model)
        self._line = RealtimeLine(settings.realtime_url, key_of(settings), voice)
        self.trouble = ""
        """Why the last attempt failed; empty when it did not, or none was made."""

    def __repr__(self) -> str:
        return f"ResponderLine({self._line!r}, {self.trouble or 'ok'})"

    async def dial(self, briefing: Briefing, history: Sequence[Remembered]) -> Responder:
        """See `responder.base.Dial`."""
        try:
            responder = await dial(self._line, briefing, history)
        except ResponderUnavailable as error:
            self.trouble = f"{error} {error.hint}".strip()
            raise
        self.trouble = ""
        return responder


def _line(
    settings: Settings,
    child: OfflineChild | None,
    responder: ResponderLine,
    thinkers: Thinkers,
    memory: Memory,
    outbox: Outbox,
    summaries: Summaries,
    metrics: Metrics,
    tracer: Tracer,
    handover: Handover,
) -> Line:
    """What every call shares."""
    if settings.vad.enabled:
        choose_engine(settings.vad.engine)  # the first caller should not wait for a model
    endpointing: Literal["local", "provider"] = "local" if settings.vad.enabled else "provider"
    modes = thinkers.desk.modes
    return Line(
        dial=responder.dial,
        brief=lambda known: brief(
            thinkers, known, mode=modes.chosen(known), endpointing=endpointing, greeting=settings.greeting
        ),
        mode=modes.chosen,
        known=partial(_context, memory),
        earlier=partial(_earlier, memory),
        thinkers=thinkers,
        keep=outbox.put,
        learning=Learning(memory.watch_user, summaries),
        open_hearing=partial(open_hearing, settings.vad),
        limits=TurnLimits(
            interruption_min_ms=settings.interruption_min_ms,
            idle_nudge_s=settings.idle_nudge_s,
            idle_disconnect_s=settings.idle_disconnect_s,
            filler_after_s=settings.filler_after_s,
            endpointing=endpointing,
            greeting=bool(settings.greeting),
        ),
        max_s=settings.session_max_minutes * 60,
        about={
            "responder": OFFLINE_NAME if settings.offline else "OpenAI Realtime API",
            "model": OFFLINE_NAME if settings.offline else settings.realtime_model,
            "offline": settings.offline,
        },
        metrics=metrics,
        tracer=tracer,
        handover=handover,
    )


def _tracer(settings: Settings, metrics: Metrics) -> Tracer:
    key = settings.langsmith_api_key
    if not settings.langsmith_tracing_enabled or key is None:
        return NO_TRACER
    tracer = LangSmithTracer(
        endpoint=settings.langsmith_endpoint,
        api_key=key.get_secret_value(),
        project=settings.langsmith_project,
        content=settings.trace_content,
    )
    metrics.watch_queue("traces", lambda: tracer.depth)
    metrics.watch_trace_losses(lambda: tracer.lost)
    tracer.begin()
    return tracer


def _memory_keeper(memory: Memory, outbox: Outbox, summaries: Summaries, chat: Chat, pipeline: Pipeline) -> Keeper:
    async def erase(user_id: str) -> None:
        """After all that is on its way to memory: else it would be written there again."""
        await chat.settle(user_id)
        await pipeline.forget(user_id)
        await summaries.forget(user_id)
        await outbox.settle(ERASE_WITHIN_S)
        await memory.forget_user(user_id)

    return Keeper("memory", memory.everything_of, erase)


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


def _embedder(settings: Settings, http: httpx2.AsyncClient) -> Embedder:
    url, key = (settings.embedding_base_url or settings.openai_base_url).rstrip("/"), settings.openai_api_key
    return EmbeddingsAPI(http, url, key.get_secret_value() if key else "offline", settings.embedding_model)


async def _earlier(memory: Memory, user_id: str, conversation_id: str) -> list[Message] | None:
    try:
        async with asyncio.timeout(KNOWN_WITHIN_S):
            return await memory.recent_messages(user_id, conversation_id, HISTORY_LIMIT)
    except (MemoryUnavailable, TimeoutError):
        return None


def _offers(settings: Settings) -> AcceptOffer:
    wire = WireConfig(
        ice_servers=tuple(
            IceServer((s.urls,) if isinstance(s.urls, str) else tuple(s.urls), s.username, s.credential)
            for s in settings.ice_servers
        ),
        force_host=settings.rtc_force_host,
        port_range=settings.rtc_port_range,
    )
    return partial(accept_offer, wire=wire)


def _attach_socket(socket: WebSocket) -> Transport:
    return WebSocketTransport(socket)


def _page_config(settings: Settings, line: Line, thinkers: Thinkers, opened: OpenedMemory) -> dict[str, Any]:
    """What `GET /api/config` tells the page. No secret but what browsers need for TURN."""
    return {
        "responder": {
            "name": line.about["responder"],
            "model": line.about["model"],
            "offline": line.about["offline"],
        },
        "memory": {"label": opened.label.partition(" (")[0]},  # without the path of its file
        "ice_servers": [server.model_dump(exclude_none=True) for server in settings.ice_servers],
        "thinkers": [
            {"domain": m.domain, "label": m.label, "description": m.description, "example": m.example}
            for m in thinkers.manifests
        ],
        "limits": {"session_max_minutes": settings.session_max_minutes},
    }


async def _readiness(
    memory: Memory, child: OfflineChild | None, responder: ResponderLine, directory: Directory
) -> dict[str, str]:
    checks = {"memory": "ok" if await memory.ping() else "Redis does not answer; calls go on without memory"}
    if child is not None and not child.running:
        checks["responder"] = "the offline demonstration is not running"
    else:
        checks["responder"] = responder.trouble or "ok"
    if directory.closing:
        checks["calls"] = "no new ones: the server is about to end"
    return checks


def _lines(settings: Settings, line: Line, thinkers: Thinkers, opened: OpenedMemory) -> tuple[str, ...]:
    """The start-up lines."""
    if line.about["offline"]:
        responder = "offline demonstration: simple speech recognition and voice; set OPENAI_API_KEY for the real one"
    else:
        responder = f"{settings.realtime_model} at {settings.openai_base_url}"
    lines = [
        f"Responder  {responder}",
        f"Memory     {opened.label}",
        f"Thinkers   {', '.join(manifest.domain for manifest in thinkers.manifests)}",
        f"Hearing    {choose_engine(settings.vad.engine) if settings.vad.enabled else 'the provider’s semantic_vad'}",
    ]
    if settings.langsmith_tracing_enabled:
        words = "with what is said" if settings.trace_content else "without what is said"
        lines.append(f"Tracing    LangSmith project {settings.langsmith_project}, {words}")
    if told := described(settings.mcp):
        lines.append(f"MCP        {told}")
    if opened.detail:
        lines.append(f"           {opened.detail}")
    if settings.rtc_force_host is None and Path("/.dockerenv").exists():
        lines.append("Network    in a container, set RTC_FORCE_HOST to the address callers reach")
    return tuple(lines)
