"""This module opens the best memory available: the operator's Redis, an embedded server, or a Redis in this process."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fakeredis import FakeAsyncRedis, FakeServer
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable, SettingsError
from backend.storage.client import connect
from backend.storage.local_redis import LastResort, NotUsed, is_ours, mark, place_of, spare_database
from backend.storage.memory import Close, Memory
from backend.storage.redis_server import FolderInUse, RedisServer, ServerFailed, embedded_url, find_binary

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """An open memory, with its Redis clients and its description for the operator."""

    memory: Memory
    label: str
    """The name in the start-up banner and on the page: "embedded Redis 7.0.15 (append-only file in var/redis; …)"."""
    detail: str
    """Advice for the operator on how to get a better memory; empty: there is nothing to do."""
    redis: Redis
    """The memory's client, also for other stores in the same Redis. It is closed with the memory."""
    waiting: Redis
    """A second client for reads that wait: pub/sub and `BLOCK`. It is closed with the memory."""
    url: str | None
    """The address for other clients of that Redis; None when it exists in this process alone."""


async def open_memory(
    redis_url: str | None, data_dir: Path, *, local_url: str | None = None, user_ttl_s: int | None = None
) -> OpenedMemory:
    """Return the best memory available. Never fails: a Redis that is out of reach now may answer later.

    Without `redis_url`, the Redis at `local_url` is used if it can be ours, else an embedded one, else another database
    of the former, else a Redis in this process. Users' contexts are kept for `user_ttl_s` seconds after their last
    change; None: without limit.
    """
    if redis_url:
        return await _open_external(redis_url, user_ttl_s)
    if local_url is None:
        return await _open_without_external(data_dir, user_ttl_s)
    try:
        await _claim(local_url, data_dir / "redis")
        return await _open_external(local_url, user_ttl_s)
    except NotUsed as refused:
        opened = await _open_without_external(data_dir, user_ttl_s)
        detail = f"{opened.detail} {refused}".strip()
        if opened.url is None and isinstance(refused, LastResort) and (url := await spare_database(local_url)):
            await opened.memory.close()
            detail = opened.detail if url == local_url else detail
            opened = await _open_external(url, user_ttl_s)
        return replace(opened, detail=detail)


async def join_memory(
    redis_url: str | None, data_dir: Path, *, local_url: str | None = None, user_ttl_s: int | None = None
) -> OpenedMemory:
    """Return the operator's memory, or that of a server on this machine. Raises `SettingsError` if there is neither."""
    if redis_url:
        return await _open_external(redis_url, user_ttl_s)
    if url := embedded_url(data_dir / "redis"):
        return _opened(url, f"the embedded Redis of the server on {data_dir}", user_ttl_s)
    with suppress(NotUsed):
        if local_url and await is_ours(local_url):
            return await _open_external(local_url, user_ttl_s)
    raise SettingsError(
        f"There is no Redis to share: REDIS_URL is not set, and no server is running with the folder {data_dir}.",
        hint="Set REDIS_URL, or start `responder-thinker serve` first with the same DATA_DIR.",
    )


async def _claim(url: str, folder: Path) -> None:
    """Make the Redis at `url` ours, unless it is empty and memory is already kept in `folder`. Raises `NotUsed`."""
    if not await is_ours(url):
        _refuse_to_forget(url, folder)
        await mark(url)


def _refuse_to_forget(url: str, folder: Path) -> None:
    if any(folder.glob("appendonly*")):
        why = f"it is empty, and {folder} holds what was remembered. To begin without it, set REDIS_URL=redis://{place_of(url)}"
        raise LastResort(f"Redis at {place_of(url)} is not used: {why}.")


async def _open_without_external(data_dir: Path, user_ttl_s: int | None) -> OpenedMemory:
    binary = find_binary()
    if binary is None:
        missing = "No redis-server was found: install Debian's redis-server, or set REDIS_URL."
        return _open_in_process(missing, user_ttl_s)
    return await _open_embedded(binary, data_dir / "redis", user_ttl_s)


async def _open_external(url: str, user_ttl_s: int | None) -> OpenedMemory:
    place = place_of(url)
    opened = _opened(url, f"Redis at {place} (not answering now)", user_ttl_s)
    try:
        version = await opened.memory.version()
    except MemoryUnavailable as error:
        log.warning("Redis at %s does not answer; calls go on without memory until it does: %s", place, error)
        return replace(opened, detail="Is REDIS_URL right, and is Redis running there?")
    return replace(opened, label=f"Redis {version} at {place} (survives a restart)")


async def _open_embedded(binary: Path, folder: Path, user_ttl_s: int | None) -> OpenedMemory:
    server = RedisServer(binary, folder)
    try:
        await server.start()
    except (FolderInUse, ServerFailed) as error:
        log.warning("No embedded Redis: %s", error)
        trouble = f"No embedded Redis: {error}. Give this server its own DATA_DIR, or set REDIS_URL."
        return _open_in_process(trouble, user_ttl_s)
    about = f"(append-only file in {folder}; survives a restart)"
    opened = _opened(server.url, f"embedded Redis {about}", user_ttl_s, server.close)
    with suppress(MemoryUnavailable):
        return replace(opened, label=f"embedded Redis {await opened.memory.version()} {about}")
    return opened


def _opened(url: str, label: str, user_ttl_s: int | None, then: Close | None = None) -> OpenedMemory:
    """Return the memory at `url`. Closing it closes both clients and calls `then`."""
    redis, waiting = connect(url), connect(url, waiting=True)

    async def close() -> None:
        await waiting.aclose()
        if then is not None:
            await then()

    memory = Memory(redis, also_close=close, user_ttl_s=user_ttl_s)
    return OpenedMemory(memory, label, "", redis, waiting, url)


def _open_in_process(detail: str, user_ttl_s: int | None) -> OpenedMemory:
    server = FakeServer()
    redis, waiting = FakeAsyncRedis(server=server), FakeAsyncRedis(server=server)
    memory = Memory(redis, also_close=waiting.aclose, user_ttl_s=user_ttl_s)
    return OpenedMemory(memory, "in-process fakeredis (nothing survives a restart)", detail, redis, waiting, None)
