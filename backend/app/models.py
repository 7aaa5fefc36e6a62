"""The text models of a process: the operator's API, or, with no key, the offline demonstration as a child process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx2

from backend.app.demo_process import OfflineChild
from backend.app.open_tasks import open_archive
from backend.app.stores import Kept
from backend.models.chat_completions import ChatCompletions
from backend.models.embedding import Embedder, EmbeddingsAPI, NoEmbeddings
from backend.models.embedding_local import LocalEmbeddings, bundled
from backend.models.tagged import TaggedChatModel
from backend.settings.settings import Settings
from backend.tasks.model_call_log import Archive, ArchivingModel

HTTP_TIMEOUT_S = 10.0
"""Seconds a tool's request may take."""


@dataclass(frozen=True, slots=True)
class Minds:
    """The models, and the client tools reach the world by."""

    model: ArchivingModel
    """The one everybody shares."""
    archive: Archive
    """What it was asked for background tasks."""
    embedder: Embedder
    http: httpx2.AsyncClient


@asynccontextmanager
async def open_minds(settings: Settings, kept: Kept) -> AsyncIterator[Minds]:
    """All of it, closed with the block."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S))
        archive = await stack.enter_async_context(open_archive(settings.background, kept.memory, kept.opened.redis))
        yield Minds(_open_model(settings, archive, stack), archive, _embedder(settings, http), http)


async def with_offline_child(settings: Settings, stack: AsyncExitStack) -> tuple[Settings, OfflineChild | None]:
    """With no key, a child process stands in for the API: from here on it is just another base URL."""
    if not settings.offline:
        return settings, None
    if settings.offline_url:
        return settings.model_copy(update={"openai_base_url": f"{settings.offline_url}/v1"}), None
    child = OfflineChild(settings.offline_script)
    stack.push_async_callback(child.stop)
    await child.start()
    return settings.model_copy(update={"openai_base_url": f"{child.url}/v1"}), child


def key_of(settings: Settings) -> str:
    """The key for the models' API; the offline demonstration takes any."""
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else "offline"


def _open_model(settings: Settings, archive: Archive, stack: AsyncExitStack) -> ArchivingModel:
    """Each of the two configured models is the other's fallback; closed with `stack`."""
    everyday, advanced = settings.thinker_model, settings.thinker_model_advanced
    completions = ChatCompletions(
        base_url=settings.openai_base_url,
        api_key=key_of(settings),
        fallbacks={everyday: advanced, advanced: everyday},
        on_failure=archive.attempt_failed,
    )
    stack.push_async_callback(completions.close)
    return ArchivingModel(TaggedChatModel(completions, settings.models_without_tools), archive)


def _embedder(settings: Settings, http: httpx2.AsyncClient) -> Embedder:
    """The demonstration has no vectors to offer: unless an address is named, the bundled model does, if installed."""
    if settings.offline and not settings.embedding_base_url:
        return LocalEmbeddings() if bundled() else NoEmbeddings()
    url = (settings.embedding_base_url or settings.openai_base_url).rstrip("/")
    return EmbeddingsAPI(http, url, key_of(settings), settings.embedding_model)
