"""A browser's call: WebRTC in front of the session, media handled by us from the packet up.

In: packets → `Inlet` (order, decode, conceal, silence) → `Inbox` → whoever hears. Out: `Playout` → `Outlet` (Opus) → a
packet every 20 ms, or a pause. Frames are pulled when they are due and never before, so `hold`, `resume` and `flush`
act on the very next one.
"""

from __future__ import annotations

import asyncio

from backend.conversation.events import Heard
from backend.errors import NeverConnected, TransportLost
from backend.media.clock import current_beat
from backend.media.fec import Repair
from backend.media.playout import Playout
from backend.media.receive import Inlet
from backend.media.rtp import Packet
from backend.media.send import Outlet
from backend.runtime.timer import Alarm
from backend.transports.base import Ear, PlaybackListener
from backend.transports.receive_queue import Inbox
from backend.transports.webrtc.ice import WireConfig
from backend.transports.webrtc.offer import asks_for_pauses, sanitise_offer
from backend.transports.webrtc.peer import AudioPeer, PeerState


async def accept_offer(sdp: str, wire: WireConfig) -> tuple[str, WebRTCTransport]:
    """Answer a caller's offer: the SDP answer, and the transport of the call that now begins.

    Raises `BadOffer` for what we cannot answer and `TooMany` when no port is left; nothing stays open then.
    """
    offer = sanitise_offer(sdp)
    transport = WebRTCTransport(wire)
    try:
        answer = await transport.answer(offer)
    except BaseException:
        await transport.close()
        raise
    return answer, transport


class WebRTCTransport:
    """One call. Made by `accept_offer`; see `transports.base.Transport` for the contract."""

    def __init__(self, wire: WireConfig) -> None:
        self._wire = wire
        self._inbox = Inbox()
        self._inlet: Inlet | None = None
        self._playout = Playout()
        self._outlet = Outlet(self._playout)
        self._repair = Repair()
        self._alarm = Alarm(self._nobody)
        self._now = asyncio.get_running_loop().time
        self._beat = current_beat()
        self._peer = AudioPeer(
            wire,
            next_payload=self._next_payload,
            on_packet=self._on_packet,
            on_state=self._on_state,
            on_loss=self._on_loss,
            clocked=True,
        )

    def __repr__(self) -> str:
        return f"WebRTCTransport({self._peer.state}, {self._inbox!r}, {self._playout!r}, {self._peer.packets_out} out)"

    async def answer(self, offer: str) -> str:
        """The answer to a sanitised offer; from now on the caller has `connect_within_s` to connect."""
        answer = await self._peer.answer(offer)
        self._outlet.pauses = self._wire.pauses and asks_for_pauses(offer)
        self._alarm.set(self._now() + self._wire.connect_within_s)
        return answer

    async def hear(self, ear: Ear) -> None:
        """Give `ear` the caller's microphone; see the protocol."""
        await self._inbox.hear(ear)

    def listen(self, listener: PlaybackListener) -> None:
        """Tell `listener` when items start and when the queue drains."""
        self._playout.listener = listener

    def play(self, item: str, pcm: bytes) -> bool:
        """Queue reply audio; False when the queue is full."""
        return self._playout.push(item, pcm)

    def hold(self) -> None:
        """Silence from the next frame on."""
        self._playout.hold()

    def resume(self) -> None:
        """Go on from where it was held."""
        self._playout.resume()

    def flush(self) -> tuple[Heard, ...]:
        """Drop what is queued."""
        return self._playout.flush()

    async def close(self) -> None:
        """Hang up and release everything."""
        self._inbox.close()
        self._alarm.stop()
        await self._peer.close()
        self._outlet.close()
        if self._inlet is not None:
            self._inlet.close()

    def stats(self) -> dict[str, float]:
        """How the media flows, for metrics."""
        inward = self._inlet.stats() if self._inlet is not None else {}
        return inward | {
            "inbox_frames": len(self._inbox),
            "inbox_dropped": self._inbox.dropped,
            "packets_out": self._peer.packets_out,
            "slots_skipped": self._peer.slots_skipped,
            "worst_gap_ms": self._peer.worst_gap_ms,
            "queued_ms": self._playout.queued_ms,
        }

    def _next_payload(self) -> bytes:
        """The beat comes by every 20 ms: time to look for what is missing from the caller, too; what waits is not."""
        try:
            if self._inlet is not None and (late := self._inlet.expire(self._beat.read_all_at)):
                self._inbox.put(late)
            return self._outlet.next()
        except Exception:
            self._end(TransportLost("This call's audio failed."))  # rather than a caller who hears nothing, for ever
            raise

    def _on_packet(self, packet: Packet) -> None:
        if self._inlet is None or self._inbox.ended:
            return
        now = self._now()
        self._inbox.put(self._inlet.receive(packet.ssrc, packet.sequence_number, packet.timestamp, packet.payload, now))

    def _on_loss(self, lost: float) -> None:
        if self._repair.reported(lost) and not self._inbox.ended:
            self._outlet.repair(self._repair.wanted)

    def _on_state(self, state: PeerState) -> None:
        if self._inbox.ended:
            return
        match state:
            case PeerState.CONNECTED:
                self._inlet = Inlet(self._now(), lost_after_s=self._wire.lost_after_s)
                self._alarm.set(self._inlet.lost_at)
            case PeerState.FAILED:
                self._end(self._lost("The connection to the caller failed."))
            case PeerState.CLOSED:
                self._end(None)

    def _nobody(self) -> None:
        """The alarm: nobody has connected in time, or nothing has come for too long. Else it is set anew."""
        if self._inlet is None:
            self._end(self._lost("The caller did not connect in time."))
        elif self._inlet.lost_at <= self._now():
            self._end(self._lost("Nothing comes from the caller any more."))
        else:
            self._alarm.set(self._inlet.lost_at)

    def _lost(self, why: str) -> TransportLost:
        return TransportLost(why) if self._inlet is not None else NeverConnected(why)

    def _end(self, error: TransportLost | None) -> None:
        self._inbox.end(error)
        self._alarm.stop()
