"""Servers with budgets in this process, which may share one Redis."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fakeredis import FakeAsyncRedis, FakeServer

from backend.access.metered import MeteredEmbedder, MeteredModel
from backend.app.budgets import admit_task
from backend.settings.budgets import BudgetSettings
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.testing.model import Scene, ScriptedModel
from tests.http.world import World, world
from tests.reasoning.world import reasoner
from tests.support.services import budgets_over
from tests.support.tasks import add_to_stream

STRANGER = {"X-Forwarded-For": "203.0.113.7"}
"""The header with which a proxy on this machine names the address of a caller."""
OTHER = {"X-Forwarded-For": "198.51.100.9"}
ASKED = {"message": "What is 2 + 2?"}
TURN_TOKENS = 15
"""The tokens of an answer of a scripted model."""


class Vectors:
    """An embedding model that gives all texts the same vector."""

    model = "m"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)


@asynccontextmanager
async def paying(
    directory: Path,
    server: FakeServer | None = None,
    *,
    budgets: dict[str, Any],
    thoughts: Sequence[Scene] = (),
    **options: Any,
) -> AsyncIterator[World]:
    """Run a server with these budgets; servers over one Redis count together. `thoughts` answer `/api/reasoning`."""
    redis = FakeAsyncRedis(server=server or FakeServer())
    made = budgets_over(redis, BudgetSettings.model_validate(budgets))
    admit = partial(admit_task, made)
    tasks = TaskService(TaskRepository(redis, add_to_stream), kinds={"research"}, admit=admit)
    thinking = reasoner(MeteredModel(ScriptedModel(*thoughts), made))
    services = {"budgets": made, "reasoner": thinking} | options.pop("services_with", {})
    async with world(
        directory,
        tasks=tasks,
        embedder=MeteredEmbedder(Vectors(), made),
        metered=lambda model: MeteredModel(model, made),
        services_with=services,
        budgets=budgets,
        **options,
    ) as here:
        yield here
