"""A measured caller: what it reports is what was on the wire, however late it looks."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from copy import copy
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backend.media.opus import SILENCE_PACKET
from backend.media.playout import Playout
from backend.media.send import CLEAN_AT_FIRST, SendPipeline
from backend.testing.speech import frames_of
from backend.transports.webrtc.aioice_sockets import Binding, MediaSocket, open_sockets
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.offer import asks_for_pauses
from backend.transports.webrtc.peer import AudioPeer
from backend.transports.webrtc.srtp import Packet, write_packet
from benchmarks.caller import MeasuredCaller
from benchmarks.drained import SO_TIMESTAMPNS, CallersLoop
from benchmarks.figures import AUDIBLE
from benchmarks.heard import Heard
from benchmarks.line import ANCILLARY_BYTES, moment
from benchmarks.microphone import packets_of, spoken
from benchmarks.page_reader import PageReader
from benchmarks.record import Kind
from responder_thinker.signalling import Signalling, Ticket

pytestmark = pytest.mark.realtime

TONE = (np.sin(np.arange(24_000) * 2 * math.pi * 440 / 24_000) * 8000).astype("<i2").tobytes()

SLOTS = range(960, 96_000, 960)
"""Between neighbours' timestamps: a slot, or more when this machine stalled."""


class OneCall(Signalling):
    """Offers straight to a peer in the same process."""

    def __init__(self, peer: AudioPeer) -> None:
        self._peer = peer
        self.offered = ""

    async def offer(self, sdp: str, conversation_id: str | None = None) -> tuple[str, Ticket]:
        self.offered = sdp
        return await self._peer.answer(sdp), Ticket("session", "token")


def test_a_call_is_heard_on_both_sides_in_order_and_whole() -> None:
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
        await caller.until_audible("a tone", 10)
        await caller.until_quiet("its end", 10, 10)
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


def test_in_a_pause_a_caller_knows_by_the_clock_how_long_it_has_been_quiet() -> None:
    with asyncio.Runner(loop_factory=CallersLoop) as runner:
        runner.run(_pausing_call())


async def _pausing_call() -> None:
    playout = Playout()
    pipeline = SendPipeline(playout)
    for _ in range(CLEAN_AT_FIRST):
        pipeline.on_loss(0)
    pipeline.pauses = True
    server = AudioPeer(IceConfig(), next_payload=pipeline.next, on_packet=lambda _: None, on_state=lambda _: None)
    caller, line = MeasuredCaller(), OneCall(server)
    try:
        await caller.connect(line)
        assert asks_for_pauses(line.offered)
        await asyncio.sleep(0.5)
        playout.push("a", TONE)
        await caller.until_audible("a tone", 10)
        began = time.monotonic()
        await caller.until_quiet("its end", 50, 10)
        assert time.monotonic() - began == pytest.approx(2.0, abs=0.2)
    finally:
        await caller.close()
        await server.close()
    packets = caller.heard.decoded().packets
    assert sum(peak > 6000 for peak in packets.peak) in (50, 51)
    assert sum(packets.ends) > 2 and len(packets.at) < 110


def test_a_caller_hears_what_comes_to_another_of_its_sockets_than_it_sends_from() -> None:
    with asyncio.Runner(loop_factory=CallersLoop) as runner:
        runner.run(_call_over_two_pairs())


async def _call_over_two_pairs() -> None:
    left = [SILENCE_PACKET] * 100 + packets_of(frames_of(TONE))
    server = AudioPeer(
        IceConfig(),
        next_payload=lambda: left.pop(0) if left else SILENCE_PACKET,
        on_packet=lambda _: None,
        on_state=lambda _: None,
    )
    caller = MeasuredCaller()
    try:
        line = TwoSockets(server, caller)
        await caller.connect(line)
        before = _ice(server)._nominated[1]
        _ice(server)._nominated[1] = SimpleNamespace(protocol=before.protocol, remote_addr=line.second(before))
        await caller.until_audible("a tone", 10)
        await caller.until_quiet("its end", 10, 10)
    finally:
        await caller.close()
        await server.close()
    assert sum(peak > 6000 for peak in caller.heard.decoded().packets.peak) in (50, 51)


class TwoSockets(OneCall):
    """The caller has one socket more on every address, which its offer does not tell of."""

    def __init__(self, peer: AudioPeer, caller: MeasuredCaller) -> None:
        super().__init__(peer)
        self._caller = caller
        self._second: dict[str, int] = {}

    async def offer(self, sdp: str, conversation_id: str | None = None) -> tuple[str, Ticket]:
        ice = _ice(self._caller._peer)
        for protocol in list(ice._protocols):
            host = protocol.local_candidate.host
            [(_, sock)] = open_sockets([Binding(host, host)], None)
            self._second[host] = sock.getsockname()[1]
            loop: Any = asyncio.get_running_loop()
            _, second = await loop.create_datagram_endpoint(lambda: MediaSocket(ice), sock=sock)
            second.local_candidate = copy(protocol.local_candidate)
            second.local_candidate.port = self._second[host]
            ice._protocols.append(second)
        return await super().offer(sdp, conversation_id)

    def second(self, pair: Any) -> tuple[str, int]:
        """The other address for what `pair` sends."""
        host = pair.remote_addr[0]
        return host, self._second[host]


def _ice(peer: AudioPeer | None) -> Any:
    assert peer is not None
    return peer._ice


def test_a_late_reader_knows_when_a_datagram_came() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as writer,
    ):
        reader.settimeout(5)
        reader.bind(("127.0.0.1", 0))
        reader.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS or 0, 1)
        arrivals = []
        for _ in range(3):  # the kernel begins to note moments a little after it is told to
            writer.sendto(b"media", reader.getsockname())
            sent = time.monotonic()
            time.sleep(0.2)  # late
            _, ancillary, _, _ = reader.recvmsg(100, ANCILLARY_BYTES)
            arrivals.append(moment(ancillary, time.time() - time.monotonic()) - sent)
    assert abs(arrivals[-1]) < 0.1


def test_what_was_heard_is_decoded_as_it_came_and_silence_known_unheard() -> None:
    heard = Heard()
    payloads = [SILENCE_PACKET] * 30 + packets_of(frames_of(TONE)) + [SILENCE_PACKET] * 30
    sounding = [
        heard.keep(write_packet(96, number, number * 960, 7, payload), number * 0.02)
        for number, payload in enumerate(payloads)
    ]
    decoded = heard.decoded()
    assert decoded.packets.sequence == list(range(110))
    assert not any(sounding[:30]) and all(sounding[30:80]) and not any(sounding[80:])
    audible = [peak > AUDIBLE for peak in decoded.packets.peak]
    assert audible.index(True) == 30 and all(audible[30:80]) and not any(audible[82:])
    assert len(decoded.between(0.0, 2.2)) == 80 * 960


def test_an_answer_that_is_no_longer_kept_is_not_judged() -> None:
    heard = Heard(most=10)
    for number in range(20):
        heard.keep(write_packet(96, number, number * 960, 7, SILENCE_PACKET), number * 0.02)
    assert heard.decoded().between(0.0, 0.4) == b""


def test_figures_are_read_from_a_stream_however_it_is_cut() -> None:
    event = b'event: turn_metrics\ndata: {"turn":1,"heard_ms":3.5,"spoken_ms":140}\nid: 4\n\n'
    stream = b"HTTP/1.1 200 OK\r\n\r\n2a\r\nevent: session_started\ndata: {}\nid: 1\n\n\r\n4f\r\n" + event + b"\r\n"
    for cut in range(1, len(stream)):
        page = PageReader()
        page.data_received(stream[:cut])
        page.data_received(stream[cut:])
        assert page.started.is_set()
        assert page.told() == [{"heard_ms": 3.5, "spoken_ms": 140.0}], cut
