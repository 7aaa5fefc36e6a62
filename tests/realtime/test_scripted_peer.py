"""The scripted server over a real socket, in a process of its own: what a test of the bridge relies on."""

from __future__ import annotations

from backend.testing.peer import end, when_ready
from tests.realtime.checked_client import call
from tests.support.offline_peer import OfflinePeer, start

TONE = {"hz": 440, "ms": 1000}


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
