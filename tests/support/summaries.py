"""The summary of an ended session, as it lies in Redis."""

from __future__ import annotations

from typing import Any

import msgspec

from backend.storage import keys
from backend.storage.memory import Memory


async def summary_of(memory: Memory, session_id: str) -> Any:
    """Return the summary of a session, or None."""
    raw = await memory._client.redis.get(keys.summary(session_id))
    return None if raw is None else msgspec.json.decode(raw)
