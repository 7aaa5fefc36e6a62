"""Each reading of the utterance tap covers all audio since the onset."""

import asyncio

from backend.call.utterance_tap import KEPT_FRAMES, LONGEST_MS, Reading, UtteranceTap
from backend.media.frame import FRAME_BYTES, FRAME_MS, Frame
from backend.turns import events as ev
from backend.turns.utterances import UtteranceKind


class Lengths:
    """A classifier that answers with the number of frames it got."""

    def begin(self) -> None:
        return None

    async def read(self, pcm: bytes) -> Reading | None:
        frames = len(pcm) // FRAME_BYTES
        return Reading(UtteranceKind.OTHER, str(frames)) if frames * FRAME_MS <= LONGEST_MS else None

    async def sentence_end(self, words: str) -> float | None:
        return None


async def read_after(*lengths: int) -> list[str]:
    """Return the readings of one utterance after each of these numbers of frames."""
    heard: list[ev.Event] = []
    tap = UtteranceTap(Lengths(), heard.append)
    tap.on_event(ev.SpeechStarted())
    for length in lengths:
        for _ in range(length):
            if tap.recording:
                tap.on_frame(Frame(bytes(FRAME_BYTES)))
        tap.read(partial=False)
        await asyncio.sleep(0.01)
    await tap.close()
    return [event.words for event in heard if isinstance(event, ev.UtteranceRead)]


async def test_every_reading_covers_all_frames_since_the_onset() -> None:
    assert await read_after(12, 3) == ["12", "15"]


async def test_an_utterance_longer_than_the_kept_frames_is_not_read() -> None:
    assert await read_after(KEPT_FRAMES - 1, 1, 20) == [str(KEPT_FRAMES - 1), "", ""]
