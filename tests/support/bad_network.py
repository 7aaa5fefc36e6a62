"""A network that loses, swaps and breaks: put between a real peer and its socket."""

from __future__ import annotations

import random

from backend.transports.webrtc import aioice_sockets
from responder_thinker.webrtc import WebRTCCaller


class Network:
    """What happens to the media packets that `caller` sends; its reports and keep-alives go another way."""

    def __init__(self, caller: WebRTCCaller, seed: int = 7) -> None:
        self.loss = 0.0
        self.swapping = 0.0
        self.sent = self.lost = 0
        self._random = random.Random(seed)
        self._kept_back: bytes | None = None
        path = caller.peer.sender._path
        self._send = path.send
        vars(path)["send"] = self._pass_on

    def _pass_on(self, data: bytes) -> None:
        self.sent += 1
        if self._random.random() < self.loss:
            self.lost += 1
            return
        if self._kept_back is None and self._random.random() < self.swapping:
            self._kept_back = data
            return
        self._send(data)
        if self._kept_back is not None:
            self._send(self._kept_back)
            self._kept_back = None


def vanish(caller: WebRTCCaller) -> None:
    """The caller's machine loses its network: no goodbye, no answer."""
    aioice_sockets.abort(caller.peer._ice)
