"""A telephone provider that plays from a buffer: what was heard, what is cleared, and what is sent again."""

import asyncio

import pytest

from backend.media.frame import FRAME_MS
from tests.extensions.telephone.rigs import media_stream_call
from tests.support.tones import sounding_ms, tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime


@pytest.mark.parametrize("delay_s", [0.1, 0.4])
async def test_sound_in_the_providers_buffer_was_not_heard(delay_s: float) -> None:
    async with media_stream_call(delay_s) as (transport, stream):
        transport.play("a", tone(700, 4000))
        await until(lambda: len(stream.audible()) >= 40)
        [heard] = transport.flush()
        await until(lambda: stream.events("clear") != [])
        assert heard.played_ms == pytest.approx(len(stream.audible()) * FRAME_MS, abs=120)
        sent_ms = len(stream.events("media")) * FRAME_MS
        assert sent_ms - heard.played_ms >= delay_s * 1000 / 2  # a busy machine sends late, so less lies in the buffer


async def test_a_resumed_reply_begins_with_the_sound_that_the_provider_dropped() -> None:
    async with media_stream_call(0.3) as (transport, stream):
        transport.play("a", tone(700, 1600))
        await until(lambda: len(stream.audible()) >= 20)
        transport.flush()
        await until(lambda: stream.events("clear") != [])
        assert transport.restore()
        await until(lambda: transport.queued_ms == 0)
        await asyncio.sleep(0.1)
        assert sounding_ms(stream.audible()) == pytest.approx(1600, abs=120)


async def test_a_flush_that_is_undone_immediately_clears_and_repeats_nothing() -> None:
    async with media_stream_call() as (transport, stream):
        transport.play("a", tone(700, 600))
        await until(lambda: len(stream.audible()) >= 10)
        transport.flush()
        assert transport.restore()
        await until(lambda: transport.queued_ms == 0)
        await asyncio.sleep(0.2)
        assert stream.events("clear") == []
        assert sounding_ms(stream.audible()) == pytest.approx(600, abs=60)
