"""Opens the pipeline of a process: the steps around every turn."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from backend.app.notifications import webhook_of
from backend.middleware.pipeline import Pipeline
from backend.middleware.plan import discover
from backend.models.base import ChatModel
from backend.notifications.webhooks import WebhookClient
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.tools.base import Clock

CLOSE_WITHIN_S = 2.0
"""Seconds a server that ends gives the post-steps of the last turns."""


@asynccontextmanager
async def open_pipeline(
    settings: Settings,
    *,
    model: ChatModel,
    memory: Memory,
    http: httpx2.AsyncClient,
    folders: Iterable[Path] = (),
    services: Mapping[Any, Any] | None = None,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Pipeline]:
    """Open all steps with their services; post-steps that wait at the end are given a moment. Raises `BadPlugin`.

    `services` are further ones, by type. The caller keeps ownership of everything passed in.
    """
    known: dict[Any, Any] = {
        httpx2.AsyncClient: http,
        ChatModel: model,
        Memory: memory,
        Settings: settings,
        Clock: Clock(clock),
        **(services or {}),
    }
    webhooks = webhook_of(settings.pipeline, "PIPELINE__WEBHOOK")
    if webhooks is not None:
        known[WebhookClient] = webhooks
    models = {"fast": settings.thinker_model, "advanced": settings.thinker_model_advanced}
    pipeline = Pipeline(discover(folders), known, options=settings.pipeline.options, models=models)
    try:
        yield pipeline
    finally:
        await pipeline.close(CLOSE_WITHIN_S)
        if webhooks is not None:
            await webhooks.close()
