"""Every way to call keeps the same rules: a whole call, heard at the caller's end, with a real server and sockets.

The question is answered. A cough does not end a reply; a sentence does, and is answered itself. No answer is lost or
comes twice, and the provider learns how much of the reply was heard. A sentence is one turn, though on a slow machine
it may come in two pieces, or lose some of it.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from backend.testing.offline.script.handler import loud_ms
from tests.support.every_way import WAYS, Line, Way, is_loud
from tests.support.of_extensions import of_extensions
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import RunningServer, running_server
from tests.support.speech import silence, speech
from tests.support.tones import pitch
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.realtime, pytest.mark.alone]

ANSWER_HZ, STORY_HZ, BETWEEN_HZ = 880, 440, 660
SHORT_MS, LONG_MS, STORY_MS = 600, 4_000, 12_000
PIECE_MS = 20
SURE = 3
"""Pieces in a row that count as the story: the edge of another tone has any pitch."""
QUESTION, REQUEST = "What is the weather in Seattle?", "Will you read me a long long poem now?"
INSTEAD = "I would rather hear about the moon now."


def reply(hz: int, ms: int) -> dict[str, Any]:
    return {"text": "Words. " * (ms // 300), "tone": {"hz": hz, "ms": ms}}


def heard(sentence: str) -> dict[str, Any]:
    return {"text": sentence, "voiced_ms": loud_ms(speech(sentence))}


TURNS = {
    "turns": [
        {"hear": heard(QUESTION), "reply": reply(ANSWER_HZ, SHORT_MS)},
        {"hear": heard(REQUEST), "reply": reply(STORY_HZ, STORY_MS)},
        {"hear": heard(INSTEAD), "reply": reply(ANSWER_HZ, LONG_MS)},
        {"hear": "Uh."},
    ]
}


MODULES = list(of_extensions("ways"))
ALL_WAYS: dict[str, Way] = WAYS | {name: way for module in MODULES for name, way in module.WAYS.items()}
SLACK_MS = 160
YIELDS_WITHIN_MS = 2_500
HEARD_WITHIN_MS = 400
"""Tolerance between the provider's figure and the heard audio: buffers on the way, and this test's own polling."""


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    settings = {name: value for module in MODULES for name, value in module.SETTINGS.items()}
    with running_server(peer, **settings) as running:
        yield running


class Ear:
    """The audio on a line: milliseconds of the story and of answers, and when the story was last heard."""

    def __init__(self, line: Line) -> None:
        self._pieces = line.pieces
        self._seen = 0
        self.story_ms = self.answer_ms = 0
        self.story_at = 0.0
        self._in_a_row = 0

    def listen(self) -> None:
        """Take in the new audio."""
        further = self._pieces(self._seen)
        self._seen += len(further)
        for piece in filter(is_loud, further):
            if pitch(piece) < BETWEEN_HZ:
                self.story_ms += PIECE_MS
                self._in_a_row += 1
                if self._in_a_row >= SURE:
                    self.story_at = time.monotonic()
            else:
                self.answer_ms += PIECE_MS
                self._in_a_row = 0

    async def heard(self, story_ms: int = 0, answer_ms: int = 0, within_s: float = 12.0) -> None:
        """Wait for so much of both."""

        def enough() -> bool:
            self.listen()
            return self.story_ms >= story_ms and self.answer_ms >= answer_ms

        await until(enough, within_s)

    async def listen_for(self, seconds: float) -> None:
        """Listen for so long."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.listen()
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ALL_WAYS)
async def test_a_call_keeps_the_rules(way: str, peer: OfflinePeer, server: RunningServer) -> None:
    await peer.follow(TURNS)
    async with ALL_WAYS[way](server.url) as line:
        ear = Ear(line)
        await ear.listen_for(1.0)
        line.say(speech(QUESTION))
        await ear.heard(answer_ms=SHORT_MS - 60)
        await ear.listen_for(0.5)
        line.say(speech(REQUEST))
        await ear.heard(story_ms=2_500)  # an earlier sentence would continue the turn

        line.say(speech(INSTEAD))
        said_at = time.monotonic()
        await ear.heard(answer_ms=SHORT_MS + 1_000)
        assert 1000 * (ear.story_at - said_at) < YIELDS_WITHIN_MS
        line.say(speech("uh")[: 48 * 150] + silence(200))  # a cough, which does not end the answer
        await ear.heard(answer_ms=SHORT_MS + LONG_MS - SLACK_MS)
        await ear.listen_for(1.0)
        assert abs(ear.answer_ms - SHORT_MS - LONG_MS) < SLACK_MS, "each answer is heard once, and whole"
    received = (await peer.connections())[-1]["received"]
    cuts = [each["event"]["audio_end_ms"] for each in received if each["type"] == "conversation.item.truncate"]
    assert len(cuts) == 1 and abs(cuts[0] - ear.story_ms) < HEARD_WITHIN_MS, (cuts, ear.story_ms)
