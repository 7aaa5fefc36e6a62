"""The WebSocket around the core: it reads client events, runs the handler and writes server events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import (
    Abort,
    CloseConnection,
    Discard,
    Effect,
    Feed,
    Listen,
    Open,
    Order,
    Send,
    SendText,
    Silenced,
    Stop,
)
from backend.realtime.serving.handler import Handler
from backend.realtime.serving.wire_log import WireLog

Part = TypeVar("Part")
OUTBOX_FULL = 4096
"""The most events that wait; with more the client counts as gone and the connection is broken."""
SEND_TIMEOUT_S = 30.0
"""The most seconds of a write; with more the client counts as gone."""


class _ConnectionEnded(Exception):
    """The connection has ended; unwinds its tasks."""


class Connection:
    """One client. `run` returns when the connection is over, with every task ended."""

    def __init__(
        self,
        socket: WebSocket,
        core: Realtime,
        handler: Handler,
        log: WireLog,
        *,
        abort: Callable[[], None],
    ) -> None:
        self._socket = socket
        self._core = core
        self._handler = handler
        self._log = log
        self._abort = abort
        self._outbox: asyncio.Queue[Send | SendText | CloseConnection | Abort] = asyncio.Queue(OUTBOX_FULL)
        self._answers: dict[str, tuple[Order, asyncio.Task[None]]] = {}
        self._group: asyncio.TaskGroup

    async def run(self) -> None:
        """Serve until either side ends it."""
        self._log.opened(self._core.conversation)
        try:
            async with asyncio.TaskGroup() as self._group:
                self._perform(self._core.open())
                self._group.create_task(self._write())
                self._group.create_task(self._read())
        except* _ConnectionEnded as ended:
            self._log.over(str(ended.exceptions[0]))

    async def _read(self) -> None:
        while True:
            try:
                message = await self._socket.receive_text()
            except WebSocketDisconnect as gone:
                raise _ConnectionEnded(f"client closed ({gone.code})") from None
            except KeyError:
                self._perform(self._core.malformed("Expected a text message that holds a JSON object."))
                continue
            self._receive(message)

    def _receive(self, message: str) -> None:
        try:
            event = msgspec.json.decode(message)
        except msgspec.DecodeError as error:
            self._log.received(None)
            self._perform(self._core.malformed(f"Could not parse the message as JSON: {error}"))
            return
        self._log.received(event)
        self._perform(self._core.receive(event))

    async def _write(self) -> None:
        while True:
            await self._write_one(await self._outbox.get())

    async def _write_one(self, order: Send | SendText | CloseConnection | Abort) -> None:
        match order:
            case Send(event):
                self._log.sent(event)
                await self._send(msgspec.json.encode(event).decode())
            case SendText(text):
                await self._send(text)
            case CloseConnection(code, reason):
                await self._socket.close(code, reason)
                raise _ConnectionEnded(f"closed {code} {reason}")
            case Abort():
                self._abort()
                raise _ConnectionEnded("aborted")

    async def _send(self, message: str) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):  # without the task that `wait_for` would make
                await self._socket.send_text(message)
        except (WebSocketDisconnect, RuntimeError, OSError):
            # Starlette raises each of these for a socket that closes during a write.
            raise _ConnectionEnded("client gone while writing") from None
        except TimeoutError:
            self._abort()
            raise _ConnectionEnded("client does not read") from None

    def _perform(self, effects: list[Effect]) -> None:
        """Carry out the core's effects, in order and without waiting."""
        for effect in effects:
            match effect:
                case Open(item_id):
                    self._take(self._handler.listen(), partial(self._core.partly_heard, item_id))
                case Feed(pcm):
                    self._handler.feed(pcm)
                case Discard():
                    self._handler.discard()
                case Silenced():
                    self._handler.silenced()
                case Listen(item):
                    self._take(self._handler.transcribe(item), partial(self._core.heard, item))
                case Order(response_id):
                    task = self._take(self._handler.answer(effect), partial(self._core.said, response_id))
                    self._answers[response_id] = (effect, task)
                    task.add_done_callback(partial(self._forget, response_id))
                case Stop(response_id):
                    self._stop(response_id)
                case Send() | SendText() | CloseConnection() | Abort():
                    self._enqueue(effect)

    def _enqueue(self, order: Send | SendText | CloseConnection | Abort) -> None:
        try:
            self._outbox.put_nowait(order)
        except asyncio.QueueFull:
            self._abort()

    def _take(self, parts: AsyncIterator[Part], take: Callable[[Part], list[Effect]]) -> asyncio.Task[None]:
        """Pass the parts to the core as they come."""
        return self._group.create_task(self._take_all(parts, take))

    async def _take_all(self, parts: AsyncIterator[Part], take: Callable[[Part], list[Effect]]) -> None:
        async with closing(parts):
            async for part in parts:
                self._perform(take(part))

    def _forget(self, response_id: str, _answered: asyncio.Task[None]) -> None:
        self._answers.pop(response_id, None)

    def _stop(self, response_id: str) -> None:
        order, _task = self._answers.get(response_id, (None, None))
        late_s = self._handler.lateness_s(order) if order else 0.0
        if late_s > 0:
            self._group.create_task(self._stop_later(response_id, late_s))
        else:
            self._stop_now(response_id)

    async def _stop_later(self, response_id: str, late_s: float) -> None:
        await asyncio.sleep(late_s)
        self._stop_now(response_id)

    def _stop_now(self, response_id: str) -> None:
        _order, task = self._answers.pop(response_id, (None, None))
        if task:
            task.cancel()
        self._perform(self._core.stopped(response_id))


@asynccontextmanager
async def closing(parts: AsyncIterator[object]) -> AsyncIterator[None]:
    """Close `parts` at the end, if it can be closed; work that it began, such as a request to a model, then ends."""
    try:
        yield
    finally:
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()
