"""Opens the memory this machine can offer: the operator's Redis, else an embedded one, else one in this process."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fakeredis import FakeAsyncRedis

from backend.errors import MemoryUnavailable
from backend.memory.base import Memory
from backend.memory.redis import RedisMemory, connect
from backend.memory.server import FolderInUse, RedisServer, ServerFailed, find_binary

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """A memory, and what to tell the operator about it."""

    memory: Memory
    label: str
    """For the start-up line and the page, e.g. "embedded Redis 7.0.15 (append-only file in var/redis; survives …)"."""
    survives_restart: bool
    detail: str
    """What the operator could do to have a better one; empty when there is nothing to do."""


async def open_memory(redis_url: str | None, data_dir: Path, *, user_ttl_s: int | None = None) -> OpenedMemory:
    """The best memory there is. Never fails: a Redis out of reach now may answer later.

    What is known of a user is kept for `user_ttl_s` seconds after its last change; None: for good.
    """
    if redis_url:
        return await _open_external(redis_url, user_ttl_s)
    binary = find_binary()
    if binary is None:
        missing = "No redis-server was found: install Debian's redis-server, or set REDIS_URL."
        return _open_in_process(missing, user_ttl_s)
    return await _open_embedded(binary, data_dir / "redis", user_ttl_s)


async def _open_external(url: str, user_ttl_s: int | None) -> OpenedMemory:
    memory = RedisMemory(connect(url), user_ttl_s=user_ttl_s)
    place = _without_password(url)
    try:
        version = await memory.version()
    except MemoryUnavailable as error:
        log.warning("Redis at %s does not answer; calls go on without memory until it does: %s", place, error)
        return OpenedMemory(
            memory, f"Redis at {place} (not answering now)", True, "Is REDIS_URL right, and is Redis running there?"
        )
    return OpenedMemory(memory, f"Redis {version} at {place} (survives a restart)", True, "")


async def _open_embedded(binary: Path, folder: Path, user_ttl_s: int | None) -> OpenedMemory:
    server = RedisServer(binary, folder)
    try:
        await server.start()
    except (FolderInUse, ServerFailed) as error:
        log.warning("No embedded Redis: %s", error)
        trouble = f"No embedded Redis: {error}. Give this server its own DATA_DIR, or set REDIS_URL."
        return _open_in_process(trouble, user_ttl_s)
    memory = RedisMemory(connect(server.url), also_close=server.close, user_ttl_s=user_ttl_s)
    try:
        version = f" {await memory.version()}"
    except MemoryUnavailable:
        version = ""
    return OpenedMemory(memory, f"embedded Redis{version} (append-only file in {folder}; survives a restart)", True, "")


def _open_in_process(detail: str, user_ttl_s: int | None) -> OpenedMemory:
    memory = RedisMemory(FakeAsyncRedis(), user_ttl_s=user_ttl_s)
    return OpenedMemory(memory, "in-process fakeredis (nothing survives a restart)", False, detail)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return parts.path
    return f"{parts.hostname or 'localhost'}:{parts.port or 6379}{parts.path}"
