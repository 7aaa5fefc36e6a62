"""The words really said and heard in one call.

Each message is written to memory in the background; the newest ones are kept here for a new connection. A call may
continue an earlier conversation, by voice or by text: then the kept messages begin with the end of that one.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable

from backend.page_events import Role
from backend.responders.base import PastMessage
from backend.sessions.session import Session
from backend.storage.memory import Memory
from backend.storage.messages import Message
from backend.storage.outbox import Enqueue
from backend.users.profile_updates import CountSession, update_profile

TAIL = 30
"""The number of messages that a new connection gets."""
EARLIER_CHARS = 2_000
"""The most characters of an earlier message that a new connection gets; a typed message may be long."""


class CallHistory:
    """The messages of one call."""

    def __init__(
        self, user_id: str, conversation_id: str, enqueue: Enqueue, on_said: Callable[[Message], None] = lambda _: None
    ) -> None:
        """`on_said` gets each message too, and must not wait."""
        self._user_id = user_id
        self._conversation_id = conversation_id
        self._enqueue = enqueue
        self._on_said = on_said
        self._tail: deque[PastMessage] = deque(maxlen=TAIL)
        self.count = 0
        """The number of messages added so far."""

    def tail(self) -> list[PastMessage]:
        """Return the newest messages, oldest first."""
        return list(self._tail)

    def since(self, count: int) -> list[PastMessage]:
        """Return the messages added after the first `count`, as far as they are still kept."""
        added = self.count - count
        return list(self._tail)[-added:] if added > 0 else []

    def prepend(self, earlier: Iterable[Message]) -> None:
        """Put the end of the earlier conversation before what was said in this call."""
        past = [
            PastMessage("user" if message.role == "user" else "assistant", message.content[:EARLIER_CHARS])
            for message in earlier
            if message.said
        ]
        if (room := TAIL - len(self._tail)) > 0:
            self._tail.extendleft(reversed(past[-room:]))

    def add(self, role: Role, text: str) -> str:
        """Keep one message, and return its id."""
        self._tail.append(PastMessage(role, text))
        self.count += 1
        message = Message(role, text, time.time())

        async def append(memory: Memory) -> None:
            await memory.append_messages(self._user_id, self._conversation_id, message)

        self._enqueue(append)
        self._on_said(message)
        return message.message_id


def count_ended(enqueue: Enqueue, session: Session, reason: str) -> None:
    """Count an ended call in its user's profile; if it was deleted, forget its conversation."""
    owner, conversation_id = session.owner, session.conversation_id

    async def write(memory: Memory) -> None:
        if reason == "deleted":  # jobs run in order: this also takes what was still waiting to be written
            await memory.forget_conversation(owner, conversation_id)
        else:
            await update_profile(memory, owner, CountSession(time.time()))

    enqueue(write)
