"""Redundancy goes where packets get lost, and nowhere else."""

from __future__ import annotations

import asyncio

from backend.media.fec import CLEAN_AFTER_LOSS, CLEAN_AT_FIRST, FecController
from backend.media.opus import PLAIN_SILENCE_PACKET
from backend.media.rtp import Packet
from backend.transports.webrtc.aiortc_media import PacketReceiver
from tests.support.callers import webrtc_call


def test_a_new_call_has_it_until_the_network_has_shown_itself() -> None:
    repair = FecController()
    assert repair.wanted
    assert [repair.reported(0) for _ in range(CLEAN_AT_FIRST + 2)] == [False] * (CLEAN_AT_FIRST - 1) + [
        True,
        False,
        False,
    ]
    assert not repair.wanted


def test_any_loss_brings_it_back_for_long() -> None:
    repair = FecController()
    for _ in range(CLEAN_AT_FIRST):
        repair.reported(0)
    assert repair.reported(1 / 256)
    assert not any(repair.reported(0) for _ in range(CLEAN_AFTER_LOSS - 1))
    assert repair.wanted
    assert repair.reported(0)
    assert not repair.wanted


def test_loss_at_first_is_loss_all_the_same() -> None:
    repair = FecController()
    repair.reported(0.3)
    assert not any(repair.reported(0) for _ in range(CLEAN_AFTER_LOSS - 1))
    assert "reports more" in repr(repair)


async def test_a_real_call_that_loses_nothing_goes_on_without_it() -> None:
    async with webrtc_call() as (_, caller):
        receiver = caller.peer._transceiver.receiver
        assert isinstance(receiver, PacketReceiver)
        payloads: list[bytes] = []
        stock = receiver._on_packet

        def keep(packet: Packet) -> None:
            payloads.append(packet.payload)
            stock(packet)

        receiver._on_packet = keep
        async with asyncio.timeout(20):
            while PLAIN_SILENCE_PACKET not in payloads:  # noqa: ASYNC110 - reports come when they come
                await asyncio.sleep(0.05)
