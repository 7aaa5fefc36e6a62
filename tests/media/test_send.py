"""The send pipeline sends every frame of a reply, little in pauses, and redundancy only while packets get lost."""

import asyncio

import pytest

from backend.media.opus import EMPTY_BYTES, PLAIN_SILENCE_PACKET, OpusDecoder
from backend.media.playout import Playout
from backend.media.send import (
    CLEAN_AFTER_LOSS,
    CLEAN_AT_FIRST,
    NOTHING,
    NOTHING_FOLLOWS,
    PERIOD,
    SETTLING,
    SendPipeline,
)
from backend.transports.webrtc.aiortc_media import PacketReceiver
from backend.transports.webrtc.srtp import Packet
from tests.support.callers import webrtc_call
from tests.support.tones import tone


def pipeline(*, pauses: bool = True, losing: bool = False) -> tuple[Playout, SendPipeline]:
    playout = Playout()
    out = SendPipeline(playout)
    out.pauses = pauses
    if not losing:
        report(out, lost=0, times=CLEAN_AT_FIRST)
    return playout, out


def report(out: SendPipeline, *, lost: float, times: int = 1) -> None:
    for _ in range(times):
        out.on_loss(lost)


def sent(out: SendPipeline, slots: int) -> list[bytes]:
    return [out.next() for _ in range(slots)]


def test_a_caller_without_dtx_gets_a_packet_in_every_slot() -> None:
    _, out = pipeline(pauses=False)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 200))


def test_there_are_no_pauses_while_packets_get_lost() -> None:
    _, out = pipeline(losing=True)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 200))


def test_silence_after_200_ms_takes_two_packets_in_21_slots() -> None:
    _, out = pipeline()
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    pause = [NOTHING_FOLLOWS, *[NOTHING] * (PERIOD - 2), PLAIN_SILENCE_PACKET]
    assert sent(out, 3 * PERIOD) == pause * 3


def test_the_first_frame_of_a_voice_ends_a_pause() -> None:
    playout, out = pipeline()
    sent(out, SETTLING + 5)
    playout.push("a", tone(440, 40))
    assert all(len(packet) > 20 for packet in sent(out, 2))
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    assert out.next() == NOTHING_FOLLOWS


def test_the_first_loss_ends_a_pause() -> None:
    _, out = pipeline()
    sent(out, SETTLING + 5)
    report(out, lost=0.1)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, 100))
    report(out, lost=0, times=CLEAN_AFTER_LOSS)
    assert all(len(packet) > EMPTY_BYTES for packet in sent(out, SETTLING))
    assert out.next() == NOTHING_FOLLOWS


def test_a_word_after_a_pause_is_decoded_as_without_the_pause() -> None:
    pausing, sending = pipeline(), pipeline(pauses=False)
    heard = []
    for playout, out in (pausing, sending):
        decoder, sound = OpusDecoder(), b""
        for _ in range(2):
            playout.push("a", tone(440, 300))
            for packet in sent(out, 15 + SETTLING + 2 * PERIOD + 7):
                sound += decoder.conceal() if packet == NOTHING else decoder.decode(packet)
        heard.append(sound)
    assert heard[0] == heard[1]


def reported(out: SendPipeline, *losses: float) -> list[bool]:
    """Return whether packets carry redundancy after each of these reports."""
    carried = []
    for lost in losses:
        out.on_loss(lost)
        carried.append(out.redundant)
    return carried


def test_a_new_call_has_redundancy_until_its_network_proves_reliable() -> None:
    _, out = pipeline(losing=True)
    assert reported(out, 0, 0, 0) == [True, False, False]


@pytest.mark.parametrize("clean_before", [0, CLEAN_AT_FIRST])
def test_any_loss_brings_redundancy_back_for_long(clean_before: int) -> None:
    _, out = pipeline(losing=True)
    report(out, lost=0, times=clean_before)
    assert reported(out, 1 / 256, *[0.0] * CLEAN_AFTER_LOSS) == [True] * CLEAN_AFTER_LOSS + [False]


async def test_a_real_call_without_losses_drops_redundancy() -> None:
    async with webrtc_call() as (_, caller):
        receiver = caller.peer._transceiver.receiver
        assert isinstance(receiver, PacketReceiver)
        payloads: list[bytes] = []
        stock = receiver._on_packet

        def keep(packet: Packet) -> None:
            payloads.append(packet.payload)
            stock(packet)

        receiver._on_packet = keep
        async with asyncio.timeout(40):
            while PLAIN_SILENCE_PACKET not in payloads:  # noqa: ASYNC110 - the time of reports is random
                await asyncio.sleep(0.05)
