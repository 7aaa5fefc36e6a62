"""The queue's library with more patience: its worker would wake ten times a second to look for cancellations.

They come over pub/sub, and end its wait the moment they come, so there is nothing to look for. How long it waits is
fixed in the library; this reaches into `docket.Docket._pubsub`, to which `tests/tasks/test_patient.py` holds it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from docket import Docket

WAIT_S = 0.5
"""Seconds one wait for a message may last, and with it the end of a worker."""


class PatientDocket(Docket):
    """A docket whose listeners wait for `WAIT_S` at least."""

    @asynccontextmanager
    async def _pubsub(self) -> AsyncGenerator[Any, None]:
        async with super()._pubsub() as pubsub:
            yield _Patient(pubsub)


class _Patient:
    """A pub/sub connection of the library's, and all it can do; it only waits longer."""

    def __init__(self, pubsub: Any) -> None:
        self._pubsub = pubsub

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pubsub, name)

    async def get_message(self, *, timeout: float | None = 0.0, **options: Any) -> dict[str, Any] | None:
        """See `redis.asyncio.client.PubSub.get_message`."""
        patient = None if timeout is None else max(timeout, WAIT_S)
        return cast(dict[str, Any] | None, await self._pubsub.get_message(timeout=patient, **options))
