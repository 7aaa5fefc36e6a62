"""A measured call: the Responder's script, and the caller's side of it.

One round takes about eight seconds. The caller asks; a long reply begins; after a second the caller speaks over it,
which must silence it. That interruption is itself a question, and its answer, a known chirp, is heard to its end. In
every second round the interrupted provider goes on sending for 300 ms. A turn is one utterance without pauses, and its
transcript is always a complete question. So the script's next reply is due after each of them.
"""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Any

from backend.errors import TransportLost
from benchmarks.caller import MeasuredCaller
from benchmarks.chirp import Chirp, wholeness
from benchmarks.measurements import Kind
from benchmarks.microphone import Spoken

HEARD = "Who is it?"
PROVIDER_DELAY_MS = 100
"""The Responder's own configured delay, from a request to its first audio."""
LATE_MS = 300
"""Audio after a cancellation, in every second round."""
LISTEN_S = 1.0
"""Seconds of the long reply before the caller speaks over it."""
ANSWER_WITHIN_S = 8.0
PAUSE_PACKETS = 25
"""Half a second of silence after the chirp."""
CHIRP = Chirp(from_hz=300.0, to_hz=3000.0, ms=1600)
LONG_REPLY_MS = 8000
PACE = 2.0
"""The Responder speaks so much faster than real time, like a model; a cancellation finds it in the middle."""


class OutOfStep(TransportLost):
    """An answer did not end: one utterance was taken for two turns, and the script plays the story in its place."""


@dataclass(frozen=True, slots=True)
class Voices:
    """The callers' sounds, shared by all callers of a process."""

    questions: list[Spoken]
    interruptions: list[Spoken]


def script() -> dict[str, Any]:
    """For the offline Responder; see `backend/testing/offline/script/schema.py`."""
    rise = {"hz": CHIRP.from_hz, "to_hz": CHIRP.to_hz}
    story: dict[str, Any] = {"text": "A long story. " * 20, "tone": rise | {"ms": LONG_REPLY_MS}, "pace": PACE}
    answer = {"text": "It is sunny.", "tone": rise | {"ms": CHIRP.ms}}
    turns = [story, answer, story | {"late_ms": LATE_MS}, answer]
    delayed = [{"hear": HEARD, "reply": turn | {"first_audio_delay_ms": PROVIDER_DELAY_MS}} for turn in turns]
    return {"turns": delayed, "loop": True}


async def converse(caller: MeasuredCaller, voices: Voices, until: float, chance: random.Random) -> None:
    """Rounds until `until` on the steady clock; the last round is finished. Raises `TransportLost`."""
    number = 0
    while time.monotonic() < until:
        late = number % 2 == 1
        await _round(caller, voices, Kind.LATE_INTERRUPTION if late else Kind.INTERRUPTION, chance)
        number += 1


async def _round(caller: MeasuredCaller, voices: Voices, interruption: Kind, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0.1, 0.6))
    await caller.say(chance.choice(voices.questions), Kind.QUESTION)
    await caller.until_audible("the long reply", ANSWER_WITHIN_S)
    await asyncio.sleep(LISTEN_S + chance.uniform(0.0, 0.2))
    await caller.say(chance.choice(voices.interruptions), interruption)
    await caller.until_quiet("the silence after an interruption", 1, ANSWER_WITHIN_S)
    caller.listen()
    await caller.until_audible("the answer to an interruption", ANSWER_WITHIN_S)
    try:
        await caller.until_quiet("the end of an answer", PAUSE_PACKETS, ANSWER_WITHIN_S)
    except TransportLost as error:
        raise OutOfStep(str(error)) from error
    caller.stop_listening()


async def chatter(caller: MeasuredCaller, voices: Voices, until: float, chance: random.Random) -> None:
    """Speak, be silent for as long, and so on, until `until` on the steady clock. Raises `TransportLost`."""
    while time.monotonic() < until:
        began = time.monotonic()
        await caller.say(chance.choice(voices.questions), Kind.QUESTION)
        await asyncio.sleep(time.monotonic() - began)


async def fall_into_step(caller: MeasuredCaller, voices: Voices, chance: random.Random) -> None:
    """Speak once more, into the story that replaced an answer: the next story follows that answer."""
    await caller.say(chance.choice(voices.interruptions), Kind.INTERRUPTION)
    await caller.until_quiet("the end of a story", PAUSE_PACKETS, ANSWER_WITHIN_S)


def judge(caller: MeasuredCaller) -> None:
    """Decode the received sound, and check its chirps: about a second for a minute of call. After the run."""
    record, heard = caller.record, caller.heard.decoded()
    record.packets = heard.packets
    for began, ended in caller.answers:
        sound = heard.between(began, ended)
        if not sound:
            continue
        found = wholeness(sound, CHIRP, caller.codec_delay)
        record.chirps += 1
        record.lost += found.lost
        record.repeated += found.repeated
        record.glitches += found.glitches
