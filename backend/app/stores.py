"""This module opens the stores of a process: Redis, and everything in it that several subsystems use."""

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.chat.turn_claims import TurnClaims
from backend.coordinator.store import Channels
from backend.notifications.dispatcher import NotificationDispatcher
from backend.page_events import PageEvent
from backend.sessions.event_log import page_message, shown_by
from backend.settings.settings import Settings
from backend.settings.tasks import BackgroundSettings
from backend.storage.client import Pipe
from backend.storage.embedded import OpenedMemory
from backend.storage.ledger.ledger import Ledger, open_ledger
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.storage.pubsub import PubSub
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskQueries, TaskService
from backend.tools.confirmations import Confirmations
from backend.users.memories import Memories

DRAIN_WITHIN_S = 2.0
"""Seconds an ending process spends on pending writes."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores that every subsystem may use."""

    opened: OpenedMemory
    """The Redis connection, with its description for the operator."""
    memory: Memory
    outbox: Outbox
    """The queue through which calls and typed turns write to memory."""
    memories: Memories
    turns: TurnClaims
    """The claims that say which process runs which typed turn."""
    pubsub: PubSub
    """The pub/sub connection to other processes."""
    confirmations: Confirmations
    """The questions that users are asked to agree to."""
    ledger: Ledger
    """Keeps conversations longer than memory does."""


@asynccontextmanager
async def open_stores(opened: OpenedMemory, settings: Settings, *, serves: bool) -> AsyncIterator[Stores]:
    """Take over `opened`, and close it after the block once writes are done. A process that `serves` keeps a ledger."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.memory.close)
        outbox = Outbox(opened.memory)
        stack.push_async_callback(outbox.drain, DRAIN_WITHIN_S)
        memories = Memories(opened.redis, ttl_s=settings.memory.retention_s)
        pubsub = PubSub(opened.redis, opened.waiting)
        turns = TurnClaims(opened.redis, secrets.token_hex(8), pubsub)
        confirmations = Confirmations(opened.redis, shown_by(pubsub.publish_page_event))
        ledger = await stack.enter_async_context(
            open_ledger(
                settings.memory.database_url.get_secret_value(),
                settings.memory.data_dir,
                keep_s=settings.memory.ledger_retention_s,
                writes=serves,
            )
        )
        yield Stores(opened, opened.memory, outbox, memories, turns, pubsub, confirmations, ledger)


@dataclass(frozen=True, slots=True)
class TaskStore:
    """The records of background tasks, which are also their queue."""

    repository: TaskRepository
    queries: TaskQueries
    """A user's tasks, for conversations."""
    is_shared: bool
    """Whether other processes reach the queue; if not, tasks end with this process."""


def open_task_store(
    settings: BackgroundSettings, opened: OpenedMemory, notices: NotificationDispatcher, pubsub: PubSub
) -> TaskStore:
    """Return the records. Results of tasks go into their owners' channels."""

    def show(pipe: Pipe, owner: str, event: PageEvent) -> None:
        pubsub.add_page_event(pipe, owner, *page_message(event))

    add_result = Channels(opened.redis).add_result
    repository = TaskRepository(opened.redis, add_result, show, keep_s=settings.keep_s, lease_s=settings.lease_s)
    return TaskStore(repository, TaskQueries(TaskService(repository, kinds=()), notices), opened.url is not None)
