"""From drawn clips to sound: synthesized, mixed with a room, encoded as the caller's browser would."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE
from backend.testing.speech import frames_of
from benchmarks import microphone, phone
from benchmarks.turn_sense import sounds, texts, voices
from benchmarks.turn_sense.plan import Call, Clip, ClipSpec, Spoken, Word
from benchmarks.turn_sense.voices import Sound, Voice

QUIET_DBFS = -66.0
"""The hiss of the caller's own room while they speak."""
BETWEEN_QUESTIONS_S = (5.0, 6.0)
OTHERS_LEVEL_DBFS = -24.0
"""The loudness of the rooms that `sounds` makes."""
MOST = 0.97
PUBLIC = 12
"""Sentences of other people in a room."""


def rendered(calls: Sequence[Call], folder: Path, processes: int, *, telephone: bool = False) -> None:
    """Write each call's clips to `folder`, as `N.clips`; calls with the same words share a file.

    `telephone`: as a telephone network passes them on, in G.711 at 8 kHz.
    """
    own = [call for call in calls if call.same_sound_as < 0]
    with ProcessPoolExecutor(processes) as pool:
        for number, data in pool.map(partial(_call, telephone=telephone), own):
            (folder / f"{number}.clips").write_bytes(data)


def read(folder: Path, call: Call) -> list[list[Clip]]:
    """A call's clips, by scene."""
    number = call.number if call.same_sound_as < 0 else call.same_sound_as
    return msgspec.msgpack.decode((folder / f"{number}.clips").read_bytes(), type=list[list[Clip]])


def _call(call: Call, telephone: bool) -> tuple[int, bytes]:
    voice = Voice(call.family, call.voice, call.speed, call.pitch)
    clips = [[clip(spec, voice, call.level_dbfs, telephone=telephone) for spec in scene.clips] for scene in call.scenes]
    return call.number, msgspec.msgpack.encode(clips)


def clip(spec: ClipSpec, voice: Voice, level_dbfs: float, *, telephone: bool = False) -> Clip:
    """One clip in a caller's voice and at their level."""
    chance = np.random.default_rng(spec.seed)
    voice = replace(voice, speed=voice.speed * spec.pace)
    if spec.room:
        return _in_a_room(spec, voice, level_dbfs, chance, telephone)
    if spec.spoken and not spec.noise:
        sound, words, voiced = _said(spec.spoken[0], voice, level_dbfs - spec.quieter_db, spec)
    else:
        sound = voices.at_level(_noise(spec.noise, chance), level_dbfs - spec.quieter_db)
        words = [Word(text, 0.0, len(sound) / SAMPLE_RATE, spec.who) for said in spec.spoken for text in said.pieces]
        voiced = [(0.0, len(sound) / SAMPLE_RATE)]
    silent = -len(sound) % FRAME_SAMPLES
    sound = np.concatenate((np.zeros(silent), sound))  # in front, so that the last sample ends a packet
    sound += sounds.quiet_room(len(sound), QUIET_DBFS, chance)
    voiced = _shifted(voiced, silent / SAMPLE_RATE)
    return _encoded(sound, _later(words, silent / SAMPLE_RATE), [voiced], telephone)


def _said(
    spoken: Spoken, voice: Voice, level_dbfs: float, spec: ClipSpec
) -> tuple[Sound, list[Word], list[tuple[float, float]]]:
    pieces = voices.say(voice, [piece.split() for piece in spoken.pieces])
    for number, factor in enumerate(spoken.drawn_out):
        if factor > 1:
            pieces[number] = voices.drawn_out(pieces[number], factor)
    pauses = [round(ms * SAMPLE_RATE / 1000) for ms in spoken.pauses_ms]
    whole, words, voiced = [], list[Word](), list[tuple[float, float]]()
    at = 0
    for text, piece, pause in zip(spoken.pieces, pieces, [*pauses, 0], strict=True):
        begin, end = at / SAMPLE_RATE, (at + len(piece)) / SAMPLE_RATE
        words += _words(text, begin, end, spec.who)
        voiced.append((begin, end))
        whole += [piece, np.zeros(pause)]
        at += len(piece) + pause
    sound = voices.at_level(np.concatenate(whole), level_dbfs)
    if spec.muffled_hertz:
        sound = sounds.muffled(sound, spec.muffled_hertz, 0.0)
    return sound, words, voiced


def _words(text: str, begin: float, end: float, who: str) -> list[Word]:
    """Split the time among words by their length in letters."""
    found = text.lower().split()
    ends = [begin + (end - begin) * share / len("".join(found)) for share in accumulate(map(len, found))]
    return [Word(word, *span, who) for word, span in zip(found, zip([begin, *ends], ends, strict=False), strict=True)]


def _noise(noise: str, chance: np.random.Generator) -> Sound:
    if noise == "cough":
        return sounds.cough(chance)
    if noise == "laugh":
        return sounds.laugh(chance)
    return sounds.hum(chance, syllables=2 if noise == "hum" else 1)


def _in_a_room(spec: ClipSpec, voice: Voice, level_dbfs: float, chance: np.random.Generator, telephone: bool) -> Clip:
    """The room from beginning to end, with its utterances, and time for an answer after each."""
    length = round(spec.seconds * SAMPLE_RATE)
    said: list[tuple[int, Sound]] = []
    words: list[Word] = []
    voiced: list[list[tuple[float, float]]] = []
    for spoken in spec.spoken:
        sound, its_words, its_voiced = _said(spoken, voice, level_dbfs, spec)
        words += _later(its_words, length / SAMPLE_RATE)
        voiced.append(_shifted(its_voiced, length / SAMPLE_RATE))
        said.append((length, sound))
        length += len(sound) + round(chance.uniform(*BETWEEN_QUESTIONS_S) * SAMPLE_RATE)
    length += -length % FRAME_SAMPLES
    room = _room(spec, voice, length, chance)
    out = room * 10 ** ((level_dbfs + spec.room_db - OTHERS_LEVEL_DBFS) / 20)
    for at, sound in said:
        out[at : at + len(sound)] += sound
    if spec.room == "talker":
        words += [Word("and so on", 0.0, length / SAMPLE_RATE, "other")]
    return _encoded(out, words, voiced, telephone)


def _room(spec: ClipSpec, caller: Voice, length: int, chance: np.random.Generator) -> Sound:
    if spec.room == "music":
        room = sounds.music(length, chance)
    else:
        others = _others(caller, chance, 1 if spec.room == "talker" else sounds.BABBLERS)
        room = (sounds.talker if spec.room == "talker" else sounds.babble)(others, length, chance)
    return voices.at_level(room, OTHERS_LEVEL_DBFS)


def _others(caller: Voice, chance: np.random.Generator, speakers: int) -> list[Sound]:
    """Sentences of other people, in voices other than the caller's."""
    names = [name for name in voices.ESPEAK if name != caller.name]
    people = [
        Voice("espeak", str(chance.choice(names)), float(chance.uniform(0.9, 1.15)), int(chance.integers(20, 80)))
        for _ in range(speakers)
    ]
    if "flite" in voices.families():
        flite = [name for name in voices.FLITE if name != caller.name]
        people = [
            Voice("flite", str(chance.choice(flite)), round(float(chance.uniform(0.9, 1.1)), 1)) if n % 2 == 0 else each
            for n, each in enumerate(people)
        ]
    said = chance.choice(texts.PUBLIC_SPEECH, PUBLIC, replace=False)
    return [voices.say(people[n % len(people)], [str(text).split()])[0] for n, text in enumerate(said)]


def _later(words: list[Word], by_s: float) -> list[Word]:
    return [Word(word.text, word.begin + by_s, word.end + by_s, word.who) for word in words]


def _shifted(voiced: list[tuple[float, float]], by_s: float) -> list[tuple[float, float]]:
    return [(begin + by_s, end + by_s) for begin, end in voiced]


def _encoded(sound: Sound, words: list[Word], voiced: list[list[tuple[float, float]]], telephone: bool) -> Clip:
    pcm = np.rint(np.clip(sound, -MOST, MOST) * 32767).astype("<i2").tobytes()
    sent = phone.encoded(pcm) if telephone else microphone.with_pauses(frames_of(pcm))
    return Clip(sent.packets, sent.settling, sent.pause, words, voiced)
