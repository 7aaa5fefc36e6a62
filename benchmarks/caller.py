"""One measured caller: a real WebRTC peer that records the times of its packets, and the received content.

It is lean, because a hundred of them share a core with the Responder. ICE, DTLS, SRTP and RTP use the code of
`responder_thinker`. Speech was encoded before the call, and received sound is decoded after it.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable

from backend.errors import TransportLost
from backend.media.opus import EMPTY_BYTES, SILENCE_PACKET
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.peer import AudioPeer, PeerState
from backend.transports.webrtc.srtp import HEADER_BYTES
from benchmarks.chirp import CODEC_DELAY
from benchmarks.heard import SOAK_PACKETS, Heard
from benchmarks.line import Line
from benchmarks.measurements import CallMeasurements, Kind, Utterance
from benchmarks.microphone import Microphone, Spoken
from responder_thinker.signalling import Signalling, Ticket

CONNECT_WITHIN_S = 10.0
CONNECTING = (PeerState.NEW, PeerState.CONNECTING)
OPUS = re.compile(r"(a=rtpmap:(\d+) opus/48000/2\r\n)")
SOUND = 0
"""Stands for a number of silent packets."""


class MeasuredCaller:
    """One call. `connect`, then `say` and the `until_…` waits, then `close`; everything goes into `record`."""

    codec_delay = CODEC_DELAY
    """Samples at 24 kHz by which received sound is late."""

    def __init__(self, *, soak: bool = False) -> None:
        """`soak`: keep the newest packets only."""
        self.record = CallMeasurements(setup_s=0.0)
        self.heard = Heard(SOAK_PACKETS if soak else None)
        self.answers: deque[tuple[float, float]] = deque(maxlen=4 if soak else None)
        """The span of each heard answer, on the steady clock."""
        self._listening_since = 0.0
        self._microphone = Microphone()
        self._began = self._ended = 0.0
        self._said = asyncio.Event()
        self._news = asyncio.Event()
        self._quiet_packets = 1
        self._paused = False
        self._awaited = SOUND
        self._line: Line | None = None
        self._peer: AudioPeer | None = None

    def __repr__(self) -> str:
        return f"MeasuredCaller({self._peer}, {self.heard})"

    @property
    def stands(self) -> bool:
        """Whether there is a call."""
        return self._line is not None and not self._lost

    @property
    def _lost(self) -> bool:
        return self._peer is not None and self._peer.state in (PeerState.FAILED, PeerState.CLOSED)

    async def connect(self, signalling: Signalling) -> Ticket:
        """Place the call; again after `close`. Raises `CallRefused`, `TransportLost`."""
        self._microphone.clear()
        self._quiet_packets = 1
        peer = self._peer = AudioPeer(
            IceConfig(),
            next_payload=lambda: SILENCE_PACKET,
            on_packet=lambda _: None,
            on_state=lambda _: self._news.set(),
        )
        offer = await peer.offer()
        posted = time.monotonic()
        answer, ticket = await signalling.offer(OPUS.sub(r"\1a=fmtp:\2 usedtx=1\r\n", offer))  # as the page does
        await peer.accept(answer)
        await self._until("a connection", lambda: peer.state not in CONNECTING, CONNECT_WITHIN_S)
        if peer.state is not PeerState.CONNECTED:
            raise TransportLost("The connection failed.")
        self.record.setup_s = time.monotonic() - posted
        self._line = await Line.take_over(peer, self._next_payload, self._keep)
        return ticket

    async def say(self, spoken: Spoken, kind: Kind) -> None:
        """Speak, and return when the last packet has been handed to the sender."""
        speech = spoken.with_pauses
        self._said.clear()
        self._began = 0.0
        self._microphone.say(speech)
        async with asyncio.timeout(len(speech.packets) * 0.02 + CONNECT_WITHIN_S):
            await self._said.wait()
        self.record.said.append(Utterance(kind, self._began, self._ended))

    async def until_audible(self, what: str, within_s: float) -> None:
        """Wait for the next sound, expected to be `what`. Raises `TransportLost` when none comes."""
        self._awaited = SOUND
        await self._until(what, lambda: self._quiet_packets == 0, within_s)

    async def until_quiet(self, what: str, packets: int, within_s: float) -> None:
        """Wait for so many silent packets in a row. Raises `TransportLost` when they do not come."""
        self._awaited = packets
        await self._until(what, lambda: self._quiet_packets >= packets, within_s)

    def listen(self) -> None:
        """Note that an answer begins with the next audible packet."""
        self._listening_since = time.monotonic()

    def stop_listening(self) -> None:
        """Note that the answer was heard to its end."""
        self.answers.append((self._listening_since, time.monotonic()))

    async def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.leave()
            self._line = None
        if self._peer is not None:
            await self._peer.close()

    async def _until(self, what: str, fact: Callable[[], bool], within_s: float) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not fact():
                    if self._lost:
                        raise TransportLost("The call was lost.")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TransportLost(
                f"After {len(self.record.said)} utterances {what} did not come within {within_s:g} s."
            ) from None

    def _next_payload(self) -> bytes:
        if self._paused:
            self._was_quiet()
        if not self._microphone.left:
            return self._microphone.next()
        now = time.monotonic()
        self._began = self._began or now
        packet = self._microphone.next()
        if not self._microphone.left:
            self._ended = now
            self._said.set()
        return packet

    def _keep(self, packet: bytes, at: float) -> None:
        self._paused = len(packet) <= HEADER_BYTES + EMPTY_BYTES
        if self.heard.keep(packet, at):
            self._quiet_packets = 0
            if self._awaited == SOUND:
                self._news.set()
        elif not self._paused:
            self._was_quiet()

    def _was_quiet(self) -> None:
        """Wait 20 ms: by a packet, or in a pause by the clock."""
        self._quiet_packets += 1
        if self._quiet_packets == self._awaited:
            self._news.set()
