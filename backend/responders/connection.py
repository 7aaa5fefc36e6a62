"""The WebSocket under a Responder: `websockets`' own, without its queues and the tasks that wait at them.

A call says and hears some twenty messages a second. Sent and handed on where they are, each costs a task's turn less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.protocol import Event, State

Message = bytes | bytearray | memoryview
OnMessage = Callable[[Message], None]
"""Takes a whole message, as UTF-8. Returns at once, and raises nothing."""


class RealtimeConnection(ClientConnection):
    """One connection. Read it by `message` first, then by `hand_on`; write by `send` or `post`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._hear: OnMessage | None = None
        self._queued = 0
        self._part = bytearray()  # of a message that comes in fragments; `max_size` bounds it

    @property
    def full(self) -> bool:
        """Whether the network is behind; `drain` waits until it is not."""
        return self.paused

    def post(self, text: bytes) -> None:
        """Send a message of UTF-8 without waiting; over a line that is lost, nothing."""
        if self.protocol.state is State.OPEN:
            self.protocol.send_text(text)
            self.send_data()

    async def message(self) -> bytes:
        """The next message, while nobody hears them. Raises `ConnectionClosed`."""
        text = await self.recv(decode=False)
        self._queued -= 1
        return text

    async def hand_on(self, hear: OnMessage) -> None:
        """Have `hear` called with every message as it comes, from those that wait on; until the connection is over."""
        while self._queued:
            hear(await self.message())
        self._hear = hear
        try:
            await self.wait_closed()
        finally:
            self._hear = lambda _: None

    def process_event(self, event: Event) -> None:
        """See `Connection.process_event`: a frame has come, or the answer to our handshake."""
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
        elif self._hear is None:
            self._queued += event.opcode is not Opcode.CONT
            super().process_event(event)
        elif event.fin and not self._part:
            self._hear(event.data)
        else:
            self._part += event.data
            if event.fin:
                whole, self._part = self._part, bytearray()
                self._hear(whole)
