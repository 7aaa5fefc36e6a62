"""One measured caller: a real WebRTC peer that notes when each packet left and came, and what was in it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from backend.audio.opus import SILENCE_PACKET, BadPacket, OpusDecoder
from backend.client.signalling import Signalling, Ticket
from backend.errors import TransportLost
from backend.transports.peer import AudioPeer, PeerState
from backend.transports.rtp import Packet
from backend.transports.wire import WireConfig
from benchmarks.figures import AUDIBLE
from benchmarks.record import CallRecord, Kind, Utterance

CONNECT_WITHIN_S = 10.0
RESTED_AFTER = 10
"""Silent packets after which a decoder has nothing left to ring on with."""
CONNECTING = (PeerState.NEW, PeerState.CONNECTING)


class MeasuredCaller:
    """One call. `connect`, then `say` and the `until_…` waits, then `close`; everything goes into `record`."""

    def __init__(self, keep: int | None = None) -> None:
        """`keep`: of how many answers, the newest, the sound is kept; None: of all."""
        self.record = CallRecord(setup_s=0.0)
        self.kept: deque[bytes] = deque(maxlen=keep)
        """What was heard between `keep_hearing` and `stop_keeping`, 24 kHz mono PCM16."""
        self._keeping: bytearray | None = None
        self._speech: deque[bytes] = deque()
        self._began = self._ended = 0.0
        self._said = asyncio.Event()
        self._news = asyncio.Event()
        self._decoder = OpusDecoder()
        self._quiet_packets = 0
        self._peer = AudioPeer(
            WireConfig(),
            next_payload=self._next_payload,
            on_packet=self._on_packet,
            on_state=lambda _: self._news.set(),
        )

    def __repr__(self) -> str:
        return f"MeasuredCaller({self._peer.state}, {len(self.record.packets.at)} packets heard)"

    async def connect(self, signalling: Signalling) -> Ticket:
        """Place the call. Raises `CallRefused`, `TransportLost`."""
        offer = await self._peer.offer()
        posted = time.monotonic()
        answer, ticket = await signalling.offer(offer)
        await self._peer.accept(answer)
        await self._until("a connection", lambda: self._peer.state not in CONNECTING, CONNECT_WITHIN_S)
        if self._peer.state is not PeerState.CONNECTED:
            raise TransportLost("The connection failed.")
        self.record.setup_s = time.monotonic() - posted
        return ticket

    async def say(self, packets: list[bytes], kind: Kind) -> None:
        """Speak, and return when the last packet has been handed to the sender."""
        self._said.clear()
        self._began = 0.0
        self._speech.extend(packets)
        async with asyncio.timeout(len(packets) * 0.02 + CONNECT_WITHIN_S):
            await self._said.wait()
        self.record.said.append(Utterance(kind, self._began, self._ended))

    async def until_audible(self, what: str, within_s: float) -> None:
        """Wait for the next sound, expected to be `what`. Raises `TransportLost` when none comes."""
        await self._until(what, lambda: self._quiet_packets == 0 and bool(self.record.packets.at), within_s)

    async def until_quiet(self, what: str, packets: int, within_s: float) -> None:
        """Wait until so many packets in a row were silent. Raises `TransportLost` when they never are."""
        await self._until(what, lambda: self._quiet_packets >= packets, within_s)

    def keep_hearing(self) -> None:
        """Keep the sound from the next audible packet on."""
        self._keeping = bytearray()

    def stop_keeping(self) -> None:
        """Put what was kept into `kept`."""
        self.kept.append(bytes(self._keeping or b""))
        self._keeping = None

    async def close(self) -> None:
        """Hang up."""
        await self._peer.close()
        self._decoder.close()

    async def _until(self, what: str, fact: Callable[[], bool], within_s: float) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not fact():
                    if self._peer.state in (PeerState.FAILED, PeerState.CLOSED):
                        raise TransportLost("The call was lost.")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TransportLost(
                f"After {len(self.record.said)} utterances {what} did not come within {within_s:g} s."
            ) from None

    def _next_payload(self) -> bytes:
        if not self._speech:
            return SILENCE_PACKET
        now = time.monotonic()
        self._began = self._began or now
        packet = self._speech.popleft()
        if not self._speech:
            self._ended = now
            self._said.set()
        return packet

    def _on_packet(self, packet: Packet) -> None:
        now = time.monotonic()
        peak, pcm = self._listen(packet.payload)
        packets = self.record.packets
        packets.at.append(now)
        packets.sequence.append(packet.sequence_number)
        packets.timestamp.append(packet.timestamp)
        packets.peak.append(peak)
        self._quiet_packets = 0 if peak > AUDIBLE else self._quiet_packets + 1
        if self._keeping is not None and (self._keeping or peak > AUDIBLE):
            self._keeping += pcm
        self._news.set()

    def _listen(self, payload: bytes) -> tuple[int, bytes]:
        """The loudest sample, and the sound.

        The server's prepared silence, two thirds of all packets, is decoded only until the decoder rests as well: a
        hundred callers share one core.
        """
        resting = payload == SILENCE_PACKET and self._quiet_packets > RESTED_AFTER
        if resting and self._keeping is None:
            return 0, b""
        try:
            pcm = self._decoder.decode(payload)
        except BadPacket:
            return 0, b""
        return int(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max(initial=0)), pcm
