"""Media out: what the caller is to hear becomes a packet every 20 ms, or none while there is nothing to hear.

A caller whose offer asks for it (`usedtx=1`; RFC 7587, 7.1) is sent pauses, as browsers send them to each other: 200 ms
after the last sound a packet without content, which says that nothing follows, and then silence and such a packet every
420 ms, until there is something to hear again. Two thirds of a call's packets out are not sent then.

Only while no redundancy is wanted, that is, while nothing gets lost (see `repair`): such an encoder and decoder forget
the past in silence, so that a pause leaves no trace in the next word. With redundancy its first frame would come with
noise at -7 dB. Pure: no clock, no socket.
"""

from __future__ import annotations

from backend.media.opus import PLAIN_SILENCE_PACKET, OpusEncoder
from backend.media.playout import Playout

SETTLING = 10
"""Silent packets before a pause, as libopus sends them: 200 ms."""
PERIOD = 21
"""Slots after which it is said again that nothing follows: 420 ms."""
NOTHING = b""
"""In place of a packet that is not sent."""
NOTHING_FOLLOWS = PLAIN_SILENCE_PACKET[:1]
"""A packet without content: a header alone."""


class SendPipeline:
    """One loudspeaker. Raises `MissingLibrary` without libopus."""

    def __init__(self, playout: Playout) -> None:
        self.pauses = False
        """Whether the caller has asked for them."""
        self._playout = playout
        self._encoder = OpusEncoder()
        self._repairing = True  # an encoder's way until it is told
        self._silent = 0

    def __repr__(self) -> str:
        return f"SendPipeline({self._playout!r}, {self._silent} silent slots)"

    def next(self) -> bytes:
        """The payload of the slot that is due; `NOTHING` in a pause. Call it every 20 ms."""
        frame = self._playout.pull()
        if frame is not None:
            self._silent = 0
            return self._encoder.encode(frame)
        if not self.pauses or self._repairing:
            return self._encoder.rest()
        self._silent += 1
        if self._silent <= SETTLING:
            return self._encoder.rest()
        slot = (self._silent - SETTLING - 1) % PERIOD
        if slot == 0:
            return NOTHING_FOLLOWS
        return self._encoder.rest() if slot == PERIOD - 1 else NOTHING

    def repair(self, wanted: bool) -> None:
        """Whether packets carry what is needed to rebuild the one before; at first they do."""
        self._encoder.repair(wanted)
        self._repairing = wanted
        self._silent = 0  # the encoder has to come to rest anew

    def close(self) -> None:
        """Release the encoder. Safe to call twice."""
        self._encoder.close()
