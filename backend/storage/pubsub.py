"""Server processes exchange messages by Redis pub/sub; each process listens with one connection.

Observers subscribe to a channel. The channel of this module carries two kinds of messages, each naming its user: that
there is news for that user's calls, and an event for that user's open pages. A process that has nothing of that user's
ignores it. Messages may be lost while Redis is away, and nothing durable depends on them: after every connection the
observers get None, which asks them to look for themselves.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable

import msgspec
from redis.asyncio import Redis
from redis.asyncio.client import PubSub as Subscription
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable
from backend.runtime.faults import call_observer, decode_or_skip
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all, event_or_timeout, supervised
from backend.storage.client import Pipe, RedisClient

log = logging.getLogger(__name__)

CHANNEL = "voice:news"
RECONNECT_AFTER_S = 0.5
"""Seconds before the channels are opened again."""
OPEN_WITHIN_S = 5.0
QUIET_S = 5.0
"""Seconds without a message after which Redis is pinged. Without a reply, the channels are opened again."""


class UserMessage(msgspec.Struct, omit_defaults=True):
    """A message between processes: an event for the user's pages if it has a `type`, otherwise news for their calls."""

    user: str
    origin: str
    type: str = ""
    data: Json = {}


Observer = Callable[[bytes | None], None]
"""Gets each message of a channel, or None when some may have been missed. Returns immediately."""
UserObserver = Callable[[UserMessage | None], None]
"""Gets each message about a user, including this process's own, or None: there may be news for any user."""


class PubSub:
    """This process's publisher and subscriber. Subscribe first, then `start` in a running loop; `close` at the end."""

    def __init__(self, redis: Redis, waiting: Redis) -> None:
        self._client = RedisClient(redis)
        self._waiting = waiting
        self._origin = secrets.token_hex(8)
        self._user_observers: list[UserObserver] = []
        self._observers: dict[str, list[Observer]] = {CHANNEL: [self._on_user_channel]}
        self._task: asyncio.Task[None] | None = None
        self._open = asyncio.Event()

    @property
    def is_listening(self) -> bool:
        """Return whether the channels are open at this moment."""
        return self._open.is_set()

    def subscribe(self, channel: str, observer: Observer) -> None:
        """Call `observer` for every message of `channel`. Must be called before `start`."""
        self._observers.setdefault(channel, []).append(observer)

    def on_user_message(self, observer: UserObserver) -> None:
        """Call `observer` for every event for a user's open pages, and when there is news for a user."""
        self._user_observers.append(observer)

    def start(self) -> None:
        """Listen in a supervised task."""
        self._task = supervised("pubsub", self._listen)

    async def wait_until_open(self, within_s: float) -> bool:
        """Wait until the channels are open, `within_s` seconds at most, and return whether they are."""
        await event_or_timeout(self._open, within_s)
        return self.is_listening

    async def close(self) -> None:
        """Stop listening."""
        if self._task:
            await cancel_all([self._task])

    async def publish(self, channel: str, message: bytes) -> int:
        """Send `message` to every process that has subscribed to `channel`; return how many those are.

        Raises `MemoryUnavailable`.
        """
        return int(await self._client.call(lambda redis: redis.publish(channel, message)))

    async def publish_page_event(self, user_id: str, type_: str, data: Json) -> None:
        """Show an event on every open page of that user: here immediately, and in the other processes."""
        await self._publish(UserMessage(user_id, self._origin, type_, data))

    def add_page_event(self, pipe: Pipe, user_id: str, type_: str, data: Json) -> None:
        """Show an event on every open page of that user once the transaction `pipe` is carried out."""
        pipe.publish(CHANNEL, msgspec.json.encode(UserMessage(user_id, "", type_, data)))

    async def publish_news(self, user_id: str) -> None:
        """Tell that user's calls, in all processes, to look up their news."""
        await self._publish(UserMessage(user_id, self._origin))

    async def _publish(self, message: UserMessage) -> None:
        """Deliver a message here and to the other processes. If Redis is away, those check every few seconds anyway."""
        self._pass_on(message)
        with contextlib.suppress(MemoryUnavailable):
            await self.publish(CHANNEL, msgspec.json.encode(message))

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (RedisError, OSError, TimeoutError) as error:
                log.debug("the pub/sub connection broke: %s", type(error).__name__)
            finally:
                self._open.clear()
            await asyncio.sleep(RECONNECT_AFTER_S)

    async def _listen_once(self) -> None:
        async with self._waiting.pubsub() as subscription:
            await self._open_channels(subscription)
            self._open.set()
            for channel in self._observers:
                self._deliver(channel, None)
            asked = False
            while True:
                message = await subscription.get_message(timeout=QUIET_S)
                if message is not None:
                    asked = False
                    self._on_message(message)
                elif asked:
                    return
                else:
                    asked = True
                    async with asyncio.timeout(OPEN_WITHIN_S):
                        await subscription.ping()

    async def _open_channels(self, subscription: Subscription) -> None:
        """Subscribe to every channel, and return when Redis has confirmed all. Raises `TimeoutError`."""
        async with asyncio.timeout(OPEN_WITHIN_S):
            await subscription.subscribe(*self._observers)
        confirmed = 0
        while confirmed < len(self._observers):
            message = await subscription.get_message(timeout=OPEN_WITHIN_S)
            if message is None:
                raise TimeoutError
            confirmed += message["type"] == "subscribe"
            self._on_message(message)

    def _on_message(self, message: Json) -> None:
        if message["type"] == "message":
            self._deliver(message["channel"].decode(), message["data"])

    def _deliver(self, channel: str, raw: bytes | None) -> None:
        for observer in self._observers.get(channel, ()):
            call_observer(channel, observer, raw)

    def _on_user_channel(self, raw: bytes | None) -> None:
        if raw is None:
            self._pass_on(None)
        elif (message := decode_or_skip(CHANNEL, raw, _decoder.decode)) and message.origin != self._origin:
            self._pass_on(message)

    def _pass_on(self, message: UserMessage | None) -> None:
        for observer in self._user_observers:
            call_observer(CHANNEL, observer, message)


_decoder = msgspec.json.Decoder(UserMessage)
