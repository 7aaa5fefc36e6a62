"""A network that loses packets and breaks, between a real peer and its socket."""

import random

from backend.transports.webrtc import aioice_sockets
from responder_thinker.webrtc import WebRTCCaller


class Network:
    """A filter for the media packets that `caller` sends. Its reports and keep-alives take another path."""

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
    """The caller's machine loses its network without closing anything."""
    aioice_sockets.abort(caller.peer._ice)
