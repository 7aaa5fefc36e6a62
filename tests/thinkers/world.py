"""A whole set of Thinkers over a fake memory and a scripted model."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from backend.access.principal import EVERYTHING
from backend.agent.context import SourceMode
from backend.app.thinkers import build_thinkers
from backend.models.base import ChatModel
from backend.settings.settings import Settings, load_settings
from backend.storage.outbox import Outbox
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.thinkers.base import Answer, Question, ThinkerProgress
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.tools.base import ToolRights
from backend.tools.confirmations import Confirmations
from tests.support.consent import confirmations

SATURDAY_NOON = 1_795_262_400.0  # 2026-11-21 12:00 UTC
NOWHERE = {
    "open_meteo_geocoding_url": "http://127.0.0.1:9/v1/search",
    "open_meteo_forecast_url": "http://127.0.0.1:9/v1/forecast",
}


@dataclass
class World:
    """The Thinkers with their model and memory."""

    thinkers: ThinkerDispatcher
    model: Any
    memory: Any
    outbox: Outbox
    progress: list[str] = field(default_factory=list)
    steps: list[tuple[str, str]] = field(default_factory=list)
    confirmations: Confirmations = field(default_factory=confirmations)

    async def ask(self, domain: str, query: str, *, user: str = "ada", session: str = "s1") -> Answer:
        """Answer one question in the user's own words; the user is signed in to everything."""
        message = secrets.token_hex(4)
        await self.confirmations.take_answer(user, session, query, message=message)
        rights = ToolRights(EVERYTHING, message=message)
        question = Question(domain, query, session, user, conversation_id=session, rights=rights)
        answer = await self.thinkers.answer(question, self._note)
        if not self.memory.down:
            await self.outbox.settle(1.0)  # so that the profile has what the answer teaches
        return answer

    def system(self, request: int = -1) -> str:
        """The system prompt of a request to the scripted model."""
        return str(self.model.requests[request]["messages"][0]["content"])

    def _note(self, progress: ThinkerProgress) -> None:
        self.steps += [(progress.tool.name, progress.tool.event)] if progress.tool else []
        self.progress += [progress.detail] if progress.detail else []


@asynccontextmanager
async def world(
    *scenes: Any,
    model: ChatModel | None = None,
    memory: Any = None,
    settings: Settings | None = None,
    folders: tuple[Path, ...] = (),
    without_model: frozenset[SourceMode] = frozenset(),
) -> AsyncIterator[World]:
    """Thinkers over a model that plays `scenes`; without `settings`, no service can be reached."""
    model = model or ScriptedModel(*scenes)
    memory = memory or FakeMemory()
    settings = settings or load_settings(_env_file=None, plugin_folders=list(folders), **NOWHERE)
    async with httpx2.AsyncClient(verify=False) as http:
        asked, outbox = confirmations(), Outbox(memory)
        thinkers = build_thinkers(
            settings,
            model=model,
            memory=memory,
            http=http,
            clock=lambda: SATURDAY_NOON,
            confirmations=asked,
            enqueue=outbox.enqueue,
            without_model=without_model,
        )
        yield World(thinkers, model, memory, outbox, confirmations=asked)
