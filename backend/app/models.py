"""This module opens the text models of a process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx2

from backend.access.budgets import Budgets
from backend.access.metered import MeteredEmbedder, MeteredModel
from backend.app.endpoints import Endpoints
from backend.app.extensions import installed
from backend.app.stores import Stores
from backend.models.chat_completions import ChatCompletions, ModelLimits, OnFailure, Reason
from backend.models.embedding import Embedder, EmbeddingsAPI, NoEmbeddings
from backend.models.tagged import TaggedChatModel
from backend.observability.work_metrics import WorkMetrics
from backend.responders.opening import ApiEndpoint
from backend.settings.settings import Settings
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import LoggedModel, ModelCallLog

MODEL_CALLS_WAITING = 200
"""The most model calls that wait to be logged; beyond that, the oldest are dropped."""
DRAIN_WITHIN_S = 1.0
"""Seconds an ending process spends on writing the waiting model calls."""
NO_KEY = "none"
"""Stands for the key where no key is needed."""
HTTP_TIMEOUT_S = 10.0
"""Seconds a tool's request may take."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a process, and the HTTP client its tools share."""

    model: LoggedModel
    """The chat model that everything shares."""
    model_calls: ModelCallLog
    """The log of model calls made for background tasks and by the coordinator."""
    embedder: Embedder
    http: httpx2.AsyncClient
    metrics: WorkMetrics


@asynccontextmanager
async def open_models(
    settings: Settings, endpoints: Endpoints, stores: Stores, budgets: Budgets
) -> AsyncIterator[Models]:
    """Open the models. They are closed after the block."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S))
        outbox = Outbox(stores.memory, limit=MODEL_CALLS_WAITING)  # its own outbox, so that it delays no other writes
        stack.push_async_callback(outbox.drain, DRAIN_WITHIN_S)
        model_calls = ModelCallLog(stores.opened.redis, outbox, keep_s=settings.background.keep_s)
        metrics = WorkMetrics()
        model = _open_model(settings, endpoints, model_calls, budgets, metrics, stack)
        yield Models(model, model_calls, _embedder(settings, budgets, stack), http, metrics)


def _open_model(
    settings: Settings,
    endpoints: Endpoints,
    model_calls: ModelCallLog,
    budgets: Budgets,
    metrics: WorkMetrics,
    stack: AsyncExitStack,
) -> LoggedModel:
    """Return the model: each of the two configured ones is the other's fallback. It is closed with `stack`."""

    def attempt_failed(model: str, attempt: int, error: str, reason: Reason, seconds: float) -> None:
        model_calls.attempt_failed(model, attempt, error, reason, seconds)
        metrics.model_failed(model, reason, seconds)

    completions = chat_completions(settings, endpoints.models, attempt_failed)
    stack.push_async_callback(completions.close)
    model = MeteredModel(TaggedChatModel(completions, settings.models.models_without_tools), budgets, metrics)
    return LoggedModel(model, model_calls)


def chat_completions(
    settings: Settings, endpoint: ApiEndpoint, on_failure: OnFailure = lambda *_: None
) -> ChatCompletions:
    """Return the client of the chat completions API; the caller closes it."""
    models = settings.models
    everyday, advanced = models.thinker_model, models.thinker_model_advanced
    coordinators = {settings.coordinator.model: everyday} if settings.coordinator.model else {}
    return ChatCompletions(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        only_model=endpoint.model,
        fallbacks=coordinators | {everyday: advanced, advanced: everyday},
        on_failure=on_failure,
        limits=ModelLimits(models.model_attempts, models.model_connect_s, models.model_silence_s),
    )


def _embedder(settings: Settings, budgets: Budgets, stack: AsyncExitStack) -> Embedder:
    """Return the embedder; without a key and an address, that of an extension, which costs nothing."""
    key = settings.provider.openai_api_key
    if key is None and not settings.models.embedding_base_url:
        made = (each.embedder() for each in installed(settings.agent.plugin_folders).extensions)
        return next(filter(None, made), NoEmbeddings())
    url = (settings.models.embedding_base_url or settings.provider.openai_base_url).rstrip("/")
    api_key = key.get_secret_value() if key else NO_KEY
    api = EmbeddingsAPI(base_url=url, api_key=api_key, model=settings.models.embedding_model)
    stack.push_async_callback(api.close)
    return MeteredEmbedder(api, budgets)
