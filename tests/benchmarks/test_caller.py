"""A measured caller reports what was on the wire, even if it looks late."""

import asyncio
import math
from itertools import pairwise

import numpy as np
import pytest

from backend.media.opus import SILENCE_PACKET
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.peer import AudioPeer
from backend.transports.webrtc.srtp import Packet
from benchmarks.caller import MeasuredCaller
from benchmarks.drained import CallersLoop
from benchmarks.measurements import Kind
from benchmarks.microphone import spoken
from responder_thinker.signalling import Signalling, Ticket

pytestmark = pytest.mark.realtime

TONE = (np.sin(np.arange(24_000) * 2 * math.pi * 440 / 24_000) * 8000).astype("<i2").tobytes()

SLOTS = range(960, 96_000, 960)
"""Allowed steps between two timestamps: one slot, or more after a stall of this machine."""


class OneCall(Signalling):
    """Sends its offer to a peer in the same process."""

    def __init__(self, peer: AudioPeer) -> None:
        self._peer = peer

    async def offer(self, sdp: str, conversation_id: str | None = None) -> tuple[str, Ticket]:
        return await self._peer.answer(sdp), Ticket("session", "token")


def test_both_sides_hear_a_call_completely_and_in_order() -> None:
    with asyncio.Runner(loop_factory=CallersLoop) as runner:
        runner.run(_call())


async def _call() -> None:
    tone, at_server = spoken(TONE), list[Packet]()
    said = tone.with_pauses.packets
    left = [SILENCE_PACKET] * 50 + tone.without_pauses.packets
    server = AudioPeer(
        IceConfig(),
        next_payload=lambda: left.pop(0) if left else SILENCE_PACKET,
        on_packet=at_server.append,
        on_state=lambda _: None,
    )
    caller = MeasuredCaller()
    try:
        await caller.connect(OneCall(server))
        caller.listen()
        await caller.say(tone, Kind.QUESTION)
        await caller.until_audible("a tone", 30)
        await caller.until_quiet("its end", 10, 30)
        caller.stop_listening()
    finally:
        await caller.close()
        await server.close()
    heard = caller.heard.decoded()
    assert sum(peak > 6000 for peak in heard.packets.peak) in (50, 51)  # the codec rings on into the next packet
    assert all((later - earlier) % (1 << 32) in SLOTS for earlier, later in pairwise(heard.packets.timestamp))
    assert np.abs(np.frombuffer(heard.between(*caller.answers[0]), "<i2").astype(int)).max() > 7000
    assert [packet.payload for packet in at_server if packet.payload in said] == said
    assert all((later - earlier) % 65536 == 1 for earlier, later in pairwise([p.sequence_number for p in at_server]))
    steps = [(later - earlier) % (1 << 32) for earlier, later in pairwise([p.timestamp for p in at_server])]
    assert all(step % 960 == 0 for step in steps)
    assert 19 * 960 < max(steps) < 96_000
    utterance = caller.record.said[0]
    assert 0.9 < utterance.ended - utterance.began < 3.0
