"""This module opens typed turns and the HTTP routes over every subsystem, and lists all stores of user data."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from backend.access.access import Access
from backend.access.keys import ApiKeys
from backend.access.store import AccessStore
from backend.app.calls import CallSubsystem
from backend.app.foundation import Foundation
from backend.app.mcp import served_tools
from backend.app.notifications import webhook_of
from backend.app.tasks import TaskSubsystem
from backend.chat.chat import Chat
from backend.chat.profile_updater import ChatProfileUpdater
from backend.chat.turn_runner import ChatDependencies
from backend.http.app import build_app
from backend.http.ice_servers import listed
from backend.http.services import (
    DataServices,
    NewsServices,
    PageConfig,
    PeopleServices,
    ResponderChoice,
    Services,
    StateServices,
    UserDataStore,
    WorkServices,
)
from backend.notifications.deletions import DeletionNotifier, DeletionTarget, at_webhook
from backend.responders.failover import Provider
from backend.runtime.page_folder import page_folder
from backend.runtime.supervisor import supervising

ERASE_WITHIN_S = 3.0
"""Seconds to wait for a user's pending writes before their data is erased."""


@asynccontextmanager
async def open_http(
    foundation: Foundation, tasks: TaskSubsystem, calls: CallSubsystem, access: Access
) -> AsyncIterator[FastAPI]:
    """Open the HTTP application over all subsystems. Its MCP endpoints serve until the block ends."""
    settings, stores, thinkers = foundation.settings, foundation.stores, foundation.thinkers
    toolbox, others = thinkers.registry.dependencies.toolbox, thinkers.others
    access_store = AccessStore(stores.opened.redis)
    async with (
        open_chat(foundation, tasks) as chat,
        open_deletions(foundation) as deletions,
        served_tools(toolbox, keyed="key" in access.modes) as endpoints,
    ):
        opened = {kind: one for each in foundation.extensions.values() for kind, one in each.services.items()}
        services = Services(
            settings,
            calls.services,
            PeopleServices(access_store, foundation.budgets, access),
            DataServices(
                stores.memory, stores.ledger, user_data_stores(foundation, tasks, calls, chat), deletions.delete
            ),
            WorkServices(
                chat,
                foundation.models.embedder,
                thinkers.registry.dependencies.reasoner,
                tasks.service,
                foundation.models.model_calls,
                tasks.coordinator,
                toolbox,
                stores.confirmations,
            ),
            NewsServices(foundation.notifications.dispatcher, foundation.notifications.reminders, calls.pages),
            StateServices(
                lambda: _readiness(foundation, calls),
                foundation.metrics,
                calls.providers.states,
                others.states if others else dict,
                lambda: foundation.endpoints.loading,
            ),
            page_config=lambda: _page_config(foundation, calls),
            frontend=page_folder(),
            endpoints=endpoints,
            opened=opened,
        )
        if "key" in access.modes and (naming := ApiKeys.of(settings.access).naming):
            await access_store.bequeath(naming)
        yield build_app(services, foundation.installed.joined)


@asynccontextmanager
async def open_deletions(foundation: Foundation) -> AsyncIterator[DeletionNotifier]:
    """Open the notifier of places that hold user data: each webhook once, and the places of extensions."""
    settings, targets, addresses = foundation.settings, dict[str, DeletionTarget](), set[str]()
    async with AsyncExitStack() as stack:
        for part, name in (
            (settings.agent.pipeline, "PIPELINE__WEBHOOK"),
            (settings.notifications, "NOTIFICATIONS__WEBHOOK"),
        ):
            webhook = None if part.webhook_url in addresses else webhook_of(part, name)
            if webhook is not None:
                addresses.add(part.webhook_url)
                stack.push_async_callback(webhook.close)
                targets[name] = at_webhook(webhook)
        for each in foundation.extensions.values():
            targets.update(each.deletions)
        notifier = DeletionNotifier(foundation.stores.opened.redis, targets)
        stack.push_async_callback(notifier.close)
        async with supervising("deletions elsewhere", notifier.run):
            yield notifier


@asynccontextmanager
async def open_chat(foundation: Foundation, tasks: TaskSubsystem) -> AsyncIterator[Chat]:
    """Open the chat. Turns that still run at the end of the block are cancelled."""
    stores, thinkers = foundation.stores, foundation.thinkers
    chat = Chat(
        ChatDependencies(
            thinkers.dispatcher.with_handoff(tasks.handoff),
            thinkers.pipeline,
            stores.memory,
            stores.turns,
            foundation.settings.limits.chat_deadline_s,
            ChatProfileUpdater(stores.outbox.enqueue, thinkers.summaries, tasks.coordinator.ingest),
            foundation.tracer,
            stores.confirmations,
            stores.ledger,
        )
    )
    foundation.metrics.watch_queue("typed_turns", lambda: chat.running)
    try:
        yield chat
    finally:
        await chat.close()


def user_data_stores(
    foundation: Foundation, tasks: TaskSubsystem, calls: CallSubsystem, chat: Chat
) -> dict[str, UserDataStore]:
    """Return every store of user data in the order of erasure: running tasks before the stores they write to.

    A new store of user data is added here, so that it is exported and erased.
    """
    stores, notifications, models = foundation.stores, foundation.notifications, foundation.models
    return {
        "tasks": tasks.service,
        "memory": _MemoryData(foundation, chat),
        "ledger": stores.ledger,
        "coordinator": tasks.coordinator,
        "reminders": notifications.reminders,
        "notices": notifications.notices,
        "memories": stores.memories,
        "confirmations": stores.confirmations,
        "billing": foundation.budgets.billing,
        "model attempts": models.model_calls,
        **{name: store for each in foundation.extensions.values() for name, store in each.user_data.items()},
    }


@dataclass(frozen=True, slots=True)
class _MemoryData:
    """Memory as a store of user data. It is erased after all pending writes, which would restore what was erased."""

    foundation: Foundation
    chat: Chat

    async def export(self, user_id: str, /) -> object:
        return await self.foundation.stores.memory.export_user(user_id)

    async def erase(self, user_id: str, /) -> None:
        stores, thinkers = self.foundation.stores, self.foundation.thinkers
        await self.chat.settle(user_id)
        await thinkers.pipeline.forget(user_id)
        await thinkers.summaries.forget(user_id)
        await thinkers.texts.forget(user_id)
        await stores.outbox.settle(ERASE_WITHIN_S)
        await stores.memory.forget_user(user_id)


def _page_config(foundation: Foundation, calls: CallSubsystem) -> PageConfig:
    settings, about = foundation.settings, calls.providers.first.about
    return PageConfig(
        responder={
            "name": about.responder,
            "model": about.model,
            "offline": about.offline,
            "pictures": calls.providers.first.capabilities.images,
        },
        memory={"label": foundation.stores.opened.label.partition(" (")[0]},
        ice_servers=listed(calls.services.ice_servers.open_to_all),
        turn=calls.services.ice_servers.gives_credentials,
        thinkers=[
            {"domain": m.domain, "label": m.label, "description": m.description, "example": m.example}
            for m in foundation.thinkers.registry.manifests
        ],
        limits={"session_max_minutes": settings.limits.session_max_minutes},
        fingerprint=settings.access.identify_by_fingerprint,
        responders=[_choice(each) for each in calls.providers.all],
        endpointing=settings.turns.endpointing if calls.finds_turns else None,
        interruptions=settings.turns.interruptions,
        extensions={name: each.page for name, each in foundation.extensions.items() if each.page is not None},
    )


def _choice(provider: Provider) -> ResponderChoice:
    about, can = provider.about, provider.capabilities
    return ResponderChoice(
        provider.name, about.responder, about.model, can.voices, provider.voice, can.speeds, can.languages
    )


async def _readiness(foundation: Foundation, calls: CallSubsystem) -> dict[str, str]:
    answers, responder = await asyncio.gather(foundation.stores.memory.ping(), calls.providers.readiness())
    checks = {"memory": "ok" if answers else "Redis does not answer; calls go on without memory"}
    checks["responder"] = responder
    if calls.services.registry.closing:
        checks["calls"] = "no new ones: the server is about to end"
    return checks
