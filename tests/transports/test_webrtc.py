"""Calls between two real peers on this machine: how they connect, which faults they survive, and that nothing leaks."""

import asyncio
import random
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from aiortc.rtp import RtpPacket

from backend.errors import BadOffer, MediaFailed, NeverConnected, TransportLost
from backend.media.frame import Frame
from backend.transports.udp import current_socket_reader
from backend.transports.webrtc import peer as peers
from backend.transports.webrtc.aioice_sockets import MediaPath
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.srtp import Packet
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from backend.turns.events import PlaybackEvent
from responder_thinker.webrtc import WebRTCCaller
from tests.support.bad_network import Network, vanish
from tests.support.callers import webrtc_call
from tests.support.leaks import holdings, released
from tests.support.offers import CHROMIUM, FIREFOX, candidate, with_candidates, without
from tests.support.tones import audible, pitch, tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

LOCAL_NAME = candidate("5e2a6e29-86bd-4b8e-8a68-b47b7f4d0ff9.local", 47465)


class Reader:
    """Collects a transport's frames with their times."""

    def __init__(self, transport: WebRTCTransport) -> None:
        self.frames: list[tuple[float, Frame]] = []
        self.task = asyncio.create_task(transport.receive_frames(self._hear))

    def _hear(self, frame: Frame) -> None:
        self.frames.append((asyncio.get_running_loop().time(), frame))

    def speech(self) -> list[tuple[float, Frame]]:
        return [(at, frame) for at, frame in self.frames if audible(frame)]

    def gaps(self) -> list[float]:
        """Seconds between frames, the shortest first."""
        return sorted(later - sooner for (sooner, _), (later, _) in pairwise(self.frames))


@asynccontextmanager
async def read_call(wire: IceConfig | None = None) -> AsyncIterator[tuple[WebRTCTransport, WebRTCCaller, Reader]]:
    async with webrtc_call(wire) as (transport, caller):
        reader = Reader(transport)
        try:
            yield transport, caller, reader
        finally:
            reader.task.cancel()
            await asyncio.gather(reader.task, return_exceptions=True)


async def connect_seconds(candidates: list[str]) -> float:
    """Seconds until a call with these candidates in its offer is connected."""
    loop = asyncio.get_running_loop()
    caller = WebRTCCaller()
    offer = with_candidates(await caller.offer(), candidates)
    begun = loop.time()
    answer, transport = await accept_offer(offer, IceConfig())
    try:
        await caller.accept(answer)
        await caller.connected()
        return loop.time() - begun
    finally:
        await caller.close()
        await transport.close()


# --- connecting ---------------------------------------------------------------------------------------


@pytest.mark.alone
@pytest.mark.parametrize(
    "candidates",
    [[LOCAL_NAME] * 3, [], [candidate("198.51.100.9", 4000 + n) for n in range(100)]],
    ids=["local names", "none", "a hundred strangers"],
)
async def test_browsers_candidates_do_not_delay_the_connection(candidates: list[str]) -> None:
    assert await connect_seconds(candidates) < 1.0


@pytest.mark.parametrize("offer", [CHROMIUM, FIREFOX], ids=["chromium", "firefox"])
async def test_browsers_offers_are_answered_with_opus_only_and_all_candidates(offer: str) -> None:
    answer, transport = await accept_offer(offer, IceConfig())
    await transport.close()
    assert re.findall(r"a=rtpmap:\d+ (\S+)", answer) == ["opus/48000/2"]
    assert "useinbandfec=1" in answer and "usedtx=1" in answer
    assert "a=sendrecv" in answer
    assert "a=candidate:" in answer
    assert "a=end-of-candidates" in answer


async def test_eight_parallel_calls_keep_their_voices_apart() -> None:
    async def one(hertz: float) -> tuple[float, float]:
        async with read_call() as (transport, caller, reader):
            caller.say(tone(hertz, 800))
            transport.play("a", tone(hertz + 100, 800))
            await asyncio.sleep(1.2)
            said = b"".join(frame for _, frame in reader.speech())
            heard = b"".join(heard.frame for heard in caller.received.frames if heard.audible)
            return pitch(said), pitch(heard)

    async with asyncio.timeout(60):
        pitches = await asyncio.gather(*(one(400 + 250 * n) for n in range(8)))
    for n, (said, heard) in enumerate(pitches):
        assert said == pytest.approx(400 + 250 * n, abs=20)
        assert heard == pytest.approx(500 + 250 * n, abs=20)


async def test_a_caller_that_never_connects_is_lost() -> None:
    caller = WebRTCCaller()
    _, transport = await accept_offer(await caller.offer(), IceConfig(connect_within_s=0.3))
    with pytest.raises(NeverConnected, match="did not connect"):
        await read_all(transport, within_s=10)
    await transport.close()
    await caller.close()


async def test_a_caller_with_another_certificate_is_lost_immediately() -> None:
    caller = WebRTCCaller()
    offer = re.sub(r"sha-(256|384|512) ..", r"sha-\1 00", await caller.offer())
    answer, transport = await accept_offer(offer, IceConfig())
    await caller.accept(answer)
    with pytest.raises(NeverConnected, match="failed"):
        await read_all(transport, within_s=20)
    await transport.close()
    await caller.close()


# --- the caller's audio -------------------------------------------------------------------------------


async def test_waiting_packets_do_not_count_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy core packets may wait for longer than the time after which silence replaces missing ones."""
    async with read_call() as (_, caller, reader):
        caller.say(tone(500, 2000))
        await until(lambda: len(reader.speech()) > 10)
        reader_of_all = current_socket_reader()
        reads, read = reader_of_all._media_clock._readers, reader_of_all._read
        monkeypatch.setitem(reads, lambda _until: None, None)
        del reads[read]
        heard, to_say = len(reader.frames), len(caller._speech)
        await until(lambda: len(caller._speech) <= to_say - 12)  # they are sent, and wait
        assert len(reader.frames) == heard
        reads[read] = None
        await until(lambda: len(reader.frames) >= heard + 10)
        voice = [audible(frame) for _, frame in reader.frames[heard : heard + 10]]
        assert voice.count(False) <= 1


async def test_the_callers_own_statistics_see_the_loss() -> None:
    async with webrtc_call() as (_, caller):
        network = Network(caller)
        network.loss = 0.3
        sender = caller.peer._transceiver.sender
        async with asyncio.timeout(20):
            while True:
                report = await sender.getStats()
                remote = [stats for stats in report.values() if stats.type == "remote-inbound-rtp"]
                if remote and remote[0].packetsLost > 0 and remote[0].packetsReceived > 0:
                    break
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "datagram",
    [b"", b"\x80", b"\x80\x60" + bytes(40), b"\x90\x60" + b"\xff" * 40, b"\xbf" * 12, b"\x00\x01" + bytes(18)],
    ids=["empty", "one byte", "forged", "forged extension", "all sources", "no STUN"],
)
async def test_a_strangers_datagrams_do_not_end_a_call(datagram: bytes) -> None:
    async with read_call() as (_, caller, reader):
        host, port = caller.peer._ice._nominated[1].remote_addr
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(5):
                stranger.sendto(datagram, (host, port))
        caller.say(tone(500, 300))
        await caller.said()
        await asyncio.sleep(0.2)
        assert len(reader.speech()) == pytest.approx(15, abs=2)


async def test_a_caller_that_dies_silently_is_lost() -> None:
    async with webrtc_call(IceConfig(lost_after_s=0.5)) as (transport, caller):
        begun = asyncio.get_running_loop().time()
        vanish(caller)
        with pytest.raises(TransportLost, match="sends nothing more"):
            await read_all(transport, within_s=20)
        assert asyncio.get_running_loop().time() - begun > 0.4


async def test_a_caller_that_hangs_up_is_noticed_immediately() -> None:
    async with webrtc_call() as (transport, caller):
        await caller.close()
        await read_all(transport, within_s=10)


# --- the reply's audio --------------------------------------------------------------------------------


class NotingCaller(WebRTCCaller):
    """Records each packet and its time of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[tuple[float, Packet]] = []

    def _on_packet(self, packet: Packet) -> None:
        self.packets.append((asyncio.get_running_loop().time(), packet))


@pytest.mark.document("001", "audio path")
async def test_packets_leave_on_the_beat_with_correct_timestamps() -> None:
    noting = NotingCaller()
    async with webrtc_call(caller=noting) as (transport, _):
        transport.play("a", tone(500, 400))
        await asyncio.sleep(1.0)
        times, packets = zip(*noting.packets, strict=True)
    first = packets[0].sequence_number
    assert [p.sequence_number for p in packets] == list(range(first, first + len(packets)))
    assert {(p.timestamp - packets[0].timestamp) % 960 for p in packets} == {0}
    stamped = [(p.timestamp - packets[0].timestamp) / 48_000 for p in packets]
    took = [at - times[0] for at in times]
    off = sorted(abs(really - said) for really, said in zip(took, stamped, strict=True))
    assert off[len(off) // 2] < 0.05
    assert stamped[-1] == pytest.approx(took[-1], abs=0.15)


@pytest.mark.alone
async def test_our_path_adds_little_more_than_a_frame_in_each_direction() -> None:
    inward, outward = [], []
    async with read_call() as (transport, caller, reader):
        loop = asyncio.get_running_loop()

        async def heard_after(at: float) -> float:
            await until(lambda: any(heard.audible and heard.at > at for heard in caller.received.frames))
            return next(heard.at for heard in caller.received.frames if heard.audible and heard.at > at)

        async def said_after(begun: float) -> float:
            await until(lambda: any(at > begun for at, _ in reader.speech()))
            return next(at for at, _ in reader.speech() if at > begun)

        for _ in range(5):
            transport.play("a", tone(500, 40))
            played_at = loop.time()
            await asyncio.sleep(0.15)
            outward.append(await heard_after(played_at) - played_at)
            caller.say(tone(500, 40))
            said_at = loop.time()
            await asyncio.sleep(0.15)
            inward.append(await said_after(said_at) - said_at)
    assert min(outward) < 0.025, "the best of five: our share without the delay of a busy machine"
    assert min(inward) < 0.025


async def test_a_caller_that_asked_for_pauses_gets_them_and_its_clock_goes_on() -> None:
    caller, came = WebRTCCaller(), list[RtpPacket]()
    offer = re.sub(r"(a=rtpmap:(\d+) opus/48000/2\r\n)", r"\1a=fmtp:\2 usedtx=1\r\n", await caller.offer())
    answer, transport = await accept_offer(offer, IceConfig())

    class Noting:
        """A session that keeps each packet that it has unprotected."""

        def unprotect(self, data: bytes) -> bytes:
            plain: bytes = stock.unprotect(data)
            came.append(RtpPacket.parse(plain))
            return plain

    try:
        await caller.accept(answer)
        await caller.connected()
        receiver: Any = caller.peer._transceiver.receiver
        stock, receiver._srtp = receiver._srtp, Noting()
        await until(lambda: sum(len(packet.payload) == 1 for packet in came) > 2, 15)
        transport.play("a", tone(500, 200))
        await until(lambda: any(heard.audible for heard in caller.received.frames))
    finally:
        await transport.close()
        await caller.close()
    assert all((later.sequence_number - sooner.sequence_number) % 65536 == 1 for sooner, later in pairwise(came))
    assert all(later.marker == (len(sooner.payload) == 1) for sooner, later in pairwise(came))
    assert max((later.timestamp - sooner.timestamp) % 2**32 for sooner, later in pairwise(came)) >= 20 * 960


async def test_a_mistake_in_the_outgoing_audio_ends_the_call() -> None:
    def stumble(event: PlaybackEvent) -> None:
        raise RuntimeError("a mistake")

    async with webrtc_call() as (transport, _):
        transport.listen_to_playback(stumble)
        transport.play("a", tone(500, 100))
        with pytest.raises(MediaFailed, match="audio failed"):
            await read_all(transport, within_s=10)


# --- leaks --------------------------------------------------------------------------------------------


async def test_twenty_calls_leave_no_file_socket_or_thread() -> None:
    async with webrtc_call():
        pass
    before = holdings()
    for _ in range(5):
        await asyncio.gather(*(short_call() for _ in range(4)))
    await released(before)


async def short_call() -> None:
    async with webrtc_call() as (transport, _):
        transport.play("a", tone(500, 100))


BAD_OFFERS = [
    "garbage",
    without(CHROMIUM, "a=rtcp-mux"),
    CHROMIUM.replace("a=rtpmap:9 G722/8000", "a=rtpmap:nine G722"),
    CHROMIUM.replace("a=fmtp:111", "a=fmtp:77"),
    CHROMIUM.replace("c=IN IP4 0.0.0.0", "c=IN IP9 nowhere"),
    CHROMIUM.replace("a=ssrc:222909738", "a=ssrc:x"),
    CHROMIUM.replace("UDP/TLS/RTP/SAVPF", "udp"),
    CHROMIUM.replace("m=audio 9", "m=audio x"),
    CHROMIUM.replace("a=setup:actpass", "a=setup:actpass\r\na=setup:?"),
]


async def test_bad_offers_are_refused_and_leave_nothing_behind() -> None:
    before = holdings()
    assert [await accepted(offer) for offer in BAD_OFFERS] == [False] * len(BAD_OFFERS)
    await released(before)


async def test_a_damaged_offer_raises_nothing_but_a_bad_offer_error() -> None:
    before = holdings()
    chance = random.Random(11)
    outcomes = [await accepted(damaged(FIREFOX, chance)) for _ in range(60)]
    assert outcomes.count(False) > 5
    assert outcomes.count(True) > 5
    await released(before)


async def accepted(offer: str) -> bool:
    """Whether an offer is accepted (aiortc can do without some lines); the call is closed again."""
    try:
        _, transport = await accept_offer(offer, IceConfig(force_host="127.0.0.1"))
    except BadOffer:
        return False
    await transport.close()
    return True


def damaged(sdp: str, chance: random.Random) -> str:
    """The offer with three random lines cut short, doubled, swapped, or sprinkled with other characters."""
    lines = sdp.splitlines()
    for _ in range(3):
        at = chance.randrange(len(lines))
        line = lines[at]
        match chance.randrange(4):
            case 0:
                lines[at] = line[: chance.randrange(len(line) + 1)]
            case 1:
                lines.insert(at, line)
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], line
            case 3:
                cut = chance.randrange(len(line) + 1)
                lines[at] = line[:cut] + chance.choice(["é", " ", ":", "-1", "99999999999", "/"]) + line[cut:]
    return "\r\n".join(lines) + "\r\n"


async def test_an_abandoned_offer_leaves_nothing_behind() -> None:
    before = holdings()
    outcomes = [await abandoned(steps) for steps in range(12)]
    assert False not in outcomes[:3]
    await released(before)


async def abandoned(steps: int) -> bool:
    """Cancel the answering after some turns of the loop; returns whether that was in time."""
    answering = asyncio.create_task(accept_offer(CHROMIUM, IceConfig()))
    for _ in range(steps):
        await asyncio.sleep(0)
    answering.cancel()
    try:
        _, transport = await answering
    except asyncio.CancelledError:
        return True
    await transport.close()
    return False


async def test_every_kind_of_loss_leaves_nothing_behind() -> None:
    before = holdings()
    await test_a_caller_that_dies_silently_is_lost()
    await test_a_caller_that_never_connects_is_lost()
    await test_a_caller_with_another_certificate_is_lost_immediately()
    await released(before)


async def test_a_packet_for_a_socket_that_has_just_closed_is_dropped() -> None:
    async with webrtc_call() as (_, caller):
        connection = caller.peer._connection.getSenders()[0].transport.transport._connection
        path = MediaPath(connection)
        connection._nominated[1].protocol.transport.close()
        await asyncio.sleep(0)
        assert connection._nominated
        path.send(b"a packet")


async def test_a_peer_that_does_not_close_loses_its_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "CLOSE_WITHIN_S", 0.1)
    async with webrtc_call() as (transport, _):
        forever = asyncio.Event()
        connection = transport._peer._connection
        close = connection.close
        vars(connection)["close"] = forever.wait
        begun = asyncio.get_running_loop().time()
        await transport.close()
        assert asyncio.get_running_loop().time() - begun < 10
        assert all(protocol.transport.is_closing() for protocol in transport._peer._ice._protocols)
        forever.set()
        await close()


async def read_all(transport: WebRTCTransport, within_s: float) -> list[Frame]:
    frames: list[Frame] = []
    async with asyncio.timeout(within_s):
        await transport.receive_frames(frames.append)
    return frames
