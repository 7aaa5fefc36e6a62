"""A Redis on this machine is used without a setting, but never one in which other programs keep data.

A database is ours if it carries the key `MARKER`; an empty one becomes ours by it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, BusyLoadingError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout

from backend.errors import SetupError
from backend.storage.client import connect

MARKER = "responder-thinker"
DATABASES = 16
"""The number of databases that a Redis has unless it is configured otherwise."""
WITHIN_S = 0.8
"""Seconds it may take to answer, so that a silent port hardly delays the start."""

REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (AuthenticationError, "REDIS_PASSWORD is not its password ({})"),
    (BusyLoadingError, "it is still loading its data"),
    (RedisConnectionError, "no Redis answers there"),
    (RedisTimeout, "it does not answer in time"),
    (RedisError, "it refuses commands ({})"),
    (OSError, "it does not answer in time"),
)
"""The error → the reason why Redis is not used. The first row that fits counts: the first two are connection errors."""


class NotUsed(SetupError):
    """The Redis on this machine is not used; the message says why."""


class LastResort(NotUsed):
    """The Redis on this machine answers, but it is used only where no embedded one can start."""


def place_of(url: str) -> str:
    """Return the address without a password."""
    parts = urlsplit(url)
    return parts.path if parts.scheme == "unix" else f"{parts.hostname or 'localhost'}:{parts.port or 6379}{parts.path}"


async def is_ours(url: str) -> bool:
    """Return whether the database is ours; False: it is empty. Raises `NotUsed`. Changes nothing."""
    async with _asked(url) as redis:
        if not await redis.dbsize():
            return False
        if await redis.exists(MARKER):
            return True
    raise LastResort(f"Redis at {place_of(url)} is not used: it holds data of other programs.")


async def mark(url: str) -> None:
    """Make an empty database ours. Raises `NotUsed`."""
    async with _asked(url) as redis:
        await redis.set(MARKER, "This database belongs to responder-thinker.")


async def spare_database(url: str) -> str | None:
    """Return the address of a database of that Redis which was empty or ours, and is ours now; None: there is none."""
    for number in range(DATABASES):
        other = urlsplit(url)._replace(path=f"/{number}").geturl()
        try:
            if not await is_ours(other):
                await mark(other)
        except LastResort:
            continue
        except NotUsed:
            return None
        return other
    return None


@asynccontextmanager
async def _asked(url: str) -> AsyncIterator[Redis]:
    redis = connect(url)
    try:
        async with asyncio.timeout(WITHIN_S):
            yield redis
    except (RedisError, OSError) as error:
        reason = next(words for kind, words in REFUSALS if isinstance(error, kind)).format(error)
        raise NotUsed(f"Redis at {place_of(url)} is not used: {reason}.") from error
    finally:
        await redis.aclose()
