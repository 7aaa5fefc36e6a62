"""A network that loses and breaks: put between a real peer and its socket."""

from __future__ import annotations

import random

from backend.transports.webrtc import aioice_sockets
from responder_thinker.webrtc import WebRTCCaller


class Network:
    """What happens to the media packets that `caller` sends; its reports and keep-alives go another way."""

    def __init__(self, caller: WebRTCCaller, seed: int = 7) -> None:
        self.loss = 0.0
        self._random = random.Random(seed)
        path = caller.peer.sender._path
        self._send = path.send
        vars(path)["send"] = self._pass_on

    def _pass_on(self, data: bytes) -> None:
        if self._random.random() >= self.loss:
            self._send(data)


def vanish(caller: WebRTCCaller) -> None:
    """The caller's machine loses its network: no goodbye, no answer."""
    aioice_sockets.abort(caller.peer._ice)
