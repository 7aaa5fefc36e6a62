"""Has users' data erased elsewhere, too: at webhooks that were sent something of them, and where their traces are.

    deletions       hash: id → the deletion as JSON
    deletions:due   sorted set: id → the Unix second of its next try

A deletion is written before the erasure is answered, and stays until the other side has carried it out: it is tried
immediately, then after growing pauses, by whichever process is there, for `KEEP_S`. Then it is given up, which the log
says: the operator must tell the receiver. A process takes a deletion by putting off its next try, so that another makes
it should this one die. Receivers may get one twice, under the same delivery id.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable, PeerError
from backend.notifications.webhooks import WebhookClient
from backend.runtime.faults import decode_all
from backend.runtime.supervisor import cancel_all, event_or_timeout
from backend.storage.client import Pipe, RedisStore
from backend.storage.record_format import FORMAT, Format

log = logging.getLogger(__name__)

KEEP_S = 30 * 86_400
"""Seconds a deletion is tried for."""
FIRST_PAUSE_S = 30.0
"""Seconds after the first try; each further pause is twice as long."""
LONGEST_PAUSE_S = 6 * 3_600.0
CLAIM_S = 120.0
"""Seconds after which another process makes a try that one has begun: longer than a try takes."""
LIMIT = 10_000
"""Deletions that wait at most; of more the oldest is given up."""
AT_ONCE = 20
LOOK_EVERY_S = 10.0
ANSWER_WITHIN_S = 2.0
"""Seconds an erasure waits before it names the places that are not done yet."""

EVENT = "user.deleted"
DELETIONS = "deletions"
DUE = "deletions:due"


class Deletion(msgspec.Struct, frozen=True):
    """A deletion that waits. `at` is the Unix second of the user's request."""

    id: str
    target: str
    user: str
    at: float
    tries: int = 0
    format: Format = FORMAT


DeletionTarget = Callable[[Deletion], Awaitable[None]]
"""Has a user deleted at a place outside this server. Raises a `PeerError` unless that is done."""


def at_webhook(webhook: WebhookClient) -> DeletionTarget:
    """Return a webhook as such a place: it is sent `user.deleted` with the user id that it knows."""

    async def delete(deletion: Deletion) -> None:
        await webhook.send(EVENT, {"user": deletion.user, "at": deletion.at}, delivery=deletion.id)

    return delete


class DeletionQueue(RedisStore):
    """The deletions that wait, for all processes. Methods may raise `MemoryUnavailable`."""

    async def add(self, deletions: list[Deletion], next_try: float) -> None:
        """Keep new deletions, and delay their first try by other processes."""
        pipe = self._client.pipeline()
        pipe.hset(DELETIONS, mapping={each.id: msgspec.json.encode(each) for each in deletions})
        pipe.zadd(DUE, {each.id: next_try for each in deletions})
        for key in (DELETIONS, DUE):
            pipe.expire(key, KEEP_S + 86_400)
        pipe.zcard(DUE)
        surplus = int((await self._client.execute(pipe))[-1]) - LIMIT
        if surplus > 0:
            log.error("%d deletions elsewhere were given up: more than %d wait", surplus, LIMIT)
            oldest = await self._client.call(lambda redis: redis.zrange(DUE, 0, surplus - 1))
            await self.remove(*(name.decode() for name in oldest))

    async def take(self, now: float) -> list[Deletion]:
        """Take the deletions that are due; other processes try them after `CLAIM_S`."""

        async def due(pipe: Pipe) -> list[bytes]:
            names: list[bytes] = await pipe.zrangebyscore(DUE, "-inf", now, start=0, num=AT_ONCE)
            return names

        def write(pipe: Pipe, names: list[bytes]) -> list[bytes]:
            if names:
                pipe.zadd(DUE, dict.fromkeys(names, now + CLAIM_S))
            return names

        if not (taken := await self._client.transact(DUE, read=due, write=write)):
            return []
        raw = await self._client.call(lambda redis: redis.hmget(DELETIONS, taken))
        if gone := [name.decode() for name, each in zip(taken, raw, strict=True) if each is None]:
            await self.remove(*gone)
        return decode_all("deletion", (each for each in raw if each is not None), _decoder.decode)

    async def put_off(self, deletion: Deletion, until: float) -> None:
        """Keep a deletion that was tried for its next try."""
        pipe = self._client.pipeline()
        pipe.hset(DELETIONS, deletion.id, msgspec.json.encode(deletion))
        pipe.zadd(DUE, {deletion.id: until})
        await self._client.execute(pipe)

    async def remove(self, *ids: str) -> None:
        """Drop deletions that are done, or given up."""
        pipe = self._client.pipeline()
        pipe.hdel(DELETIONS, *ids)
        pipe.zrem(DUE, *ids)
        await self._client.execute(pipe)


class DeletionNotifier:
    """Has users deleted at every one of `targets`, by name."""

    def __init__(
        self, redis: Redis, targets: Mapping[str, DeletionTarget], clock: Callable[[], float] = time.time
    ) -> None:
        self._queue = DeletionQueue(redis)
        self._targets = targets
        self._clock = clock
        self._trying: set[asyncio.Task[bool]] = set()
        self._ending = asyncio.Event()

    def __repr__(self) -> str:
        return f"DeletionNotifier({', '.join(self._targets)}; {len(self._trying)} under way)"

    async def delete(self, user_id: str) -> list[str]:
        """Have a user deleted everywhere; return the names of the places that are asked again later.

        Raises `MemoryUnavailable` when that cannot be noted.
        """
        if not self._targets:
            return []
        now = self._clock()
        deletions = [Deletion(secrets.token_hex(8), target, user_id, now) for target in self._targets]
        await self._queue.add(deletions, now + CLAIM_S)
        tries = {deletion.target: self._begin(deletion) for deletion in deletions}
        await asyncio.wait(tries.values(), timeout=ANSWER_WITHIN_S)
        return [name for name, task in tries.items() if not (task.done() and not task.cancelled() and task.result())]

    async def run(self) -> None:
        """Try what is due, again and again, until `close`."""
        while self._targets and not self._ending.is_set():
            try:
                await self.try_due()
            except MemoryUnavailable as error:
                log.info("deletions elsewhere are tried later: %s", error)
            await event_or_timeout(self._ending, LOOK_EVERY_S)

    async def try_due(self) -> None:
        """Try once what is due by now. Raises `MemoryUnavailable`."""
        tries = [self._begin(deletion) for deletion in await self._queue.take(self._clock())]
        if tries:
            await asyncio.wait(tries)

    async def close(self) -> None:
        """Stop; a deletion under way is left to its next try."""
        self._ending.set()
        if self._trying:
            await asyncio.wait(self._trying, timeout=ANSWER_WITHIN_S)
        await cancel_all(list(self._trying), within_s=1.0)

    def _begin(self, deletion: Deletion) -> asyncio.Task[bool]:
        task = asyncio.create_task(self._try(deletion), name="deletion elsewhere")
        self._trying.add(task)
        task.add_done_callback(self._trying.discard)
        return task

    async def _try(self, deletion: Deletion) -> bool:
        """Try a deletion, and return whether it is done."""
        deletion = msgspec.structs.replace(deletion, tries=deletion.tries + 1)
        target = self._targets.get(deletion.target)
        why = "it is not in the settings any more"
        try:
            if target is not None:
                try:
                    await target(deletion)
                except PeerError as error:
                    why = str(error)
                else:
                    await self._queue.remove(deletion.id)
                    return True
            await self._put_off(deletion, why)
        except MemoryUnavailable as error:
            log.warning("a deletion elsewhere is tried again, since it could not be noted: %s", error)
        return False

    async def _put_off(self, deletion: Deletion, why: str) -> None:
        now = self._clock()
        if now - deletion.at >= KEEP_S:
            log.error("%s has not deleted a user within %d days: %s", deletion.target, KEEP_S // 86_400, why)
            await self._queue.remove(deletion.id)
            return
        log.warning("%s has not deleted a user yet, try %d: %s", deletion.target, deletion.tries, why)
        await self._queue.put_off(deletion, now + pause_s(deletion.tries))


def pause_s(tries: int) -> float:
    """Return the seconds until the next try."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries - 1, 20))


_decoder = msgspec.json.Decoder(Deletion)
