"""What stands between wire and session: bounded, in order, and ended once."""

from __future__ import annotations

import asyncio

import pytest

from backend.errors import TransportLost
from backend.media.frame import FRAME_BYTES, Frame
from backend.transports.receive_queue import INBOX_FRAMES, Inbox


def numbered(n: int) -> Frame:
    return Frame(n.to_bytes(2, "little") * (FRAME_BYTES // 2))


async def rest(inbox: Inbox) -> list[Frame]:
    heard: list[Frame] = []
    await inbox.hear(heard.append)
    return heard


async def test_the_oldest_fall_out_of_a_full_inbox_and_are_counted() -> None:
    inbox = Inbox()
    inbox.put(numbered(n) for n in range(INBOX_FRAMES + 7))
    inbox.end()
    assert await rest(inbox) == [numbered(n) for n in range(7, INBOX_FRAMES + 7)]
    assert inbox.dropped == 7


async def test_what_was_kept_is_heard_first_and_the_rest_at_once() -> None:
    inbox, heard = Inbox(), list[Frame]()
    inbox.put([numbered(1), numbered(2)])
    hearing = asyncio.create_task(inbox.hear(heard.append))
    await asyncio.sleep(0)
    assert heard == [numbered(1), numbered(2)]
    inbox.put([numbered(3), numbered(4)])
    assert heard == [numbered(n) for n in (1, 2, 3, 4)]
    assert len(inbox) == 0
    inbox.end()
    inbox.put([numbered(5)])
    await asyncio.wait_for(hearing, 1)
    assert heard[-1] == numbered(4)
    assert "ended" in repr(inbox)


async def test_an_error_comes_after_what_was_kept() -> None:
    inbox, heard = Inbox(), list[Frame]()
    inbox.put([numbered(1)])
    inbox.end(TransportLost("gone"))
    inbox.end()
    with pytest.raises(TransportLost, match="gone"):
        await inbox.hear(heard.append)
    assert heard == [numbered(1)]


async def test_an_error_reaches_who_hears_already() -> None:
    inbox = Inbox()
    hearing = asyncio.create_task(rest(inbox))
    await asyncio.sleep(0)
    inbox.end(TransportLost("gone"))
    with pytest.raises(TransportLost, match="gone"):
        await asyncio.wait_for(hearing, 1)


async def test_closing_forgets_what_was_kept_and_the_error() -> None:
    inbox = Inbox()
    inbox.put([numbered(1)])
    inbox.end(TransportLost("gone"))
    inbox.close()
    assert await rest(inbox) == []


async def test_nothing_is_heard_after_closing_or_hanging_up_the_ear() -> None:
    for stop in ("close", "cancel"):
        inbox, heard = Inbox(), list[Frame]()
        hearing = asyncio.create_task(inbox.hear(heard.append))
        await asyncio.sleep(0)
        inbox.put([numbered(1)])
        inbox.close() if stop == "close" else hearing.cancel()
        await asyncio.wait([hearing])
        inbox.put([numbered(2)])
        assert heard == [numbered(1)]


@pytest.mark.parametrize("kept", [0, 1], ids=["heard at once", "kept"])
async def test_a_fault_of_the_ear_is_raised_where_it_hears_and_not_where_frames_come_from(kept: int) -> None:
    def fail(frame: Frame) -> None:
        raise RuntimeError("a mistake")

    inbox = Inbox()
    inbox.put([numbered(1)] * kept)
    hearing = asyncio.create_task(inbox.hear(fail))
    await asyncio.sleep(0)
    inbox.put([numbered(2)])
    inbox.put([numbered(3)])
    with pytest.raises(RuntimeError, match="a mistake"):
        await asyncio.wait_for(hearing, 1)


async def test_room_comes_when_everything_has_been_heard() -> None:
    inbox = Inbox()
    inbox.put([numbered(1), numbered(2)])
    waiting = asyncio.create_task(inbox.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    hearing = asyncio.create_task(inbox.hear(lambda frame: None))
    await asyncio.wait_for(waiting, 1)
    inbox.put([numbered(3)])
    await asyncio.wait_for(inbox.room(), 1)
    inbox.close()
    await hearing
