"""What a client may choose for its session, through the whole server: who finds turns, who answers, what interrupts."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from websockets.exceptions import InvalidStatus

from tests.extensions.realtime_endpoint.test_websocket import INSTEAD, QUESTION, TONE, ask
from tests.http.test_keys import keyed, token
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_client import Json, realtime_client
from tests.support.running_server import RunningServer
from tests.support.speech import silence, speech

SUNNY: Json = {"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": TONE}}
STORY: Json = {"hear": QUESTION, "reply": {"text": "A story " * 20, "tone": {"hz": 440, "ms": 5000}}}


def detection(**fields: Any) -> Json:
    return {"input": {"turn_detection": {"type": "server_vad", **fields}}}


async def asked_of_the_responder(peer: OfflinePeer) -> Json:
    """The session that the Responder was asked for first."""
    session: Json = (await peer.connections())[-1]["received"][0]["event"]["session"]
    return session


async def test_a_key_may_come_as_a_subprotocol_and_strangers_are_refused(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        offered = ["realtime", f"openai-insecure-api-key.{token('call')}"]
        async with realtime_client(here.url, key="", subprotocols=offered) as client:
            assert client.socket.subprotocol == "realtime", "the key is not repeated"
            await client.told("session.created")
        for key, protocols in (("", None), ("sk-stranger", None), ("", ["realtime", "openai-insecure-api-key.sk-x"])):
            with pytest.raises(InvalidStatus) as refused:
                async with realtime_client(here.url, key=key, subprotocols=protocols):
                    pass
            assert refused.value.response.status_code == 401


async def test_the_responders_detector_finds_the_turns_where_ours_is_not_wanted(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow({"turns": [SUNNY]})
    async with realtime_client(running.url) as client:
        await client.update(local_vad=False)
        await client.say(silence(1000) + speech(QUESTION) + silence(1500))
        done = (await client.told("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "It is sunny."
        await client.send("session.update", session={"type": "realtime", "local_vad": True}, event_id="late")
        assert (await client.told("error"))["error"]["event_id"] == "late", "it is settled once the call has begun"
    assert (await asked_of_the_responder(peer))["audio"]["input"]["turn_detection"] is not None
    received = (await peer.connections())[-1]["received"]
    assert not [each for each in received if each["type"] == "input_audio_buffer.commit"]
    sent = sum(each.get("audio_bytes", 0) for each in received)
    assert sent > 48 * 2000, "all that is heard is passed on, silence too"


async def test_any_voice_interrupts_where_that_is_chosen(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [STORY, {"hear": "Uh.", "reply": "Yes?"}]})
    async with realtime_client(running.url) as client:
        await client.update(barge_in="at_once")
        await ask(client)
        await client.told("response.output_audio.delta")
        await asyncio.sleep(2.0)  # who goes on sooner goes on with the turn
        await client.say(speech("uh")[: 48 * 150] + silence(300))
        done = (await client.told("response.done"))["response"]
        assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "turn_detected")
        await client.told("conversation.item.truncated")


async def test_no_voice_interrupts_where_that_is_chosen(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [STORY, {"hear": "Stop.", "reply": "Yes?"}]})
    chosen: Json = {"type": "realtime", "audio": detection(interrupt_response=False)}
    async with AsyncOpenAI(api_key="any-key", base_url=f"{running.url}/v1") as program:
        key = (await program.realtime.client_secrets.create(session=chosen)).value  # type: ignore[arg-type]
    async with realtime_client(running.url, key=key) as client:
        await ask(client)
        await client.told("response.output_audio.delta")
        await asyncio.sleep(2.0)  # who goes on sooner goes on with the turn
        await client.say(speech(INSTEAD) + silence(300))
        done = (await client.told("response.done", within_s=12))["response"]
        assert done["status"] == "completed"
        assert abs(len(client.sound[done["output"][0]["id"]]) / 48 - 5000) < 40


async def test_a_client_may_ask_for_each_reply_itself(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [SUNNY]})
    async with realtime_client(running.url) as client:
        await client.update(audio=detection(create_response=False))
        await ask(client)
        await client.told("conversation.item.input_audio_transcription.completed")
        await asyncio.sleep(0.8)
        assert not client.of("response.created")
        await client.send("response.create")
        done = (await client.told("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "It is sunny."


async def test_a_turn_that_is_found_here_may_be_committed_as_well(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [SUNNY]})
    async with realtime_client(running.url) as client:
        await client.update(audio=detection())
        await client.send("input_audio_buffer.commit", event_id="mine")
        error = (await client.told("error"))["error"]
        assert (error["code"], error["event_id"]) == ("input_audio_buffer_commit_empty", "mine")
        await client.say(silence(200) + speech(QUESTION))
        await client.send("input_audio_buffer.commit")
        committed = await client.told("input_audio_buffer.committed")
        words = await client.told("conversation.item.input_audio_transcription.completed")
        assert (words["item_id"], words["transcript"]) == (committed["item_id"], QUESTION)
        await client.say(silence(900))
        done = (await client.told("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "It is sunny."
        assert len(client.of("input_audio_buffer.committed")) == 1, "the end of the turn commits nothing more"

        await client.send("input_audio_buffer.commit")  # what has been sent since is silence
        silent = await client.told("input_audio_buffer.committed", count=2)
        words = await client.told("conversation.item.input_audio_transcription.completed", count=2)
        assert (words["item_id"], words["transcript"]) == (silent["item_id"], "")
        await asyncio.sleep(0.3)
        assert len(client.of("response.created")) == len(client.of("error")) == 1
    received = (await peer.connections())[-1]["received"]
    assert sum(each["type"] == "input_audio_buffer.commit" for each in received) == 1


async def test_a_client_that_hands_its_turn_in_with_its_first_events_is_heard(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow({"turns": [SUNNY]})
    async with realtime_client(running.url) as client:
        question = base64.b64encode(speech(QUESTION)).decode()
        await client.send("session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": None}}})
        await client.send("input_audio_buffer.append", audio=question)
        await client.send("input_audio_buffer.commit")
        await client.send("response.create")
        done = (await client.told("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "It is sunny." and not client.of("error")
    received = (await peer.connections())[-1]["received"]
    types = [each["type"] for each in received]
    sent = sum(each.get("audio_bytes", 0) for each in received[: types.index("input_audio_buffer.commit")])
    assert abs(sent - len(speech(QUESTION))) < 960, "the question is committed once it is there"


async def test_appended_audio_may_be_dropped_and_a_handed_in_turn_waits_to_be_answered(
    peer: OfflinePeer, running: RunningServer
) -> None:
    await peer.follow({"turns": [SUNNY]})
    async with realtime_client(running.url) as client:
        await client.update(audio={"input": {"turn_detection": None}})
        await client.append(speech("forget this"))
        await client.send("input_audio_buffer.clear")
        await client.told("input_audio_buffer.cleared")
        await client.send("input_audio_buffer.commit")
        assert (await client.told("error"))["error"]["code"] == "input_audio_buffer_commit_empty"
        await client.append(speech(QUESTION))
        await client.send("input_audio_buffer.commit")
        await client.told("input_audio_buffer.committed")
        await asyncio.sleep(0.3)
        assert not client.of("response.created") and not client.of("input_audio_buffer.speech_started")
        await client.send("response.create")
        await client.told("response.done")
    received = (await peer.connections())[-1]["received"]
    cleared = [number for number, each in enumerate(received) if each["type"] == "input_audio_buffer.clear"]
    sent = sum(each.get("audio_bytes", 0) for each in received[max(cleared, default=0) :])
    assert abs(sent - len(speech(QUESTION))) < 960, "what was dropped is not part of the turn"
