"""`/v1/realtime/calls` through the whole server: stock aiortc at one end, a scripted Responder process at the other."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import numpy as np
import pytest
from openai import AsyncOpenAI

from backend.errors import BadOffer
from backend.transports.webrtc.offer import sanitise_offer
from tests.extensions.realtime_endpoint.sidebands import SCRIPT, act_beside, following, refusal
from tests.extensions.realtime_endpoint.test_websocket import QUESTION, TONE, ask, write
from tests.support.offline_peer import OfflinePeer
from tests.support.realtime_peer import RealtimePeer, place, realtime_peer
from tests.support.running_server import RunningServer
from tests.support.waiting import until

LOUD = 500
"""A sample of 16 bits above which something sounds."""
SESSION: dict[str, Any] = {"type": "realtime", "model": "gpt-realtime-2", "instructions": "You are a weather station."}


@pytest.mark.realtime
async def test_a_spoken_question_is_answered_aloud(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": TONE}}]})
    async with realtime_peer(running.url, session=SESSION) as client:
        created = await client.event("session.created")
        assert created["session"]["instructions"] == SESSION["instructions"]
        await client.update(output_modalities=["audio"])
        await ask(client)
        done = (await client.event("response.done"))["response"]
        await client.event("output_audio_buffer.stopped")
        await until(lambda: 0 < client.first_sound_at < time.monotonic() - 1.3)
        heard = bytes(client.heard)
    order = [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "response.created",
        "response.output_audio_transcript.delta",
        "output_audio_buffer.started",
        "response.output_audio.done",
        "response.done",
        "output_audio_buffer.stopped",
    ]
    assert [type_ for type_ in client.types() if type_ in order] == order
    assert not client.of("response.output_audio.delta") and not client.of("error")
    assert done["output"][0]["content"][0]["transcript"] == "It is sunny."
    started, stopped = client.of("output_audio_buffer.started"), client.of("output_audio_buffer.stopped")
    assert [each["response_id"] for each in started + stopped] == [done["id"]] * 2
    assert client.of("input_audio_buffer.speech_started")[0]["audio_start_ms"] > 0
    samples = np.frombuffer(heard, np.int16)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > LOUD)
    sounding = samples[loud[0] : loud[-1]]
    spectrum = np.abs(np.fft.rfft(sounding * np.hanning(len(sounding))))
    assert abs(np.argmax(spectrum) * 24_000 / len(sounding) - 440) < 10
    assert 900 < len(sounding) / 24 < 1500


@contextlib.asynccontextmanager
async def with_secret(running: RunningServer, **session: Any) -> AsyncIterator[tuple[RealtimePeer, str]]:
    """Place a call with a client secret; its offer is sent without a form."""
    async with AsyncOpenAI(api_key="any-key", base_url=f"{running.url}/v1") as program:
        made = await program.realtime.client_secrets.create(session=SESSION | session)  # type: ignore[arg-type]
    async with realtime_peer(running.url, key=made.value) as client:
        await client.event("session.created")
        yield client, made.value


@pytest.mark.realtime
async def test_a_reply_is_interrupted_by_its_client(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "A story " * 20, "tone": {"hz": 440, "ms": 8000}}}]})
    async with with_secret(running) as (client, _):
        await write(client, "Tell me a story")
        await client.event("output_audio_buffer.started")
        await client.send("output_audio_buffer.clear")
        done = (await client.event("response.done"))["response"]
        assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "client_cancelled")
        assert (await client.event("output_audio_buffer.cleared"))["response_id"] == done["id"]
        await asyncio.sleep(1.0)  # the sound on its way
        end = len(client.heard)
        await asyncio.sleep(0.5)
        after = np.frombuffer(bytes(client.heard[end:]), np.int16).astype(np.int32)
        assert len(after) and np.abs(after).max() < LOUD, "nothing sounds now"
    assert not client.of("error") and not client.of("output_audio_buffer.stopped")


@pytest.mark.realtime
async def test_audio_by_events_is_refused_and_the_call_goes_on(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow({"turns": [{"reply": {"text": "Hello."}}]})
    async with with_secret(running) as (client, _):
        await client.append(bytes(960))
        assert "over WebRTC" in (await client.event("error"))["error"]["message"]
        client.channel.send(b"binary")
        await client.event("error", count=2)
        await client.send("no.such.event", event_id="mine")
        assert (await client.event("error", count=3))["error"]["event_id"] == "mine"
        await write(client, "Hi")
        await client.event("response.done")


@pytest.mark.realtime
async def test_a_program_beside_the_client_follows_and_acts(peer: OfflinePeer, running: RunningServer) -> None:
    await peer.follow(SCRIPT)
    async with with_secret(running) as (client, secret):
        async with following(running, client, secret) as beside:
            await act_beside(client, beside)
            assert not beside.of("response.output_audio.delta")
        said = [each["transcript"] for each in beside.of("response.output_audio_transcript.done")]
        assert said == ["It rains."]
        await client.update(instructions="Go on without anybody beside you.")
        async with following(running, client, secret) as beside:
            async with AsyncOpenAI(api_key=secret, base_url=f"{running.url}/v1") as program:
                await program.realtime.calls.hangup(client.call_id)
            async with asyncio.timeout(30):
                await beside.socket.wait_closed()
            assert beside.socket.close_code == 1000
        await until(lambda: client.connection.connectionState == "closed")
        assert (await refusal(running, client.call_id, secret)).status_code == 404


@pytest.mark.realtime
async def test_a_stranger_cannot_reach_a_call(peer: OfflinePeer, running: RunningServer) -> None:
    async with with_secret(running) as (client, _), AsyncOpenAI(api_key="x", base_url=f"{running.url}/v1") as program:
        strange = (await program.realtime.client_secrets.create(session=SESSION)).value  # type: ignore[arg-type]
        for key, call_id in ((strange, client.call_id), ("any-key", client.call_id), (strange, "rtc_nothing")):
            refused = await refusal(running, call_id, key)
            assert refused.status_code == 404 and b"No such session." in (refused.body or b"")
            async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as stranger:
                path = f"/v1/realtime/calls/{call_id}/hangup"
                answer = await stranger.post(path, headers={"authorization": f"Bearer {key}"})
            assert answer.status_code == 404
        await client.update(instructions="Still here.")


AUDIO_ALONE = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n"
DATA = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"


@pytest.mark.parametrize(
    ("sdp", "why"),
    [
        (AUDIO_ALONE, "ICE user name"),
        (AUDIO_ALONE.replace("v=0\r\n", f"v=0\r\n{DATA}"), "one audio section"),
        (f"{AUDIO_ALONE}a=mid:0\r\n{DATA}a=mid:1\r\n", "bundle"),
        (AUDIO_ALONE + DATA.replace("webrtc-datachannel", "5000"), "data channels"),
        (AUDIO_ALONE + DATA + DATA, "one audio section"),
    ],
)
def test_an_unanswerable_offer_is_refused(sdp: str, why: str) -> None:
    with pytest.raises(BadOffer) as refused:
        sanitise_offer(sdp, data=True)
    assert why in str(refused.value)


@pytest.mark.realtime
async def test_an_invalid_form_is_refused(running: RunningServer) -> None:
    async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as client:
        asked = [
            (client.post("/v1/realtime/calls", json={"sdp": "v=0"}), "offer is missing"),
            (client.post("/v1/realtime/calls", files={"session": (None, "{}")}), "no field `sdp`"),
            (
                client.post("/v1/realtime/calls", files={"sdp": (None, "v=0"), "session": (None, "[")}),
                "not a JSON object",
            ),
            (place(client, "v=0", "any-key", {"tools": 7}), "tools"),
            (place(client, "v=0", "any-key"), "one audio section"),
        ]
        for answer, why in asked:
            refused = await answer
            assert refused.status_code == 422 and why in refused.json()["error"]["message"], refused.text
