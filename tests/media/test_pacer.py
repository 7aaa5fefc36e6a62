"""The 20 ms clock: no drift, no burst after a stall."""

from __future__ import annotations

import asyncio

import pytest

from backend.media.pacer import Pacer, slot_after


def test_slots_follow_each_other_on_time() -> None:
    assert [slot_after(slot, (slot + 1) * 0.02) for slot in (-1, 0, 7)] == [0, 1, 8]


def test_a_little_lateness_is_caught_up() -> None:
    assert slot_after(9, 10 * 0.02 + 0.039) == 10


def test_after_a_stall_the_missed_slots_are_skipped() -> None:
    assert slot_after(9, 10 * 0.02 + 0.5) == 35


def test_after_a_stall_at_most_two_slots_come_at_once() -> None:
    elapsed, slot, at_once = 5.3, 10, 0
    while (slot := slot_after(slot, elapsed)) * 0.02 <= elapsed:
        at_once += 1
    assert at_once <= 3


@pytest.mark.alone
async def test_slots_take_as_long_as_they_say() -> None:
    loop = asyncio.get_running_loop()
    pacer = Pacer()
    begun = loop.time()
    for _ in range(26):
        slot = await pacer.next_slot()
    assert loop.time() - begun == pytest.approx(slot * 0.02, abs=0.15)
    assert slot >= 25
    assert pacer.slots + pacer.skipped == slot + 1


async def test_a_stall_is_counted_and_shows_in_the_slot_numbers() -> None:
    pacer = Pacer()
    first = await pacer.next_slot()
    await asyncio.sleep(0.15)
    assert await pacer.next_slot() - first >= 6
    assert pacer.skipped >= 5
    assert pacer.worst_gap_ms >= 140
    assert "skipped" in repr(pacer)
