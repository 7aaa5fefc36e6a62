"""This module opens the calls of a process: their services, their registry, and the way to other processes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from aiortc import RTCIceServer

from backend.access.budgets import Budgets
from backend.access.concurrency import PermitKind
from backend.access.metered import CallMeter
from backend.app.foundation import Foundation
from backend.app.stores import Stores
from backend.app.tasks import TaskSubsystem
from backend.call.dependencies import CallDependencies, CallerKnowledge
from backend.call.prompts import CallerBackground, brief
from backend.call.utterance_tap import Reader
from backend.call.voice_call import open_call
from backend.errors import SettingsError, SetupError
from backend.http.page_streams import PageStreams
from backend.http.services import CallServices
from backend.media.endpointing import open_endpointing
from backend.media.frame import SAMPLE_RATE
from backend.media.vad_silero import load_silero
from backend.observability.logs import log_ids
from backend.responders.base import Endpointer
from backend.responders.failover import Providers
from backend.runtime.supervisor import supervising
from backend.sessions.event_log import PageMessage
from backend.sessions.handles import CallsHere, SessionLocator
from backend.sessions.load import Load, watch
from backend.sessions.registry import SessionRegistry
from backend.sessions.session import Session
from backend.settings.settings import Settings
from backend.settings.turns import TurnSettings
from backend.storage.ledger.recall import recall
from backend.storage.memory import HISTORY_LIMIT, Memory, briefly, following_changes
from backend.storage.messages import Message
from backend.storage.pubsub import UserMessage
from backend.tasks.service import TaskQueries
from backend.transports.base import Transport
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.ice_servers import IceServers
from backend.transports.webrtc.transport import accept_offer
from backend.transports.websocket import WebSocketTransport
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.users.profile import UserProfile, load_profile, watch_profile
from backend.users.profile_learner import LearnerDependencies

log = logging.getLogger(__name__)

LISTENING_WITHIN_S = 1.0
"""Seconds a starting server waits for its pub/sub channels to open."""
MEMORY_WITHIN_S = 0.5
"""Seconds memory may take to load what is known about a caller; after that the caller is served as a stranger."""


@dataclass(frozen=True, slots=True)
class CallSubsystem:
    """The calls of a process."""

    services: CallServices
    """The part of the calls that routes use."""
    providers: Providers
    pages: PageStreams
    """The event streams of open pages outside of calls."""
    finds_turns: bool
    """Whether this server detects the turns; otherwise the provider does."""


@asynccontextmanager
async def open_calls(foundation: Foundation, tasks: TaskSubsystem) -> AsyncIterator[CallSubsystem]:
    """Open the calls. At the end of the block, calls are ended first; then the other processes learn of it."""
    settings, limits, metrics = foundation.settings, foundation.settings.limits, foundation.metrics
    async with AsyncExitStack() as stack:
        providers = foundation.endpoints.providers
        detects = settings.vad.enabled and providers.endpointers != {"provider"}
        if not detects:
            _require_turns_found(providers)
        load_silero(SAMPLE_RATE)  # Load it now: the first caller should not wait for a model.
        reader = foundation.reader if detects else None
        meter = CallMeter(foundation.budgets)
        _warn_of_missing_prices(foundation.budgets, providers)
        await stack.enter_async_context(supervising("call meter", meter.run))
        dependencies = _dependencies(foundation, tasks, reader, meter, "local" if detects else "provider")
        load = Load(limits.admission_max_lag_ms)
        await stack.enter_async_context(supervising("load watch", partial(watch, load)))
        metrics.watch_value("voice_loop_lag_seconds", "Lag of the event loop.", lambda: load.lag_ms / 1000)
        registry = SessionRegistry(
            partial(_run_call, foundation.budgets, meter, dependencies),
            cap=limits.session_cap,
            responder=providers.first.about.responder,
            interruptions=settings.turns.interruptions,
            on_lapse=partial(metrics.session_ended, "never_connected"),
            on_ended=partial(foundation.budgets.concurrency.free, PermitKind.CALLS),
            admit=load.admit,
        )
        foundation.budgets.concurrency.machine_calls = foundation.endpoints.most_calls
        ice_servers = _ice_servers(settings)
        ice_config = partial(_ice_config, settings, ice_servers)
        ice_config()  # A fault in it is reported at the start.

        async def offers(sdp: str) -> tuple[str, Transport]:
            return await accept_offer(sdp, ice_config())

        here = CallsHere(
            registry, offers, lambda: (load.fullness, not (load.is_full or registry.closing)), foundation.metrics
        )
        locator = await _locator(foundation, here, stack)
        stack.push_async_callback(registry.close)
        pages = PageStreams()
        metrics.watch_queue("open_pages", lambda: pages.count)
        await _listen(foundation, registry, pages, stack)
        records = foundation.open_recorder is not None
        services = CallServices(registry, locator, offers, ice_config, ice_servers, WebSocketTransport, records=records)
        yield CallSubsystem(services, providers, pages, detects)


def _require_turns_found(providers: Providers) -> None:
    """Raise `SetupError` if nothing would detect the turns of a provider's calls."""
    if deaf := providers.without("provider"):
        raise SetupError(
            f"With VAD__ENABLED=false nothing detects the turns of calls with {', '.join(deaf)}.",
            hint="Leave VAD__ENABLED at true: these providers need the server to detect turns.",
        )


def _warn_of_missing_prices(budgets: Budgets, providers: Providers) -> None:
    """Log the models without a price, which a limit in dollars cannot count."""
    scopes = budgets.settings
    limits = (scopes.user.usd, scopes.address.usd, scopes.key.usd, scopes.total.usd)
    for each in providers.all:
        about = each.about
        # Only a limit in dollars needs a price, and the local Responder costs nothing.
        if any(limits) and not about.offline and about.model not in budgets.prices:
            log.warning("limits in US dollars do not count %s: set its price in BUDGETS__PRICES", about.model)


async def _run_call(
    budgets: Budgets, meter: CallMeter, dependencies: CallDependencies, session: Session, transport: Transport
) -> str:
    """Run a call at its owner's expense. A call over budget ends with a sentence that says so."""

    def hang_up() -> None:
        if session.call is not None:
            session.call.hang_up("budget")

    with log_ids(session=session.id):
        async with (
            budgets.billing.billing_to(session.owner) as billed,
            meter.metering(session.id, billed, hang_up),
            budgets.concurrency.hold(PermitKind.CALLS, billed, session.id),
        ):
            return await open_call(dependencies, session, transport).run()


def _dependencies(
    foundation: Foundation,
    tasks: TaskSubsystem,
    reader: Reader | None,
    meter: CallMeter,
    endpointing: Endpointer,
) -> CallDependencies:
    settings, stores, thinkers = foundation.settings, foundation.stores, foundation.thinkers
    modes = thinkers.registry.dependencies.modes
    providers = foundation.endpoints.providers
    limits = _limits(settings.turns, endpointing, reads=reader is not None, others=len(providers.all) - 1)
    return CallDependencies(
        providers=providers,
        knowledge=CallerKnowledge(
            brief=lambda caller, options: brief(
                thinkers.registry,
                caller,
                options=options,
                mode=modes.chosen(caller.profile),
                endpointing=endpointing,
                greeting=settings.turns.greeting,
                wake_name=settings.turns.wake_name,
            ),
            mode=modes.chosen,
            background=partial(_background, stores.memory, foundation.task_store.queries),
            earlier=partial(_earlier, stores),
        ),
        ledger=stores.ledger,
        open_recorder=foundation.open_recorder,
        thinkers=thinkers.dispatcher.with_handoff(tasks.handoff),
        enqueue=stores.outbox.enqueue,
        learning=LearnerDependencies(
            partial(watch_profile, stores.memory), thinkers.summaries, tasks.coordinator.ingest
        ),
        open_endpointing=partial(open_endpointing, settings.vad, foundation.vad_engine),
        open_echo_guard=foundation.open_echo_guard,
        limits=limits,
        max_s=settings.limits.session_max_minutes * 60,
        metrics=foundation.metrics,
        tracer=foundation.tracer,
        spent=meter.spent,
        reader=reader,
        subscribe=foundation.notifications.dispatcher.subscribe,
        transfers=settings.telephone.targets,
        take_answer=stores.confirmations.take_answer,
    )


def _limits(settings: TurnSettings, endpointing: Endpointer, *, reads: bool, others: int) -> TurnLimits:
    return TurnLimits(
        style=EndpointingStyle(settings.endpointing),
        reader=reads,
        interruption_min_ms=settings.interruption_min_ms,
        interruptible=settings.interruptions,
        idle_nudge_s=settings.idle_nudge_s,
        idle_disconnect_s=settings.idle_disconnect_s,
        filler_after_s=settings.filler_after_s,
        late_answer_max_s=settings.late_answer_max_s,
        endpointing=endpointing,
        greeting=bool(settings.greeting),
        other_providers=others,
    )


async def _background(memory: Memory, task_queries: TaskQueries, user_id: str) -> CallerBackground:
    """Return what memory knows about the user, and the user's background tasks."""
    profile = briefly(load_profile(memory, user_id), UserProfile(), within_s=MEMORY_WITHIN_S)
    return CallerBackground(*await asyncio.gather(profile, task_queries.for_prompt(user_id)))


async def _earlier(stores: Stores, user_id: str, conversation_id: str) -> list[Message] | None:
    asked = recall(stores.memory, stores.ledger, user_id, conversation_id, HISTORY_LIMIT)
    return await briefly(asked, None, within_s=MEMORY_WITHIN_S)


async def _listen(foundation: Foundation, registry: SessionRegistry, pages: PageStreams, stack: AsyncExitStack) -> None:
    """Deliver messages of other processes to the calls and pages of this one."""

    def show(message: UserMessage | None) -> None:
        if message and message.type:
            event = PageMessage(message.type, message.data)
            registry.show(message.user, event)
            pages.show(message.user, event)

    pubsub = foundation.stores.pubsub
    await stack.enter_async_context(following_changes(pubsub, foundation.stores.memory))
    pubsub.on_user_message(show)
    pubsub.start()
    stack.push_async_callback(pubsub.close)
    await pubsub.wait_until_open(LISTENING_WITHIN_S)


async def _locator(foundation: Foundation, here: CallsHere, stack: AsyncExitStack) -> SessionLocator:
    """Open the locator, which is closed after its calls, so that all processes learn of their end."""
    for each in foundation.extensions.values():
        if each.locate:
            return await stack.enter_async_context(each.locate(here))
    if foundation.settings.server.share_sessions:
        raise SettingsError(
            "SHARE_SESSIONS is set, but no extension finds the sessions of other processes.",
            hint="Leave SHARE_SESSIONS and WORKERS out, or install the extension that does.",
        )
    return SessionLocator(here.registry)


def _ice_servers(settings: Settings) -> IceServers:
    servers = IceServers(
        [RTCIceServer(s.urls, s.username, s.credential) for s in settings.rtc.ice_servers],
        turn_secret=settings.rtc.turn_secret.get_secret_value(),
        ttl_s=settings.rtc.turn_ttl_minutes * 60,
    )
    if servers.withheld:
        log.warning(
            "ICE_SERVERS: callers get no password for %s; leave the password out and set TURN_SECRET to admit them",
            ", ".join(servers.withheld),
        )
    return servers


def _ice_config(settings: Settings, servers: IceServers) -> IceConfig:
    return IceConfig(
        ice_servers=servers.for_us(),
        force_host=settings.rtc.rtc_force_host,
        port_range=settings.rtc.rtc_port_range,
    )
