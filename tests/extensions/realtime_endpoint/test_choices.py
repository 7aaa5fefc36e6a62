"""A client's choices for its session, through the whole server: who finds the turns, and who answers them."""

import asyncio
import base64
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tests.extensions.realtime_endpoint.test_websocket import QUESTION, TONE, ask
from tests.http.test_keys import keyed, token
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_client import Json, realtime_client
from tests.support.running_server import RunningServer
from tests.support.speech import speech

SUNNY: Json = {"turns": [{"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": TONE}}]}
BY_HAND: Json = {"input": {"turn_detection": None}}


async def test_a_key_may_come_as_a_subprotocol_and_strangers_are_refused(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        offered = ["realtime", f"openai-insecure-api-key.{token('call')}"]
        async with realtime_client(here.url, key="", subprotocols=offered) as client:
            assert client.socket.subprotocol == "realtime", "the key is not repeated"
            await client.event("session.created")
        for key, protocols in (("", None), ("sk-stranger", None), ("", ["realtime", "openai-insecure-api-key.sk-x"])):
            with pytest.raises(InvalidStatus) as refused:
                async with realtime_client(here.url, key=key, subprotocols=protocols):
                    pass
            assert refused.value.response.status_code == 401


@pytest.mark.realtime
async def test_a_client_may_request_each_reply_itself(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(SUNNY)
    async with realtime_client(running.url) as client:
        await client.update(audio={"input": {"turn_detection": {"type": "server_vad", "create_response": False}}})
        await ask(client)
        await client.event("conversation.item.input_audio_transcription.completed")
        await asyncio.sleep(0.8)
        assert not client.of("response.created")
        await client.send("response.create")
        assert await client.answer() == "It is sunny."


@pytest.mark.realtime
async def test_a_client_that_commits_its_turn_with_its_first_events_is_heard(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow(SUNNY)
    async with realtime_client(running.url) as client:
        question = base64.b64encode(speech(QUESTION)).decode()
        await client.send("session.update", session={"type": "realtime", "audio": BY_HAND})
        await client.send("input_audio_buffer.append", audio=question)
        await client.send("input_audio_buffer.commit")
        await client.send("response.create")
        assert await client.answer() == "It is sunny." and not client.of("error")
    received = (await peer.connections())[-1]["received"]
    types = [each["type"] for each in received]
    sent = sum(each.get("audio_bytes", 0) for each in received[: types.index("input_audio_buffer.commit")])
    assert abs(sent - len(speech(QUESTION))) < 960, "the question is committed once it is there"


@pytest.mark.realtime
async def test_appended_audio_may_be_dropped_and_a_committed_turn_waits_for_a_request(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow(SUNNY)
    async with realtime_client(running.url) as client:
        await client.update(audio=BY_HAND)
        await client.append(speech("forget this"))
        await client.send("input_audio_buffer.clear")
        await client.event("input_audio_buffer.cleared")
        await client.append(speech(QUESTION))
        await client.send("input_audio_buffer.commit")
        await client.event("input_audio_buffer.committed")
        await asyncio.sleep(0.3)
        assert not client.of("response.created") and not client.of("input_audio_buffer.speech_started")
        await client.send("response.create")
        await client.event("response.done")
    received = (await peer.connections())[-1]["received"]
    cleared = [number for number, each in enumerate(received) if each["type"] == "input_audio_buffer.clear"]
    sent = sum(each.get("audio_bytes", 0) for each in received[max(cleared, default=0) :])
    assert abs(sent - len(speech(QUESTION))) < 960, "the dropped audio is not part of the turn"
