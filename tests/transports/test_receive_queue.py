"""The queue between network and session: bounded, in order, and ended once."""

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


async def test_the_oldest_frames_fall_out_of_a_full_queue() -> None:
    queue = ReceiveQueue()
    queue.enqueue(numbered(n) for n in range(QUEUE_FRAMES + 7))
    queue.end()
    assert await rest(queue) == [numbered(n) for n in range(7, QUEUE_FRAMES + 7)]


async def test_queued_frames_are_heard_first_and_later_ones_directly() -> None:
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
    await asyncio.wait_for(receiving, 10)
    assert heard[-1] == numbered(4)


@pytest.mark.parametrize("hears_already", [False, True])
async def test_an_error_comes_after_the_queued_frames(hears_already: bool) -> None:
    queue, heard = ReceiveQueue(), list[Frame]()
    queue.enqueue([numbered(1)])
    receiving = asyncio.ensure_future(queue.receive_frames(heard.append))
    if hears_already:
        await asyncio.sleep(0)
    queue.end(TransportLost("gone"))
    queue.end()
    with pytest.raises(TransportLost, match="gone"):
        await asyncio.wait_for(receiving, 10)
    assert heard == [numbered(1)]


async def test_closing_drops_queued_frames_and_the_error() -> None:
    queue = ReceiveQueue()
    queue.enqueue([numbered(1)])
    queue.end(TransportLost("gone"))
    queue.close()
    assert await rest(queue) == []


async def test_nothing_is_heard_after_closing_or_after_detaching_the_listener() -> None:
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
async def test_an_error_of_the_listener_is_raised_in_the_listener_only(kept: int) -> None:
    def fail(frame: Frame) -> None:
        raise RuntimeError("a mistake")

    queue = ReceiveQueue()
    queue.enqueue([numbered(1)] * kept)
    receiving = asyncio.create_task(queue.receive_frames(fail))
    await asyncio.sleep(0)
    queue.enqueue([numbered(2)])
    queue.enqueue([numbered(3)])
    with pytest.raises(RuntimeError, match="a mistake"):
        await asyncio.wait_for(receiving, 10)


async def test_the_queue_has_room_once_everything_has_been_heard() -> None:
    queue = ReceiveQueue()
    queue.enqueue([numbered(1), numbered(2)])
    waiting = asyncio.create_task(queue.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    receiving = asyncio.create_task(queue.receive_frames(lambda frame: None))
    await asyncio.wait_for(waiting, 10)
    queue.enqueue([numbered(3)])
    await asyncio.wait_for(queue.room(), 10)
    queue.close()
    await receiving
