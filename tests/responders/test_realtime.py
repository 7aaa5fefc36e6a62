"""The connection, against a real server process that speaks the protocol."""

import asyncio
from typing import Any

import pytest

from backend.errors import ResponderRejected, ResponderUnavailable
from backend.media.frame import FRAME_BYTES, Frame
from backend.responders.base import Briefing, PastMessage
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, RealtimeResponder, connect_realtime
from backend.testing.services.server import json_reply, serving
from backend.turns import commands as do
from tests.support.offline_peer import OfflinePeer, offline_peer
from tests.support.waiting import until

VOICE = Voice("gpt-realtime-2", "shimmer", "gpt-4o-mini-transcribe")
SPEECH = Frame(b"\x10\x00" * (FRAME_BYTES // 2))


async def connect(peer: OfflinePeer, *history: PastMessage, key: str = "k") -> RealtimeResponder:
    return await connect_realtime(RealtimeEndpoint(peer.realtime_url, key, VOICE), Briefing("be kind"), history)


async def received(peer: OfflinePeer, last: str) -> list[dict[str, Any]]:
    """The client events of the newest connection, once the last one is of that type."""
    events: list[dict[str, Any]] = []

    async def is_complete() -> bool:
        events[:] = (await peer.connections())[-1]["received"]
        return bool(events) and events[-1]["type"] == last

    await until(is_complete)
    return events


async def test_the_briefing_is_accepted_before_anything_else_is_sent(peer: OfflinePeer) -> None:
    await peer.follow({})
    responder = await connect(peer, PastMessage("user", "hi"))
    responder.send_audio(SPEECH)
    responder.send(do.ClearInput())
    events = await received(peer, "input_audio_buffer.clear")
    await responder.close()
    types = [event["type"] for event in events]
    assert types[:2] == ["session.update", "conversation.item.create"]
    assert types[2:] == ["input_audio_buffer.append", "input_audio_buffer.clear"]


async def test_a_refused_key_is_final_and_a_busy_server_is_not() -> None:
    async with offline_peer({}, "--require-key", "right") as peer:
        with pytest.raises(ResponderRejected):
            await connect(peer, key="wrong")
        await (await connect(peer, key="right")).close()
    async with serving(lambda _: json_reply({}, 503)) as busy:
        with pytest.raises(ResponderUnavailable) as unavailable:
            await connect_realtime(RealtimeEndpoint(busy.url.replace("http", "ws"), "k", VOICE), Briefing("x"), ())
        assert unavailable.value.retryable


async def test_an_address_without_a_server_is_unavailable() -> None:
    with pytest.raises(ResponderUnavailable):
        await connect_realtime(RealtimeEndpoint("ws://127.0.0.1:9/v1/realtime", "k", VOICE), Briefing("x"), ())


async def appended(peer: OfflinePeer, frames: int, briefing: Briefing) -> list[int]:
    """The lengths in frames of the provider's audio messages, for frames that come one at a time, then a commit."""
    await peer.follow({})
    responder = await connect_realtime(RealtimeEndpoint(peer.realtime_url, "k", VOICE), briefing, ())
    for _ in range(frames):
        responder.send_audio(SPEECH)
        await asyncio.sleep(0.01)
    responder.send(do.CommitInput())
    events = await received(peer, "input_audio_buffer.commit")
    await responder.close()
    return [e["audio_bytes"] // FRAME_BYTES for e in events if e["type"] == "input_audio_buffer.append"]


async def test_audio_is_sent_in_batches_and_a_commit_sends_the_rest(peer: OfflinePeer) -> None:
    assert await appended(peer, 12, Briefing("x")) == [10, 2]


async def test_a_provider_that_endpoints_gets_every_frame_by_itself(peer: OfflinePeer) -> None:
    assert await appended(peer, 4, Briefing("x", endpointing="provider")) == [1, 1, 1, 1]
