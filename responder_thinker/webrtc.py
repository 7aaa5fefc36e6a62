"""A program's call over WebRTC: a real peer that sends PCM as Opus, by the media clock, and decodes what it gets."""

import asyncio

from backend.errors import TransportLost
from backend.media.opus import SILENCE_PACKET, OpusEncoder
from backend.media.receive import VoiceDecoder
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.peer import AudioPeer, PeerState
from backend.transports.webrtc.srtp import Packet
from responder_thinker.caller import Caller, cut_frames


class WebRTCCaller(Caller):
    """One call: `offer`, give it to the server, `accept` the answer, wait until `connected`."""

    def __init__(self, config: IceConfig | None = None) -> None:
        super().__init__()
        self._news = asyncio.Event()
        self._decoder = VoiceDecoder()
        self._closed = False
        self.peer = AudioPeer(
            config or IceConfig(),
            next_payload=self._next_payload,
            on_packet=self._on_packet,
            on_state=self._on_state,
        )

    async def offer(self) -> str:
        """Return the SDP to send to the server."""
        return await self.peer.offer()

    async def accept(self, answer: str) -> None:
        """Take the server's SDP. Raises `BadOffer` if it is not an answer."""
        await self.peer.accept(answer)

    async def connected(self, within_s: float = 10.0) -> None:
        """Wait for the connection. Raises `TransportLost` if it fails or takes too long."""
        try:
            async with asyncio.timeout(within_s):
                while self.peer.state in (PeerState.NEW, PeerState.CONNECTING):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TransportLost(
                f"No connection within {within_s:g} s.", hint="UDP may be blocked. Try the transport ws."
            ) from None
        if self.peer.state is not PeerState.CONNECTED:
            raise TransportLost("The connection failed.", hint="UDP may be blocked. Try the transport ws.")

    def say(self, pcm: bytes) -> None:
        """Speak after earlier speech. The frames are encoded immediately (0.1 ms each)."""
        encoder = OpusEncoder()
        self._speak([encoder.encode(frame) for frame in cut_frames(pcm)])
        encoder.close()

    @property
    def hung_up(self) -> bool:
        return self._closed or self.peer.state in (PeerState.FAILED, PeerState.CLOSED)

    async def close(self) -> None:
        self._closed = True
        await self.peer.close()
        self._decoder.close()

    def _next_payload(self) -> bytes:
        if self._speech:
            return self._speech.popleft()
        self._silent.set()
        return SILENCE_PACKET

    def _on_state(self, state: PeerState) -> None:
        self._news.set()
        if state in (PeerState.FAILED, PeerState.CLOSED):
            self._silent.set()

    def _on_packet(self, packet: Packet) -> None:
        if self._closed:
            return
        now = asyncio.get_running_loop().time()
        frames = self._decoder.expire(now)
        frames += self._decoder.receive(packet.sequence_number, packet.timestamp, packet.payload, now)
        for frame in frames:
            self.received.add(frame, now)
