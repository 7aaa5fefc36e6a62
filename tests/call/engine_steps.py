"""What tests of the call engine do again and again: a reply begun, finished, played out, a fault."""

from __future__ import annotations

import asyncio

import pytest

from backend.turns import events as ev
from tests.call.world import TONE, PlacedCall, settle

TOOL = "route_to_thinker"


async def begin_reply(call: PlacedCall, text: str = "one two three four", pcm: bytes = TONE) -> None:
    """The provider begins what was asked for last: words, then sound, not yet finished."""
    request = call.responder.requests[-1].request
    reply = f"r-{request}"
    call.responder.say(ev.ReplyStarted(reply, request), ev.ReplyText(reply, f"i-{request}", text))
    call.responder.say(ev.ReplyAudio(reply, f"i-{request}", pcm))
    await settle()


async def finish_reply(call: PlacedCall) -> None:
    """It has said all."""
    call.responder.say(ev.ReplyFinished(f"r-{call.responder.requests[-1].request}", "completed"))
    await settle()


async def play_out(call: PlacedCall, frames: int = 12) -> None:
    """Time passes for the listener."""
    call.transport.tick(frames)
    await settle()


async def type_and_answer(call: PlacedCall, text: str = "hello") -> None:
    call.session.live_call().type_text(text)
    await begin_reply(call)
    await finish_reply(call)
    await play_out(call)


async def crashed(call: PlacedCall) -> None:
    """The call has ended as an error, said so, and let go of everything."""
    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(2):
            await call.task
    await settle()
    assert call.told("error")[-1]["message"] == "The call failed."
    assert call.transport.closed and (not call.responders or call.responder.closed)
    ended = call.line.metrics.registry.get_sample_value("voice_sessions_ended_total", {"reason": "error"})
    assert ended == 1 and call.session.call is None
