"""The call side: the sessions of this process, and of those it is one server with."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import generate_latest

from backend.app.call_dependencies import line_of
from backend.app.metrics import watched_load
from backend.app.responder_endpoint import ResponderLine
from backend.app.stores import Kept
from backend.app.tasks import Work
from backend.app.thinkers import Thinking
from backend.call.engine import Line, run_call
from backend.http.page_streams import Pages
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.sessions.cluster.cluster import Fleet, Link, open_fleet
from backend.sessions.load import Load
from backend.sessions.offers import AcceptOffer
from backend.sessions.registry import QUEUES, Directory
from backend.settings.settings import Settings
from backend.storage.redis_memory import RedisMemory
from backend.transports.webrtc.ice import IceServer, WireConfig
from backend.transports.webrtc.transport import accept_offer
from backend.users.changes import following_changes

LISTENING_WITHIN_S = 1.0
"""Seconds a server that starts waits until it hears the other processes."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Where calls begin and live."""

    directory: Directory
    responder: ResponderLine
    line: Line
    accept_offer: AcceptOffer
    pages: Pages
    """What is told outside of calls."""
    fleet: Fleet | None
    """The other processes; None: this one serves alone."""


@asynccontextmanager
async def open_calls(
    settings: Settings, kept: Kept, thinking: Thinking, work: Work, metrics: Metrics, tracer: Tracer
) -> AsyncIterator[Calls]:
    """All of it. At the end calls are ended first, then the other processes are told."""
    async with AsyncExitStack() as stack:
        responder = ResponderLine(settings)
        line = line_of(settings, kept, thinking, work, responder, metrics, tracer)
        load = await stack.enter_async_context(watched_load(settings))
        directory = _directory(settings, line, load, metrics)
        offers = partial(accept_offer, wire=_wire(settings))
        fleet = await _fleet(settings, kept, directory, offers, load, metrics, stack)
        stack.push_async_callback(directory.close)
        pages = Pages(kept.presence)
        metrics.watch_queue("open_pages", lambda: pages.open)
        await _listen(kept, work, directory, pages, stack)
        yield Calls(directory, responder, line, offers, pages, fleet)


def _directory(settings: Settings, line: Line, load: Load, metrics: Metrics) -> Directory:
    directory = Directory(
        partial(run_call, line),
        cap=settings.session_cap,
        responder=str(line.about["responder"]),
        on_lapse=partial(metrics.session_ended, "never_connected"),
        admit=load.admit,
    )
    for queue in QUEUES:
        metrics.watch_queue(queue, partial(directory.depth, queue))
    return directory


async def _listen(kept: Kept, work: Work, directory: Directory, pages: Pages, stack: AsyncExitStack) -> None:
    """Hear what other processes have to say to the calls and pages here."""

    def here(owner: str) -> bool:
        return directory.is_here(owner) or pages.is_here(owner)

    def publish(owner: str, type_: str, data: dict[str, Any]) -> None:
        directory.publish(owner, type_, data)
        pages.publish(owner, type_, data)

    relay, memory = kept.relay, kept.memory
    if isinstance(memory, RedisMemory):
        await stack.enter_async_context(following_changes(relay, memory))
    await stack.enter_async_context(work.background.crying(relay, here, publish))
    relay.on_page(publish)
    relay.begin()
    stack.push_async_callback(relay.close)
    await relay.opened(LISTENING_WITHIN_S)


async def _fleet(
    settings: Settings,
    kept: Kept,
    directory: Directory,
    offers: AcceptOffer,
    load: Load,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> Fleet | None:
    """The other processes this one serves with, if it does. Ended after its calls, so that all learn of their end."""
    if not settings.share_sessions:
        return None
    opened = kept.opened
    fleet = await stack.enter_async_context(
        open_fleet(
            Link(opened.redis, opened.waiting),
            directory,
            offers,
            lambda: (load.fullness, not (load.is_full or directory.closing)),
            figures=lambda: generate_latest(metrics.registry).decode(),
            group=f"{socket.gethostname()}:{os.getppid()}" if settings.workers > 1 else None,
        )
    )
    metrics.watch_queue("fleet_events", lambda: fleet.depth)
    return fleet


def _wire(settings: Settings) -> WireConfig:
    return WireConfig(
        ice_servers=tuple(
            IceServer((s.urls,) if isinstance(s.urls, str) else tuple(s.urls), s.username, s.credential)
            for s in settings.ice_servers
        ),
        force_host=settings.rtc_force_host,
        port_range=settings.rtc_port_range,
        pauses=settings.rtc_dtx,
    )
