"""Deletions ask places outside this server to erase a user's data: webhooks that got some, and trace services.

    deletions       sorted set: the deletion as JSON → the Unix second of its next try

A deletion is written before the erasure is answered, and stays until the other side has carried it out. Any process
tries it immediately, then after growing pauses, for `KEEP_S`. After that it is given up and logged: the operator must
inform the receiver. A process claims a deletion by putting off its next try, so that another process makes it if this
one dies. Receivers may get a deletion twice, with the same delivery id.
"""

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
PAUSES_S = (30.0, 6 * 3_600.0)
"""The shortest and the longest pause between two tries; between them it is as long as the deletion has waited."""
CLAIM_S = 120.0
"""Seconds after which another process repeats a try that did not end: longer than a try takes."""
LIMIT = 10_000
"""The most deletions that wait; beyond that, the oldest is given up."""
AT_ONCE = 20
LOOK_EVERY_S = 10.0
ANSWER_WITHIN_S = 2.0
"""Seconds an erasure waits before it names the places that are not done yet."""

EVENT = "user.deleted"
DELETIONS = "deletions"


class Deletion(msgspec.Struct, frozen=True):
    """A deletion that waits. `at` is the Unix second of the user's request."""

    id: str
    target: str
    user: str
    at: float
    format: Format = FORMAT


DeletionTarget = Callable[[Deletion], Awaitable[None]]
"""Deletes a user at a place outside this server. Raises a `PeerError` unless that is done."""


def at_webhook(webhook: WebhookClient) -> DeletionTarget:
    """Return the deletion at a webhook: it posts `user.deleted` with the user id that the webhook knows."""

    async def delete(deletion: Deletion) -> None:
        await webhook.send(EVENT, {"user": deletion.user, "at": deletion.at}, delivery=deletion.id)

    return delete


class DeletionQueue(RedisStore):
    """The deletions that wait, for all processes. Methods may raise `MemoryUnavailable`."""

    async def put_off(self, until: float, *deletions: Deletion) -> None:
        """Keep deletions for their next try at the second `until`."""
        pipe = self._client.pipeline()
        pipe.zadd(DELETIONS, {msgspec.json.encode(each): until for each in deletions})
        pipe.zremrangebyrank(DELETIONS, 0, -LIMIT - 1)
        pipe.expire(DELETIONS, KEEP_S + 86_400)
        if surplus := (await self._client.execute(pipe))[1]:
            log.error("%d deletions elsewhere were given up: more than %d wait", surplus, LIMIT)

    async def take(self, now: float) -> list[Deletion]:
        """Take the deletions that are due; other processes try them after `CLAIM_S`."""

        async def due(pipe: Pipe) -> list[bytes]:
            found: list[bytes] = await pipe.zrangebyscore(DELETIONS, "-inf", now, start=0, num=AT_ONCE)
            return found

        def write(pipe: Pipe, found: list[bytes]) -> list[bytes]:
            if found:
                pipe.zadd(DELETIONS, dict.fromkeys(found, now + CLAIM_S))
            return found

        return decode_all("deletion", await self._client.transact(DELETIONS, read=due, write=write), _decoder.decode)

    async def remove(self, deletion: Deletion) -> None:
        """Drop a deletion that is done, or given up."""
        await self._client.call(lambda redis: redis.zrem(DELETIONS, msgspec.json.encode(deletion)))


class DeletionNotifier:
    """Has users deleted at all `targets`, which have names."""

    def __init__(
        self, redis: Redis, targets: Mapping[str, DeletionTarget], clock: Callable[[], float] = time.time
    ) -> None:
        self._queue = DeletionQueue(redis)
        self._targets = targets
        self._clock = clock
        self._trying: set[asyncio.Task[bool]] = set()
        self._ending = asyncio.Event()

    async def delete(self, user_id: str) -> list[str]:
        """Delete a user at all targets, and return the names of those that will be asked again.

        Raises `MemoryUnavailable` when the deletion cannot be written.
        """
        if not self._targets:
            return []
        now = self._clock()
        deletions = [Deletion(secrets.token_hex(8), target, user_id, now) for target in self._targets]
        await self._queue.put_off(now + CLAIM_S, *deletions)
        tries = {deletion.target: self._begin(deletion) for deletion in deletions}
        await asyncio.wait(tries.values(), timeout=ANSWER_WITHIN_S)
        return [name for name, task in tries.items() if not (task.done() and not task.cancelled() and task.result())]

    async def run(self) -> None:
        """Try due deletions at intervals until `close`."""
        while self._targets and not self._ending.is_set():
            try:
                await self.try_due()
            except MemoryUnavailable as error:
                log.info("deletions elsewhere are tried later: %s", error)
            await event_or_timeout(self._ending, LOOK_EVERY_S)

    async def try_due(self) -> None:
        """Try the deletions that are due. Raises `MemoryUnavailable`."""
        tries = [self._begin(deletion) for deletion in await self._queue.take(self._clock())]
        if tries:
            await asyncio.wait(tries)

    async def close(self) -> None:
        """Stop, and leave a running deletion to its next try."""
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
        target = self._targets.get(deletion.target)
        why = "the settings no longer name it"
        try:
            if target is not None:
                try:
                    await target(deletion)
                except PeerError as error:
                    why = str(error)
                else:
                    await self._queue.remove(deletion)
                    return True
            await self._put_off(deletion, why)
        except MemoryUnavailable as error:
            log.warning("a deletion elsewhere is tried again, since it could not be noted: %s", error)
        return False

    async def _put_off(self, deletion: Deletion, why: str) -> None:
        now = self._clock()
        if now - deletion.at >= KEEP_S:
            log.error("%s has not deleted a user within %d days: %s", deletion.target, KEEP_S // 86_400, why)
            await self._queue.remove(deletion)
            return
        log.warning("%s has not deleted a user yet: %s", deletion.target, why)
        await self._queue.put_off(now + pause_s(now - deletion.at), deletion)


def pause_s(waited_s: float) -> float:
    """Return the seconds until the next try of a deletion that has waited for `waited_s`."""
    return min(max(waited_s, PAUSES_S[0]), PAUSES_S[1])


_decoder = msgspec.json.Decoder(Deletion)
