"""Words while the caller speaks, from the real recognizer over the Realtime protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect

from backend.media.frame import BYTES_PER_MS
from backend.testing.speech import spoken, trimmed
from tests.extensions.local.local_process import local_responder
from tests.support.waiting import until

SENTENCE = "Could you tell me how far it is from Denver to Chicago and back again?"
PIECE = 20 * BYTES_PER_MS
WITHIN_S = 60.0
DELTA = "conversation.item.input_audio_transcription.delta"
COMPLETED = "conversation.item.input_audio_transcription.completed"
BY_HAND = {
    "type": "realtime",
    "audio": {"input": {"turn_detection": None, "transcription": {"model": "gpt-4o-mini-transcribe"}}},
}


async def send(socket: ClientConnection, kind: str, **fields: Any) -> None:
    await socket.send(json.dumps({"type": kind, **fields}))


@pytest.mark.skipif(shutil.which("flite") is None, reason="flite speaks to the recognizer")
async def test_words_come_before_the_commit_and_the_completed_transcript_goes_on_from_them() -> None:
    with local_responder() as url:
        await _until_loaded(url)
        async with asyncio.timeout(WITHIN_S), connect(url.replace("http", "ws", 1) + "/realtime?model=local") as socket:
            await send(socket, "session.update", session=BY_HAND)
            heard = asyncio.Queue[dict[str, Any]]()
            reading = asyncio.create_task(_read(socket, heard))
            sound = trimmed(spoken(SENTENCE))
            early = ""
            for at in range(0, len(sound), PIECE):
                piece = base64.b64encode(sound[at : at + PIECE]).decode()
                await send(socket, "input_audio_buffer.append", audio=piece)
                await asyncio.sleep(0.05)  # no faster than a busy machine recognizes
                early += "".join(event["delta"] for event in _come(heard) if event["type"] == DELTA)
            assert early and SENTENCE.startswith(early) and len(early) < len(SENTENCE)
            await send(socket, "input_audio_buffer.commit")
            later = ""
            while (event := await heard.get())["type"] != COMPLETED:
                later += event["delta"] if event["type"] == DELTA else ""
            reading.cancel()
            assert early + later == event["transcript"] == SENTENCE


async def _until_loaded(url: str) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http:

        async def loaded() -> bool:
            return not (await http.get(f"{url}/models")).json()["data"][0]["loading"]

        await until(loaded, WITHIN_S)


async def _read(socket: ClientConnection, heard: asyncio.Queue[dict[str, Any]]) -> None:
    async for message in socket:
        await heard.put(json.loads(message))


def _come(heard: asyncio.Queue[dict[str, Any]]) -> list[dict[str, Any]]:
    return [heard.get_nowait() for _ in range(heard.qsize())]
