"""The cluster's registry in Redis: where every session is, and which processes there are. The replicator writes it.

    session:{id}:card      a session and the process that has it, as JSON
    user:{id}:calls        sorted set: a user's sessions by the second at which they may be forgotten
    fleet:nodes            set of processes
    fleet:{process}        a process as JSON, which it renews with every heartbeat

Fields that a newer version adds are ignored by an older one; a new field needs a default, so that a newer version can
read what an older one wrote. An entry that cannot be decoded is skipped and counted.
"""

import msgspec

from backend.runtime.faults import decode_all, decode_or_skip
from backend.sessions.session import SessionDescription
from backend.storage.client import RedisStore

NODES = "fleet:nodes"
"""The key of the set of processes; each process removes those that are gone."""


class SessionEntry(msgspec.Struct, frozen=True):
    """A session as the cluster knows it. `description` is the answer of `GET /api/sessions/{id}` some seconds ago."""

    session_id: str
    node: str
    owner: str
    description: SessionDescription


class NodeState(msgspec.Struct, frozen=True):
    """The state of a process at its last heartbeat. `load` is 0 when it is idle, and 1 when it is full."""

    node: str
    group: str
    """The name that the processes behind one port of one machine share."""
    live: int
    load: float
    accepts: bool


_entry_decoder = msgspec.json.Decoder(SessionEntry)
_node_decoder = msgspec.json.Decoder(NodeState)


class ClusterRegistry(RedisStore):
    """The registry as any process reads it. Every method may raise `MemoryUnavailable`."""

    async def entry(self, session_id: str) -> SessionEntry | None:
        """Return the entry of a session that is live, or ended in the last ten minutes; None for any other."""
        raw = await self._client.call(lambda redis: redis.get(entry_key(session_id)))
        return None if raw is None else decode_or_skip("session entry", raw, _entry_decoder.decode)

    async def entries_of(self, owner: str) -> list[SessionEntry]:
        """Return the owner's sessions, in no order."""
        ids = await self._client.call(lambda redis: redis.zrange(calls_key(owner), 0, -1))
        if not ids:
            return []
        found = await self._client.call(lambda redis: redis.mget([entry_key(raw.decode()) for raw in ids]))
        return decode_all("session entry", (raw for raw in found if raw is not None), _entry_decoder.decode)

    async def is_alive(self, node: str) -> bool:
        """Return whether that process has sent a heartbeat lately."""
        return bool(await self._client.call(lambda redis: redis.exists(node_key(node))))

    async def nodes(self) -> list[NodeState]:
        """Return the live processes, least loaded first."""
        names = [raw.decode() for raw in await self._client.call(lambda redis: redis.smembers(NODES))]
        if not names:
            return []
        found = await self._client.call(lambda redis: redis.mget([node_key(name) for name in names]))
        if gone := [name for name, raw in zip(names, found, strict=True) if raw is None]:
            await self._client.call(lambda redis: redis.srem(NODES, *gone))
        states = decode_all("process entry", (raw for raw in found if raw is not None), _node_decoder.decode)
        return sorted(states, key=lambda state: (state.load, state.live))

    async def forget(self, session_id: str, owner: str) -> None:
        """Delete the stored data of a session."""
        pipe = self._client.pipeline(transaction=False)
        pipe.delete(entry_key(session_id))
        pipe.zrem(calls_key(owner), session_id)
        await self._client.execute(pipe)

    async def export(self, user_id: str, /) -> list[SessionDescription]:
        """Return the descriptions of a user's calls, live ones and those of the last minutes."""
        return [entry.description for entry in await self.entries_of(user_id)]

    async def erase(self, user_id: str, /) -> None:
        """Delete the stored data of a user's calls, in all processes."""
        for entry in await self.entries_of(user_id):
            await self.forget(entry.session_id, user_id)


def entry_key(session_id: str) -> str:
    """Return the key of a session's entry."""
    return f"session:{session_id}:card"


def calls_key(owner: str) -> str:
    """Return the key of a user's sessions."""
    return f"user:{owner}:calls"


def node_key(node: str) -> str:
    """Return the key that a process renews while it lives."""
    return f"fleet:{node}"
