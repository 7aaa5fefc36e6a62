"""A network that loses, swaps and breaks: put between a real peer and its socket."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from aiortc.rtp import is_rtcp

from backend.client.webrtc import WebRTCCaller
from backend.transports import aioice_ports

Send = Callable[[bytes], Awaitable[None]]


class Network:
    """What happens to the media packets that `caller` sends; its reports and keep-alives pass."""

    def __init__(self, caller: WebRTCCaller, seed: int = 7) -> None:
        self.loss = 0.0
        self.swapping = 0.0
        self.sent = self.lost = 0
        self._random = random.Random(seed)
        self._kept_back: bytes | None = None
        transport = caller.peer._transceiver.sender.transport
        self._send: Send = transport._send_rtp
        vars(transport)["_send_rtp"] = self._pass_on

    async def _pass_on(self, data: bytes) -> None:
        if is_rtcp(data):
            await self._send(data)
            return
        self.sent += 1
        if self._random.random() < self.loss:
            self.lost += 1
            return
        if self._kept_back is None and self._random.random() < self.swapping:
            self._kept_back = data
            return
        await self._send(data)
        if self._kept_back is not None:
            await self._send(self._kept_back)
            self._kept_back = None


def vanish(caller: WebRTCCaller) -> None:
    """The caller's machine loses its network: no goodbye, no answer."""
    aioice_ports.abort(caller.peer._ice)
