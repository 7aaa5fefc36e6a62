"""The scripted server in a process of its own, over a real socket: what tests of the bridge rely on."""

from backend.testing.peer import end, when_ready
from tests.realtime.talking import MANUAL
from tests.support.offline_peer import OfflinePeer, start
from tests.support.realtime_client import realtime_client
from tests.support.waiting import until

TONE = {"hz": 440, "ms": 1000}


async def test_a_spoken_turn_is_heard_and_answered_in_the_documented_order(peer: OfflinePeer) -> None:
    script = {"turns": [{"hear": "hello there", "reply": {"text": "Hi, you two.", "tone": TONE}}]}
    await peer.follow(script)
    async with realtime_client(peer.url) as client:
        await client.update(audio=MANUAL["audio"])
        await client.append(bytes(9600))
        await client.send("input_audio_buffer.commit")
        await client.event("conversation.item.input_audio_transcription.completed")
        await client.send("response.create", response={"metadata": {"purpose": "answer"}})
        done = (await client.event("response.done"))["response"]
        assert (done["status"], done["metadata"]) == ("completed", {"purpose": "answer"})
        assert done["output"][0]["content"][0]["transcript"] == "Hi, you two."
        assert len(client.sound[done["output"][0]["id"]]) == 48_000
        assert [kind for kind in client.types() if kind.startswith("response.")] == [
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
        ]


async def test_wrong_messages_are_answered_and_the_session_goes_on(peer: OfflinePeer) -> None:
    await peer.follow({})
    async with realtime_client(peer.url) as client:
        for message in ("{", "[]", '{"type": "no.such", "event_id": "e1"}', '{"type": "session.update"}', b"\x00"):
            await client.socket.send(message)
        await until(lambda: len(client.of("error")) == 5)
        errors = [event["error"] for event in client.of("error")]
        assert {error["type"] for error in errors} == {"invalid_request_error"} and errors[2]["event_id"] == "e1"
        await client.update(instructions="Go on.")


def test_the_process_ends_when_its_standard_input_closes() -> None:
    process = start([])
    when_ready(process)
    assert process.stdin
    process.stdin.close()
    assert process.wait(5) == 0
    end(process)
