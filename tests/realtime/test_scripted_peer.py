"""The scripted server over a real socket, in a process of its own: what a test of the bridge relies on."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from backend.testing.peer import end, when_ready
from tests.realtime.checked_client import RealtimeClient, call
from tests.support.offline_peer import OfflinePeer, offline_peer, start
from tests.support.realtime_events import Event

TONE = {"hz": 440, "ms": 1000}


@asynccontextmanager
async def asked(peer: OfflinePeer, script: Event | None = None) -> AsyncIterator[RealtimeClient]:
    """A client that has typed something and asked for a reply; the peer follows the script, if one is given."""
    if script is not None:
        await peer.follow(script)
    async with call(peer) as client:
        await client.setup()
        await client.type("go")
        await client.reply()
        yield client


async def test_a_spoken_turn_is_heard_and_answered_in_the_documented_order(peer: OfflinePeer) -> None:
    script = {"turns": [{"hear": "hello there", "reply": {"text": "Hi, you two.", "tone": TONE}}]}
    await peer.follow(script)
    async with call(peer) as client:
        await client.setup()
        await client.speak()
        await client.until("conversation.item.input_audio_transcription.completed")
        await client.reply(metadata={"purpose": "answer"})
        done = await client.until("response.done")
        await client.until("rate_limits.updated")
        assert done["response"]["status"] == "completed"
        assert done["response"]["metadata"] == {"purpose": "answer"}
        assert client.words() == "Hi, you two."
        assert len(client.audio()) == 48_000
        kinds = [event["type"] for event in client.seen]
        order = list(dict.fromkeys(kind for kind in kinds if kind.startswith(("response.", "rate"))))
        assert order == [
            "response.created",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_audio_transcript.delta",
            "response.output_audio.delta",
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.done",
            "rate_limits.updated",
        ]


async def test_late_deltas_follow_a_cancel_before_it_is_confirmed(peer: OfflinePeer) -> None:
    reply = {"tone": {**TONE, "ms": 60_000}, "pace": 1, "late_ms": 350}
    async with asked(peer, {"turns": [{"reply": reply}]}) as client:
        first = await client.until("response.output_audio.delta")
        await client.send({"type": "response.cancel", "response_id": first["response_id"]})
        before = len(client.seen)
        done = await client.until("response.done")
        late = [event for event in client.seen[before:] if event["type"] == "response.output_audio.delta"]
        assert 2 <= len(late) <= 5
        assert done["response"]["status"] == "cancelled"
        assert done["response"]["status_details"]["reason"] == "client_cancelled"


async def test_calls_come_raw_and_results_are_answered_by_their_own_reply(peer: OfflinePeer) -> None:
    turn = {
        "reply": {
            "text": "One moment.",
            "calls": [{"name": "a", "arguments": "{broken"}, {"name": "b", "arguments": {"x": 1}}],
        },
        "after_results": ["It is done."],
    }
    async with asked(peer, {"turns": [turn]}) as client:
        done = await client.until("response.done")
        calls = [item for item in done["response"]["output"] if item["type"] == "function_call"]
        assert [(item["name"], item["arguments"]) for item in calls] == [("a", "{broken"), ("b", '{"x": 1}')]
        for item in calls:
            answer = {"type": "function_call_output", "call_id": item["call_id"], "output": "{}"}
            await client.send({"type": "conversation.item.create", "item": answer})
        await client.reply()
        done = await client.until("response.done")
        assert done["response"]["output"][0]["content"][0]["transcript"] == "It is done."


async def test_hung_reply_can_be_cancelled_and_the_next_one_runs(peer: OfflinePeer) -> None:
    script = {"turns": [{"reply": {"hang": True}}, {"reply": "Back."}]}
    async with asked(peer, script) as client:
        await client.send({"type": "response.cancel"})
        assert (await client.until("response.done"))["response"]["status"] == "cancelled"
        await client.type("again")
        await client.reply()
        assert (await client.until("response.done"))["response"]["status"] == "completed"


async def test_connection_breaks_in_mid_reply_without_a_close_frame(peer: OfflinePeer) -> None:
    script = {"turns": [{"reply": {"tone": TONE, "drop_after_ms": 300}}]}
    async with asked(peer, script) as client:
        with pytest.raises(ConnectionClosed) as broken:
            await client.until("response.done")
        assert broken.value.rcvd is None
        assert len(client.audio()) == 300 * 48


async def test_an_error_names_its_request_and_a_fatal_one_closes_the_connection(peer: OfflinePeer) -> None:
    error = {"code": "insufficient_quota", "type": "insufficient_quota", "fatal": True}
    limit = {"code": "rate_limit_exceeded", "type": "rate_limit_error"}
    await peer.follow({"turns": [{"reply": {"error": limit}}, {"reply": {"error": error}}]})
    async with call(peer) as client:
        await client.type("go")
        await client.reply("first")
        assert (await client.until("error"))["error"]["event_id"] == "first"
        await client.type("again")
        with pytest.raises(ConnectionClosed) as closed:
            await client.reply()
            await client.until("response.done")
    assert client.of("error")[1]["error"]["code"] == "insufficient_quota"
    assert closed.value.rcvd and closed.value.rcvd.code == 4000


async def test_connections_are_refused_then_follow_their_own_scripts(peer: OfflinePeer) -> None:
    scripts = [{"turns": [{"reply": "first"}]}, {"turns": [{"reply": "second"}]}]
    await peer.follow({"refuse_connections": 1, "connections": scripts})
    with pytest.raises(InvalidStatus) as refused:
        async with call(peer):
            pass
    assert refused.value.response.status_code == 503
    for expected in ("first", "second", "second"):
        async with asked(peer) as client:
            await client.until("response.done")
            assert client.words() == expected


async def test_wrong_key_is_refused_on_the_handshake() -> None:
    async with offline_peer(None, "--require-key", "right") as peer:
        with pytest.raises(InvalidStatus) as refused:
            async with call(peer, Authorization="Bearer wrong"):
                pass
        assert refused.value.response.status_code == 401
        assert b"invalid_api_key" in refused.value.response.body
        async with call(peer, Authorization="Bearer right"):
            pass


async def test_debug_log_tells_what_arrived_and_how_much_was_heard(peer: OfflinePeer) -> None:
    await peer.follow({"turns": [{"hear": "hm", "reply": {"tone": TONE}}]})
    async with call(peer) as client:
        await client.setup()
        await client.speak(b"\x01\x02" * 4800)
        await client.reply()
        done = await client.until("response.done")
        item = done["response"]["output"][0]["id"]
        truncate = {"type": "conversation.item.truncate", "item_id": item, "content_index": 0, "audio_end_ms": 420}
        await client.send(truncate)
        await client.until("conversation.item.truncated")
        record = (await peer.connections(audio=True))[0]
    assert base64.b64decode(record["audio"]) == b"\x01\x02" * 4800
    assert [each["heard_ms"] for each in record["items"]] == [None, 420]
    assert record["items"][1]["content"][0]["transcript"] == ""
    assert "input_audio_buffer.commit" in [each["type"] for each in record["received"]]


async def test_wrong_messages_are_answered_and_the_session_lives_on(peer: OfflinePeer) -> None:
    await peer.follow({})
    async with call(peer) as client:
        for message in ("{", "[]", '{"type": "no.such", "event_id": "e1"}', '{"type": "session.update"}', b"\x00"):
            await client.send_raw(message)
            assert (await client.until("error"))["error"]["type"] == "invalid_request_error"
        assert client.of("error")[2]["error"]["event_id"] == "e1"
        await client.setup()


def test_process_ends_when_its_standard_input_closes() -> None:
    process = start([])
    when_ready(process)
    assert process.stdin
    process.stdin.close()
    assert process.wait(5) == 0
    end(process)
