"""The vectors of a user's texts are made once and kept with the memories.

`user:{id}:vectors` is a hash: a digest of the text → the model's mark, and the vector as 16-bit floats. A vector of
another model counts as missing. It is deleted when its memory is changed or deleted, and with all of the user's data;
what belongs to other texts, which expire sooner, goes when the texts are looked through as a whole.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from redis.asyncio import Redis

from backend.storage.client import RedisStore
from backend.users.ranking import Vector

LIMIT = 1_000
"""The most vectors of one user; beyond that, all are made again."""
KEPT_S = 30 * 86_400
"""The most seconds that vectors are kept after the last new one."""
MARK_BYTES = 4


def vectors_key(user_id: str) -> str:
    """Return the key of a user's vectors."""
    return f"user:{user_id}:vectors"


def digest(text: str) -> bytes:
    """Return the hash field of a text's vector."""
    return sha256(text.encode()).digest()[:16]


class TextVectors(RedisStore):
    """The vectors of all users that `model` has made. Every method may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis, model: str, *, ttl_s: int | None = None) -> None:
        super().__init__(redis)
        self._mark = sha256(model.encode()).digest()[:MARK_BYTES]
        self._ttl_s = min(ttl_s or KEPT_S, KEPT_S)

    async def read(self, user_id: str, texts: Sequence[str]) -> list[Vector | None]:
        """Return the vector of each text, None where there is none."""
        if not texts:
            return []
        fields = [digest(text) for text in texts]
        found = await self._client.call(lambda redis: redis.hmget(vectors_key(user_id), fields))
        return [self._vector(raw) for raw in found]

    async def keep(self, user_id: str, vectors: Mapping[str, Vector]) -> None:
        """Keep these texts' vectors."""
        key = vectors_key(user_id)
        kept: dict[Any, Any] = {
            digest(text): self._mark + vector.astype(np.float16).tobytes() for text, vector in vectors.items()
        }

        async def write(redis: Redis) -> None:
            is_full = await redis.hlen(key) + len(kept) > LIMIT
            async with redis.pipeline(transaction=True) as pipe:
                if is_full:
                    pipe.delete(key)
                pipe.hset(key, mapping=kept)
                pipe.expire(key, self._ttl_s)
                await pipe.execute()

        if kept:
            await self._client.call(write)

    async def keep_only(self, user_id: str, texts: Sequence[str]) -> None:
        """Delete the vectors of all other texts."""
        key, wanted = vectors_key(user_id), {digest(text) for text in texts}

        async def prune(redis: Redis) -> None:
            if stale := [field for field in await redis.hkeys(key) if field not in wanted]:
                await redis.hdel(key, *stale)

        await self._client.call(prune)

    def _vector(self, raw: bytes | None) -> Vector | None:
        if raw is None or raw[:MARK_BYTES] != self._mark:
            return None
        return np.frombuffer(raw, np.float16, offset=MARK_BYTES).astype(np.float32)
