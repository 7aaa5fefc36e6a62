"""The bounded queue between wire and session."""

from __future__ import annotations

import asyncio

import pytest

from backend.audio.frame import FRAME_BYTES, Frame
from backend.errors import TransportLost
from backend.transports.inbox import INBOX_FRAMES, Inbox


def numbered(n: int) -> Frame:
    return Frame(n.to_bytes(2, "little") * (FRAME_BYTES // 2))


async def rest(inbox: Inbox) -> list[Frame]:
    return [frame async for frame in inbox.read()]


async def test_the_oldest_fall_out_of_a_full_inbox_and_are_counted() -> None:
    inbox = Inbox()
    inbox.put(numbered(n) for n in range(INBOX_FRAMES + 7))
    inbox.end()
    assert await rest(inbox) == [numbered(n) for n in range(7, INBOX_FRAMES + 7)]
    assert inbox.dropped == 7


async def test_an_error_comes_after_what_was_queued() -> None:
    inbox = Inbox()
    inbox.put([numbered(1)])
    inbox.end(TransportLost("gone"))
    inbox.end()
    read = []
    with pytest.raises(TransportLost, match="gone"):
        async for frame in inbox.read():
            read.append(frame)  # noqa: PERF401 -- what came before the error counts
    assert read == [numbered(1)]


async def test_closing_forgets_what_was_queued_and_the_error() -> None:
    inbox = Inbox()
    inbox.put([numbered(1)])
    inbox.end(TransportLost("gone"))
    inbox.close()
    assert await rest(inbox) == []


async def test_a_waiting_reader_is_woken_by_frames_and_by_the_end() -> None:
    inbox = Inbox()
    reader = asyncio.create_task(rest(inbox))
    await asyncio.sleep(0)
    inbox.put([numbered(1)])
    await asyncio.sleep(0)
    inbox.put([numbered(2)])
    inbox.end()
    inbox.put([numbered(3)])
    assert await asyncio.wait_for(reader, 1) == [numbered(1), numbered(2)]
    assert "ended" in repr(inbox)


async def test_room_comes_when_the_reader_has_caught_up() -> None:
    inbox = Inbox()
    inbox.put([numbered(1), numbered(2)])
    waiting = asyncio.create_task(inbox.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    frames = inbox.read()
    await anext(frames)
    await anext(frames)
    await asyncio.wait_for(waiting, 1)
    await frames.aclose()  # type: ignore[attr-defined]
