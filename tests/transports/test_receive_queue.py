"""What stands between wire and session: bounded, in order, and ended once."""

from __future__ import annotations

import asyncio

import pytest

from backend.errors import TransportLost
from backend.media.frame import FRAME_BYTES, Frame
from backend.transports.base import QUEUE_FRAMES, ReceiveQueue


def numbered(n: int) -> Frame:
    return Frame(n.to_bytes(2, "little") * (FRAME_BYTES // 2))


async def rest(queue: ReceiveQueue) -> list[Frame]:
    heard: list[Frame] = []
    await queue.receive_frames(heard.append)
    return heard


async def test_the_oldest_fall_out_of_a_full_inbox() -> None:
    queue = ReceiveQueue()
    queue.enqueue(numbered(n) for n in range(QUEUE_FRAMES + 7))
    queue.end()
    assert await rest(queue) == [numbered(n) for n in range(7, QUEUE_FRAMES + 7)]


async def test_what_was_kept_is_heard_first_and_the_rest_at_once() -> None:
    queue, heard = ReceiveQueue(), list[Frame]()
    queue.enqueue([numbered(1), numbered(2)])
    receiving = asyncio.create_task(queue.receive_frames(heard.append))
    await asyncio.sleep(0)
    assert heard == [numbered(1), numbered(2)]
    queue.enqueue([numbered(3), numbered(4)])
    assert heard == [numbered(n) for n in (1, 2, 3, 4)]
    assert len(queue) == 0
    queue.end()
    queue.enqueue([numbered(5)])
    await asyncio.wait_for(receiving, 1)
    assert heard[-1] == numbered(4)


@pytest.mark.parametrize("hears_already", [False, True])
async def test_an_error_comes_after_what_was_kept(hears_already: bool) -> None:
    queue, heard = ReceiveQueue(), list[Frame]()
    queue.enqueue([numbered(1)])
    receiving = asyncio.ensure_future(queue.receive_frames(heard.append))
    if hears_already:
        await asyncio.sleep(0)
    queue.end(TransportLost("gone"))
    queue.end()
    with pytest.raises(TransportLost, match="gone"):
        await asyncio.wait_for(receiving, 1)
    assert heard == [numbered(1)]


async def test_closing_forgets_what_was_kept_and_the_error() -> None:
    queue = ReceiveQueue()
    queue.enqueue([numbered(1)])
    queue.end(TransportLost("gone"))
    queue.close()
    assert await rest(queue) == []


async def test_nothing_is_heard_after_closing_or_hanging_up_the_ear() -> None:
    for stop in ("close", "cancel"):
        queue, heard = ReceiveQueue(), list[Frame]()
        receiving = asyncio.create_task(queue.receive_frames(heard.append))
        await asyncio.sleep(0)
        queue.enqueue([numbered(1)])
        queue.close() if stop == "close" else receiving.cancel()
        await asyncio.wait([receiving])
        queue.enqueue([numbered(2)])
        assert heard == [numbered(1)]


@pytest.mark.parametrize("kept", [0, 1], ids=["heard at once", "kept"])
async def test_a_fault_of_the_ear_is_raised_where_it_hears_and_not_where_frames_come_from(kept: int) -> None:
    def fail(frame: Frame) -> None:
        raise RuntimeError("a mistake")

    queue = ReceiveQueue()
    queue.enqueue([numbered(1)] * kept)
    receiving = asyncio.create_task(queue.receive_frames(fail))
    await asyncio.sleep(0)
    queue.enqueue([numbered(2)])
    queue.enqueue([numbered(3)])
    with pytest.raises(RuntimeError, match="a mistake"):
        await asyncio.wait_for(receiving, 1)


async def test_room_comes_when_everything_has_been_heard() -> None:
    queue = ReceiveQueue()
    queue.enqueue([numbered(1), numbered(2)])
    waiting = asyncio.create_task(queue.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    receiving = asyncio.create_task(queue.receive_frames(lambda frame: None))
    await asyncio.wait_for(waiting, 1)
    queue.enqueue([numbered(3)])
    await asyncio.wait_for(queue.room(), 1)
    queue.close()
    await receiving
