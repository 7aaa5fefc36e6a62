"""What callers say to the local Responder: questions that need nothing from outside, and speech over long replies.

`ask` is everyday use: a question, the answer heard to its end; the next is asked into every fourth answer. `speak_over`
is for comparing barge-in: a murmur over a long reply, which is to go on, then an interruption, which is to silence it.
It is the same with any Responder that answers at length whatever it is asked; that of `turn_sense.provider` has to be
told what is said to it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import msgspec
import numpy as np

from benchmarks import speech
from benchmarks.caller import MeasuredCaller
from benchmarks.conversation import Voices
from benchmarks.microphone import Spoken, spoken
from benchmarks.record import Kind
from benchmarks.turn_sense.plan import Word
from benchmarks.turn_sense.provider import Began
from benchmarks.turn_sense.voices import Voice, at_level, families, say

QUESTIONS = (
    "What is seventeen times twenty three",
    "How are you today",
    "What is twelve percent of eighty",
    "Good morning to you",
    "What is the square root of one hundred and forty four",
    "How much is nineteen plus forty four",
    "Thank you very much",
    "What is three hundred divided by eight",
)
INTERRUPTIONS = (
    "No tell me about Paris instead",
    "That is not what I wanted to know",
    "Please tell me something else now",
)
MURMURS = ("Yeah", "Mm-hmm", "Right", "Okay", "I see", "Sure")
VOICES = (Voice("hibari", "heart"), Voice("flite", "slt"), Voice("espeak", "en-us"), Voice("flite", "rms"))
LEVEL_DBFS = -24.0
ANSWER_WITHIN_S = 10.0
QUIET_PACKETS = 60
"""Silence after which an answer is over: a Thinker's may follow a word of patience."""
LONGEST_ANSWER_S = 40.0
SPEAK_OVER_EVERY = 4
LISTEN_S = 1.0
"""How long a reply is heard before it is spoken over: later than a false start may be."""
WATCHED_S = 1.5
"""How long is listened, after a murmur, whether the reply goes on."""
STORY_MS = 15_000
PROVIDER_MS = 250


class KnowingProvider:
    """The provider that is told what one caller says; without an address there is none, and nothing is told."""

    def __init__(self, http: httpx2.AsyncClient, number: int) -> None:
        self._http, self._number = http, number
        self._scene = 0

    def __repr__(self) -> str:
        return f"KnowingProvider({self._http.base_url}, call {self._number})"

    @asynccontextmanager
    async def expecting(self) -> AsyncIterator[None]:
        """Have its next connection be this caller's."""
        if self._http.base_url.host:
            await self._http.post(f"/expect/{self._number}/{PROVIDER_MS}")
        yield
        if self._http.base_url.host:
            await self._http.get(f"/connected/{self._number}")

    async def hears(self, spoken: Spoken, words: str) -> None:
        """Tell what is said from now on."""
        if not self._http.base_url.host:
            return
        each_s = len(spoken.with_pauses.packets) * 0.02 / len(words.split())
        said = [Word(word, at * each_s, (at + 1) * each_s, "caller") for at, word in enumerate(words.lower().split())]
        self._scene += 1
        began = Began(self._number, self._scene, 0, time.monotonic(), said, STORY_MS, STORY_MS, False, "")
        await self._http.post("/began", content=msgspec.json.encode(began))


def voices(caller: int, *, over: bool) -> Voices:
    """Return all that a caller says, in one voice: another than the caller's usual would be taken for an aside."""
    speakers = [voice for voice in VOICES if voice.family in families()]
    speaker = speakers[caller % len(speakers)]
    return Voices(
        [spoken(_say(text, speaker)) for text in (QUESTIONS[:3] if over else QUESTIONS)],
        [spoken(_say(text, speaker)) for text in (INTERRUPTIONS if over else ())],
        [spoken(_say(text, speaker)) for text in (MURMURS if over else ())],
    )


def _say(text: str, speaker: Voice) -> bytes:
    sound = at_level(say(speaker, [text.split()])[0], LEVEL_DBFS)
    return speech.trimmed((np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())


async def ask(caller: MeasuredCaller, voices: Voices, until: float, chance: random.Random) -> None:
    """Ask and listen until `until` on the steady clock. Raises `TransportLost`."""
    number = chance.randrange(SPEAK_OVER_EVERY)
    while time.monotonic() < until:
        number += 1
        await asyncio.sleep(chance.uniform(0.3, 0.8))
        await caller.say(chance.choice(voices.questions), Kind.QUESTION)
        await caller.until_audible("an answer", ANSWER_WITHIN_S)
        if number % SPEAK_OVER_EVERY == 0:
            await asyncio.sleep(LISTEN_S)
            await caller.say(chance.choice(voices.questions), Kind.INTERRUPTION)
            await caller.until_audible("the answer to an interruption", ANSWER_WITHIN_S)
        await caller.until_quiet("the end of an answer", QUIET_PACKETS, LONGEST_ANSWER_S)


async def speak_over(
    caller: MeasuredCaller, voices: Voices, until: float, chance: random.Random, provider: KnowingProvider
) -> None:
    """Have one long reply after another begin, murmur into each, then interrupt it. Raises `TransportLost`."""

    async def speak(kind: Kind, words: tuple[str, ...], sounds: list[Spoken]) -> None:
        number = chance.randrange(len(sounds))
        await provider.hears(sounds[number], words[number])
        await caller.say(sounds[number], kind)

    await speak(Kind.QUESTION, QUESTIONS, voices.questions)
    while time.monotonic() < until:
        await caller.until_audible("a long reply", ANSWER_WITHIN_S)
        await asyncio.sleep(LISTEN_S + chance.uniform(0.0, 0.3))
        await speak(Kind.MURMUR, MURMURS, voices.murmurs)
        await asyncio.sleep(WATCHED_S)
        await speak(Kind.INTERRUPTION, INTERRUPTIONS, voices.interruptions)
