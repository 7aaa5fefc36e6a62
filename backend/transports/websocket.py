"""The WebSocket transport: a call without UDP, in the messages of `websocket_framing`, by the same media clock."""

from collections.abc import Mapping
from typing import Any

from backend.transports.socket_transport import SocketTransport
from backend.transports.websocket_framing import (
    FLUSH,
    READY,
    Audio,
    Bye,
    MessageRefused,
    Ping,
    read_binary,
    read_text,
    write_audio,
    write_bye,
)


class WebSocketTransport(SocketTransport):
    """One call of a client that uses this server's own framing."""

    async def _receive_message(self, received: Mapping[str, Any]) -> None:
        data = received.get("bytes")
        match read_binary(data) if data is not None else read_text(received.get("text") or ""):
            case Audio(pcm):
                await self._receive_audio(pcm)
            case Bye():
                self._end(None)
            case MessageRefused(code, reason):
                self._end(None)
                await self._leave(code, reason)
            case Ping():
                pass

    async def _begin(self) -> None:
        await self._send(READY)

    async def _send_slot(self) -> None:
        if self._flushed:
            self._flushed = False
            await self._send(FLUSH)
        frame = self._playout.pull()
        if frame is not None:
            await self._send(write_audio(self._item, frame))

    async def _say_bye(self, reason: str) -> None:
        await self._socket.send_text(write_bye(reason))
