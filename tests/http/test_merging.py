"""Merges over a real Redis: repeated, two at once, stopped in the middle, and into a user who has no room."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.asyncio import Redis

from backend.access.merges import LATE_WRITES_S, VISITORS_LIMIT, Merges
from backend.access.store import AccessStore
from backend.coordinator.store import INPUTS_LIMIT, Channels, CoordinatorState, Feedback, HistoryEntry, Plan
from backend.errors import MemoryUnavailable
from backend.http.merging import merge_visitors
from backend.notifications.notices import NOTICES_LIMIT, Notice, NoticeRepository
from backend.notifications.reminders import Reminder
from backend.notifications.repository import ReminderRepository
from backend.storage.client import connect
from backend.storage.memory import HISTORY_LIMIT, Memory
from backend.storage.messages import Message
from backend.storage.move import MemoryMove
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import OPEN_LIMIT, TaskState
from backend.users import memories, notes
from backend.users.memories import Memories
from backend.users.notes import Notes
from backend.users.profile_updates import merged_profile
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.tasks import FakeQueue, add_to_stream

VISITOR, ADA, BEN = "visitor-1", "oidc.ada", "oidc.ben"


@pytest.fixture
def server() -> Iterator[RedisProcess]:
    with running_redis() as running:
        yield running


@pytest.fixture
async def redis(server: RedisProcess) -> AsyncIterator[Redis]:
    client = connect(server.url)
    yield client
    await client.aclose()


@dataclass
class Moved:
    """A store of user data that does as the test says when it is moved."""

    move: Callable[[str, str], Awaitable[None]]


@dataclass
class Stores:
    """Stores over one Redis, and sign-ins into them. `now` is moved by hand."""

    redis: Redis
    now: list[float] = field(default_factory=lambda: [1_000.0])

    def __post_init__(self) -> None:
        self.tasks = TaskService(TaskRepository(self.redis, add_to_stream), FakeQueue(), kinds={"research"})
        self.memories, self.notes = Memories(self.redis), Notes(self.redis)
        self.notices, self.reminders = NoticeRepository(self.redis), ReminderRepository(self.redis, per_user=3)
        self.memory = Memory(self.redis)
        moving = MemoryMove(self.redis)
        self.user_data: dict[str, Any] = {
            "tasks": self.tasks,
            "memory": Moved(lambda user, to: moving.move(user, to, merged_profile)),
            "memories": self.memories,
            "notices": self.notices,
            "reminders": self.reminders,
            "notes": self.notes,
        }

    async def sign_in(self, user: str, visitor: str = "") -> None:
        """What a sign-in does with the visitor's data, in a process of its own."""

        async def nobody(owner: str) -> list[Any]:
            return []

        services = SimpleNamespace(
            people=SimpleNamespace(
                merges=Merges(self.redis, clock=lambda: self.now[0]), access_store=AccessStore(self.redis)
            ),
            calls=SimpleNamespace(sessions=SimpleNamespace(owned_by=nobody)),
            data=SimpleNamespace(user_data=self.user_data),
        )
        here: Any = SimpleNamespace(services=services)
        await merge_visitors(here, user, visitor)

    async def texts(self, user: str) -> list[str]:
        return [note.text for note in await self.notes.all(user)]


async def test_a_merge_may_be_repeated(redis: Redis) -> None:
    stores = Stores(redis)
    await stores.notes.add(VISITOR, "buy milk")
    await stores.memory.append_messages(VISITOR, "c1", Message("user", "hello", 1.0), Message("assistant", "hi", 2.0))
    await stores.memory.append_messages(ADA, "c1", Message("user", "later", 3.0))
    for _ in range(2):
        await stores.sign_in(ADA, VISITOR)
        assert await stores.texts(ADA) == ["buy milk"]
        assert [each.content for each in await stores.memory.recent_messages(ADA, "c1")] == ["hello", "hi", "later"]
        assert await stores.texts(VISITOR) == []


async def test_what_is_written_late_comes_with_the_next_sign_in_within_a_day(redis: Redis) -> None:
    stores = Stores(redis)
    await stores.sign_in(ADA, VISITOR)
    await stores.notes.add(VISITOR, "written by the call that ended")
    await stores.sign_in(ADA)
    assert await stores.texts(ADA) == ["written by the call that ended"]
    stores.now[0] += LATE_WRITES_S + 1
    await stores.notes.add(VISITOR, "of nobody")
    await stores.sign_in(ADA)
    assert await stores.texts(VISITOR) == ["of nobody"], "it is not looked for for ever"


async def test_a_merge_that_redis_stopped_in_the_middle_is_completed_at_the_next_sign_in(
    server: RedisProcess, redis: Redis
) -> None:
    stores = Stores(redis)
    await stores.memories.add(VISITOR, "likes tea")
    await stores.notes.add(VISITOR, "buy milk")

    async def freeze(user_id: str, to: str) -> None:
        server.freeze()

    stores.user_data = {"memories": stores.memories, "the end of Redis": Moved(freeze), "notes": stores.notes}
    await stores.sign_in(ADA, VISITOR)
    server.thaw()
    stores = Stores(redis)  # as another process, whose circuit breakers are closed
    assert [each.text for each in await stores.memories.all(ADA)] == ["likes tea"]
    assert (await stores.texts(ADA), await stores.texts(VISITOR)) == ([], ["buy milk"])
    await stores.sign_in(ADA)
    assert await stores.texts(ADA) == ["buy milk"]


async def test_a_sign_in_without_redis_is_refused_rather_than_losing_the_visitor(
    server: RedisProcess, redis: Redis
) -> None:
    stores = Stores(redis)
    server.freeze()
    with pytest.raises(MemoryUnavailable):
        await stores.sign_in(ADA, VISITOR)
    server.thaw()


async def test_two_at_once_move_everything_once(redis: Redis) -> None:
    stores = Stores(redis)
    for number in range(20):
        await stores.notes.add(VISITOR, f"note {number}")
        await stores.memory.append_messages(VISITOR, "c1", Message("user", f"{number}", float(number)))
    await asyncio.gather(*(stores.sign_in(user, VISITOR) for user in (ADA, ADA, BEN)))
    found = [*await stores.texts(ADA), *await stores.texts(BEN)]
    assert sorted(found) == sorted(f"note {number}" for number in range(20))
    said = [await stores.memory.recent_messages(user, "c1", HISTORY_LIMIT) for user in (ADA, BEN)]
    assert sorted(len(each) for each in said) == [0, 20]


async def test_a_full_user_keeps_their_own_and_the_bounds(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "OPEN_LIMIT", 3)
    monkeypatch.setattr(memories, "LIMIT", 3)
    stores = Stores(redis)
    for user, count in ((VISITOR, 3), (ADA, 2)):
        for number in range(count):
            await stores.notes.add(user, f"{user} {number}")
            await stores.memories.add(user, f"{user} {number}")
            await stores.reminders.add(Reminder(f"{user}-{number}", user, "tea", 1.0, 4e9 + number))
        for number in range(NOTICES_LIMIT):
            await stores.notices.add(user, Notice(f"{user}-{number}", "done", at=float(number + (user == ADA) * 1_000)))
    await stores.sign_in(ADA, VISITOR)
    assert sorted(await stores.texts(ADA)) == [f"{ADA} 0", f"{ADA} 1", f"{VISITOR} 2"]
    assert [each.text for each in await stores.memories.all(ADA)] == [f"{ADA} 1", f"{ADA} 0", f"{VISITOR} 2"]
    assert {each.id for each in await stores.reminders.all_of(ADA)} == {f"{ADA}-0", f"{ADA}-1", f"{VISITOR}-0"}
    assert len(await stores.notices.waiting(ADA)) == NOTICES_LIMIT
    for store in (stores.notes, stores.memories):
        assert not await store.read(VISITOR)
    assert not await stores.reminders.all_of(VISITOR) and not await stores.notices.waiting(VISITOR)
    assert await stores.reminders.due(5e9, 9) == ([(ADA, f"{ADA}-0"), (ADA, f"{VISITOR}-0"), (ADA, f"{ADA}-1")], None)


async def test_tasks_are_theirs_and_those_without_room_are_cancelled(redis: Redis) -> None:
    stores = Stores(redis)
    queue: Any = stores.tasks.queue
    running = await stores.tasks.create(VISITOR, "research", "Why is the sky blue?")
    await stores.tasks.repository.begin(running.id)
    waiting = await stores.tasks.create(VISITOR, "research", "Why is grass green?")
    for number in range(OPEN_LIMIT - 1):
        await stores.tasks.create(ADA, "research", f"question {number}")
    queue.waiting.clear()
    await stores.sign_in(ADA, VISITOR)
    (first, second) = [await stores.tasks.get(ADA, task.id) for task in (running, waiting)]
    assert first and second and {first.state, second.state} == {TaskState.QUEUED, TaskState.CANCELED}
    assert first.id in queue.waiting, "it begins anew for the user"
    assert await stores.tasks.get(VISITOR, running.id) is None and await stores.tasks.list(VISITOR) == []
    again = await stores.tasks.create(ADA, "research", "why is the sky blue")
    assert again.id == first.id, "asking again is still one task"


async def test_a_coordinators_channel_and_state_are_theirs(redis: Redis) -> None:
    channels, state = Channels(redis, "one"), CoordinatorState(redis)
    for user, count in ((ADA, 2), (VISITOR, INPUTS_LIMIT)):
        for number in range(count):
            await channels.add_input(user, f"{user} {number}", "api")
        await state.add_history(user, [HistoryEntry(f"{user}-0", 1.0, "input", user)])
        await state.add_feedback(user, f"{user}-0", Feedback("pleased", user))
        await state.finish(user, Plan(f"{user}-0", 5.0 if user == ADA else 9.0, ("1-0",), failure="none"))
    await state.set_plan(VISITOR, Plan("2-0", 1.0, ("2-0",)))
    await channels.move(VISITOR, ADA)
    await state.move(VISITOR, ADA)
    waiting = await channels.waiting(ADA, limit=1_000)
    assert len(waiting) == INPUTS_LIMIT and waiting[-1].text == f"{VISITOR} {INPUTS_LIMIT - 1}"
    assert await channels.users() == [ADA] and await channels.waiting(VISITOR) == []
    assert {entry.text for entry in await state.history(ADA)} == {ADA, VISITOR}
    status = await state.status(ADA)
    assert (status.count, status.failed, status.id) == (2, 2, f"{VISITOR}-0")
    assert len((await state.export(ADA))["feedback"]) == 2
    left = await state.export(VISITOR)
    assert await state.plan(VISITOR) is None and not left["history"] and not left["feedback"]


async def test_the_list_of_visitors_is_bounded(redis: Redis) -> None:
    stores = Stores(redis)
    for number in range(VISITORS_LIMIT + 5):
        stores.now[0] += 1
        await stores.sign_in(ADA, f"visitor-{number}")
    known = await Merges(redis).visitors(ADA)
    assert len(known) == VISITORS_LIMIT and f"visitor-{VISITORS_LIMIT + 4}" in known and "visitor-0" not in known


def test_every_store_of_user_data_is_exported_erased_and_moved(pytestconfig: pytest.Config) -> None:
    """One list drives all three; a class that has one of them for a user, and is not part of another, has them all."""
    backend = Path(pytestconfig.rootpath) / "backend"
    parts = {"Channels", "CoordinatorState", "EventStore", "CalDavStore", "LocalStore", "ReminderRepository"}
    parts |= {"TaskRepository", "MemoryMove", "Merges", "Memories", "SharedLinks"}  # the last two inherit the rest
    incomplete = {}
    for path in backend.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in parts:
                names = {each.name for each in node.body if isinstance(each, ast.AsyncFunctionDef)}
                assigned = [target for each in node.body if isinstance(each, ast.Assign) for target in each.targets]
                names |= {target.id for target in assigned if isinstance(target, ast.Name)}
                has = names & {"export", "erase", "move"}
                if has and has != {"export", "erase", "move"}:
                    incomplete[node.name] = has
    assert incomplete == {}
