"""Whole calls by telephone: the server as a process, a provider's real socket, G.711 both ways, barge-in, keys."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from tests.extensions.telephone.announcing import CALLER, announce, phone_call
from tests.extensions.telephone.media_streams import TwilioStream
from tests.extensions.telephone.stand_ins import TOKEN
from tests.support.offline_peer import OfflinePeer
from tests.support.operator import ADMIN
from tests.support.running_server import RunningServer, running_server
from tests.support.speech import samples_of, speech
from tests.support.tones import pitch
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

ANSWER: dict[str, Any] = {"text": "It is sunny.", "tone": {"hz": 880, "ms": 600}}


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(peer, TWILIO__AUTH_TOKEN=TOKEN, ADMIN_TOKEN=ADMIN, ECHO_CANCELLATION="auto") as running:
        yield running


@asynccontextmanager
async def called(server: RunningServer, **options: Any) -> AsyncIterator[TwilioStream]:
    """A call whose session has begun."""
    async with phone_call(server.url, **options) as stream:
        await asyncio.sleep(0.8)
        yield stream


async def test_a_question_is_heard_and_its_answer_comes_at_8_khz(peer: OfflinePeer, server: RunningServer) -> None:
    await peer.follow({"turns": [{"hear": "What is the weather in Seattle?", "reply": ANSWER}]})
    async with called(server) as stream:
        stream.say(speech("What is the weather in Seattle?"))
        await until(lambda: len(stream.audible()) >= 29, 12)
        await asyncio.sleep(0.3)
        heard = b"".join(stream.audible())
        assert len(heard) / 48 == pytest.approx(600, abs=60)
        assert pitch(heard) == pytest.approx(880, rel=0.02)
    [connection, *_] = (await peer.connections(audio=True))[-1:]
    spoken = samples_of(_audio_of(connection))
    assert 0.9 < len(spoken) / 24_000 < 5
    # What the Responder was sent is the caller's voice at telephone bandwidth: next to nothing above 4 kHz.
    power = np.abs(np.fft.rfft(spoken)) ** 2
    hz = np.fft.rfftfreq(len(spoken), 1 / 24_000)
    assert power[hz > 4200].sum() < power[hz < 4000].sum() / 1000


async def test_the_number_of_a_caller_stands_in_no_log(server: RunningServer) -> None:
    await announce(server.url)
    await announce(server.url, token="wrong")
    printed = "".join(path.read_text(errors="replace") for path in server.folder.glob("*.log"))
    assert CALLER.strip("+") not in printed


def _audio_of(connection: dict[str, Any]) -> bytes:
    return b64decode(connection["audio"])
