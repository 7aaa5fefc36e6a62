"""One whole call by telephone, checked from the caller's end: `python -m benchmarks.telephone`.

The server takes a call of Twilio's, G.711 at 8 kHz both ways, with a provider that answers each question with a tone.
Told are the moments that a caller notices, the gaps in what was heard, and whether the tone came as it was sent.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.errors import TransportLost
from backend.media.frame import SAMPLE_RATE
from benchmarks import phone, processes, speech
from benchmarks.figures import AUDIBLE
from benchmarks.phone import PhoneCaller, decoded, spoken_by_telephone
from benchmarks.record import Kind

TONE_HZ = 700
ANSWER_MS, STORY_MS = 2_000, 20_000
SETTLE_S, INTO_THE_STORY_S = 1.0, 3.0
REPLY_WITHIN_S, QUIET_WITHIN_S = 6.0, 8.0
QUIET_PACKETS = 25
GAP_S = 0.1
"""Between two packets of one reply: more is heard."""
TONE_WITHIN_HZ, CLEAN_DB = 5.0, 25.0
"""How far the tone may be from where it was sent, and how far below it all else must be."""
ANSWER_GOAL_MS, YIELD_GOAL_MS = 1_500.0, 1_500.0


@dataclass(frozen=True, slots=True)
class Found:
    """One figure, and what it may be at most."""

    what: str
    value: float
    most: float

    def __str__(self) -> str:
        return f"{'ok  ' if self.value <= self.most else 'FAIL'} {self.what}: {self.value:.1f} (at most {self.most:g})"


async def called(url: str) -> list[Found]:
    """Ask, listen to the answer; ask again, and interrupt. Raises `TransportLost`."""
    caller = PhoneCaller(url, os.getpid())
    await caller.place()
    try:
        await asyncio.sleep(SETTLE_S)
        asked = await _say(caller, speech.questions()[0], Kind.QUESTION)
        await caller.until_audible("an answer", REPLY_WITHIN_S)
        await caller.until_quiet("the end of the answer", QUIET_PACKETS, QUIET_WITHIN_S)
        again = await _say(caller, speech.questions()[1], Kind.QUESTION)
        await caller.until_audible("a story", REPLY_WITHIN_S)
        await asyncio.sleep(INTO_THE_STORY_S)
        interrupted = await _say(caller, speech.interruptions()[0], Kind.INTERRUPTION)
        await caller.until_quiet("silence", QUIET_PACKETS, QUIET_WITHIN_S)
    finally:
        await caller.close()
    return _judged(caller.heard.raw(), asked, again, interrupted)


async def _say(caller: PhoneCaller, pcm: bytes, kind: Kind) -> tuple[float, float]:
    await caller.say(spoken_by_telephone(pcm), kind)
    said = caller.record.said[-1]
    return said.began, said.ended


def _judged(
    heard: Sequence[tuple[float, bytes]],
    asked: tuple[float, float],
    again: tuple[float, float],
    interrupted: tuple[float, float],
) -> list[Found]:
    sounds = [np.frombuffer(pcm, "<i2").astype(float) for pcm in decoded([payload for _, payload in heard])]
    loud = [(at, pcm) for (at, _), pcm in zip(heard, sounds, strict=True) if np.abs(pcm).max() > AUDIBLE]
    answer = [(at, pcm) for at, pcm in loud if asked[1] <= at < again[0]]
    story = [(at, pcm) for at, pcm in loud if again[1] <= at]
    before = [at for at, _ in story if at < interrupted[0]]
    after = [at for at, _ in story if at >= interrupted[0]]
    hertz, noise_db = _tone(np.concatenate([pcm for _, pcm in answer[5:-5]]))
    gaps = np.diff([at for at, _ in answer])
    return [
        Found("first sound of the answer, ms after the question", 1000 * (answer[0][0] - asked[1]), ANSWER_GOAL_MS),
        Found("its length, ms from what was sent", abs(len(answer) * 20 - ANSWER_MS), 60.0),
        Found("its longest gap, ms", 1000 * float(gaps.max()), 1000 * GAP_S),
        Found("its pitch, Hz from what was sent", abs(hertz - TONE_HZ), TONE_WITHIN_HZ),
        Found("all else in it, dB above the limit below its tone", noise_db + CLEAN_DB, 0.0),
        Found("ms of the story missing before it was interrupted", _missing_ms(before), 100.0),
        Found(
            "ms it was heard on once it was interrupted", 1000 * (max(after, default=0) - interrupted[0]), YIELD_GOAL_MS
        ),
    ]


def _missing_ms(at: Sequence[float]) -> float:
    return max(0.0, 1000 * (at[-1] - at[0]) + 20 - 20 * len(at)) if at else 1e6


def _tone(sound: np.ndarray) -> tuple[float, float]:
    """Its loudest frequency, and how loud all the rest is, in dB relative to that."""
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound)))) ** 2
    loudest = int(np.argmax(power))
    tone = power[max(0, loudest - 20) : loudest + 21].sum()
    return loudest * SAMPLE_RATE / len(sound), float(10 * np.log10((power.sum() - tone) / tone))


def main() -> int:
    """Place the call and print what was found. Returns the exit status."""
    processes.leave_on_sigterm()
    cores = frozenset(os.sched_getaffinity(0))
    replies = [
        {"text": "An answer.", "tone": {"hz": TONE_HZ, "ms": ANSWER_MS}},
        {"text": "A long story.", "tone": {"hz": TONE_HZ, "ms": STORY_MS}},
    ]
    turns = [{"hear": words, "reply": reply} for words, reply in zip(speech.QUESTIONS, replies, strict=False)]
    turns.append({"hear": speech.INTERRUPTIONS[0], "reply": ""})
    with (
        processes.provider({"turns": turns}, cores) as (provider_url, _),
        processes.server(provider_url, cores, phone.SETTINGS) as (url, pid),
    ):
        processes.settle(pid, 20.0)
        try:
            found = asyncio.run(called(url))
        except TransportLost as error:
            print(f"FAIL {error}")
            return 1
    for each in found:
        print(each)
    return int(any(each.value > each.most for each in found))


if __name__ == "__main__":
    sys.exit(main())
