"""The send pipeline turns the playout into an Opus packet every 20 ms, or none in a pause. Pure.

If the caller's offer asks for pauses (`usedtx=1`; RFC 7587, 7.1), they are sent as browsers send them to each other:
200 ms after the last sound a packet without content announces the pause, and then silence and such a packet come every
420 ms until audio plays again. This saves two thirds of a call's outgoing packets.

Packets carry redundancy (FEC) while the other side loses packets, by its reports (RTCP) every one to five seconds. A
call begins with redundancy. Two reports without loss end it, any loss brings it back, and then it takes many clean
reports to end it again: a network that loses packets once does so again. Pauses are sent only without redundancy: such
an encoder and decoder forget the past in silence, so that a pause leaves no trace in the next word. With redundancy the
word's first frame would have noise at -7 dB.
"""

from backend.media.opus import PLAIN_SILENCE_PACKET, OpusEncoder
from backend.media.playout import Playout

SETTLING = 10
"""The silent packets before a pause, as libopus sends them: 200 ms."""
PERIOD = 21
"""The slots after which a pause is announced again: 420 ms."""
NOTHING = b""
"""The payload in place of a packet that is not sent."""
NOTHING_FOLLOWS = PLAIN_SILENCE_PACKET[:1]
"""A packet without content: a header alone."""
CLEAN_AT_FIRST = 2
"""The reports without loss after which a new call goes on without redundancy."""
CLEAN_AFTER_LOSS = 15
"""The reports without loss after which a call that has lost packets does so: a minute, with a browser."""


class SendPipeline:
    """One loudspeaker. Raises `MissingLibrary` without libopus."""

    def __init__(self, playout: Playout) -> None:
        self.pauses = False
        """True if the caller's offer asks for pauses."""
        self._playout = playout
        self._encoder = OpusEncoder()
        self._clean_wanted = CLEAN_AT_FIRST
        self._silent = 0

    def next(self) -> bytes:
        """Return the payload of the slot that is due; `NOTHING` in a pause. Call this every 20 ms."""
        frame = self._playout.pull()
        if frame is not None:
            self._silent = 0
            return self._encoder.encode(frame)
        if not self.pauses or self.redundant:
            return self._encoder.rest()
        self._silent += 1
        if self._silent <= SETTLING:
            return self._encoder.rest()
        slot = (self._silent - SETTLING - 1) % PERIOD
        if slot == 0:
            return NOTHING_FOLLOWS
        return self._encoder.rest() if slot == PERIOD - 1 else NOTHING

    @property
    def redundant(self) -> bool:
        """Return whether packets carry redundancy."""
        return self._clean_wanted > 0

    def on_loss(self, lost: float) -> None:
        """Take a report that the share `lost` (0 to 1) of our packets got lost, and switch redundancy by it."""
        before = self.redundant
        self._clean_wanted = CLEAN_AFTER_LOSS if lost else max(0, self._clean_wanted - 1)
        if self.redundant is not before:
            self._encoder.set_fec(self.redundant)
            self._silent = 0  # the encoder has to come to rest again

    def close(self) -> None:
        """Release the encoder. Safe to call twice."""
        self._encoder.close()
