"""The text models of a process: the operator's API, or, with no key, the offline demonstration as a child process."""

from __future__ import annotations

from contextlib import AsyncExitStack

from backend.background.archive import Archive, ArchivingModel
from backend.models.chat import ChatCompletions
from backend.models.tagged import TaggedChatModel
from backend.offline_child import OfflineChild
from backend.settings import Settings

HTTP_TIMEOUT_S = 10.0
"""Seconds a tool's request may take."""


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


def open_model(settings: Settings, archive: Archive, stack: AsyncExitStack) -> ArchivingModel:
    """The model everybody shares, each of the two configured ones the other's fallback; closed with `stack`."""
    everyday, advanced = settings.thinker_model, settings.thinker_model_advanced
    completions = ChatCompletions(
        base_url=settings.openai_base_url,
        api_key=key_of(settings),
        fallbacks={everyday: advanced, advanced: everyday},
        on_failure=archive.attempt_failed,
    )
    stack.push_async_callback(completions.close)
    return ArchivingModel(TaggedChatModel(completions, settings.models_without_tools), archive)
