"""The scenes of a run: everything is drawn from one seed, so that the same seed gives the same scenes."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, takewhile

import msgspec

from benchmarks.turn_sense import texts, voices
from benchmarks.turn_sense.pausing import split
from benchmarks.turn_sense.plan import (
    DURING_REPLY,
    FALSE_TURNS_S,
    IN_NOISE,
    NOBODY_CALLS,
    PAUSES_MS,
    TURNS,
    Call,
    ClipSpec,
    Kind,
    Scene,
    Spoken,
)

SHARES: dict[Kind, int] = {
    Kind.PAUSE: 152,
    Kind.DIGITS: 32,
    Kind.CORRECTION: 32,
    Kind.LIST: 14,
    Kind.QUESTION: 32,
    Kind.ANSWER: 28,
    Kind.SENTENCE: 16,
    Kind.COMMAND: 40,
    Kind.INTERRUPTION: 32,
    Kind.BACKCHANNEL: 48,
    Kind.NOISE: 36,
    Kind.MUFFLED: 28,
    Kind.EQUAL: 28,
    Kind.BABBLE: 16,
    Kind.MUSIC: 3,
    Kind.OTHER_VOICE: 6,
    Kind.ROOM_ALONE: 6,
    Kind.MUSIC_ALONE: 3,
}
"""Scenes of each kind in so many as their sum."""


@dataclass(frozen=True, slots=True)
class CallLength:
    """The number of scenes of a call, by their subject."""

    turns: int
    replies: int
    rooms: int


LONG_CALLS, SHORT_CALLS = CallLength(10, 8, 3), CallLength(4, 3, 1)
QUESTIONS_PER_NOISE = 3
FILLED = 0.25
"""Share of the pauses before which the caller says "um"."""
DRAWN_OUT = 0.5
SECOND_PAUSE = 0.3
ANNOUNCED = "announced"
"""The label of self-corrections that pause after the words that announce them: "on Tuesday, no sorry"."""

PARTS: dict[str, tuple[Kind, ...]] = {
    "pauses": (Kind.PAUSE, Kind.DIGITS, Kind.CORRECTION, Kind.LIST),
    "turns": TURNS,
    "interruptions": (Kind.COMMAND, Kind.INTERRUPTION),
    "backchannels": (Kind.BACKCHANNEL, Kind.NOISE),
    "asides": (Kind.MUFFLED, Kind.EQUAL),
    "replies": DURING_REPLY,
    "babble": IN_NOISE,
    "false": NOBODY_CALLS,
    "rooms": (*IN_NOISE, *NOBODY_CALLS),
}


def calls(
    seed: int, scenes: int, providers_ms: Sequence[int], kinds: Sequence[Kind], length: CallLength = LONG_CALLS
) -> list[Call]:
    """All calls of a run: those about turns once for each provider, the others with providers in turn."""
    chance = random.Random(seed)
    scale = scenes / sum(SHARES.values())
    draw = _Drawing(chance)
    numbers = {kind: max(1, round(share * scale)) if kind in kinds else 0 for kind, share in SHARES.items()}
    turns = _shuffled([draw.scene(kind, n) for kind in TURNS for n in range(numbers[kind])], chance)
    replies = _shuffled([draw.scene(kind, n) for kind in DURING_REPLY for n in range(numbers[kind])], chance)
    noise = [draw.scene(kind, n) for kind in IN_NOISE for n in range(numbers[kind])]
    alone = _shuffled([draw.scene(kind, n) for kind in NOBODY_CALLS for n in range(numbers[kind])], chance)
    number, family, provider = count(), cycle(voices.families()), cycle(providers_ms)
    made: list[Call] = []
    for group in _groups(turns, length.turns):
        first = draw.call(next(number), next(family), providers_ms[0], group)
        made += [first, *(_again(first, next(number), other) for other in providers_ms[1:])]
    for group in _groups(noise, length.rooms):
        before = [draw.scene(Kind.QUESTION, 0)] if chance.random() < 0.5 else []
        made.append(draw.call(next(number), next(family), next(provider), before + group))
    for group in _groups(alone, length.rooms):
        known = [scene for each in group for scene in (draw.scene(Kind.QUESTION, 0), each)]
        made.append(draw.call(next(number), next(family), next(provider), [draw.scene(Kind.SENTENCE, 0), *known]))
    into_replies = _groups(replies, length.replies)
    made += [draw.call(next(number), next(family), next(provider), group) for group in into_replies]
    return made


def _again(call: Call, number: int, provider_ms: int) -> Call:
    """The same with another provider."""
    return msgspec.structs.replace(call, number=number, provider_ms=provider_ms, same_sound_as=call.number)


class _Drawing:
    """Draws scenes, and repeats each text as rarely as possible."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count()
        self._pools: dict[int, list[str]] = {}

    def call(self, number: int, family: str, provider_ms: int, scenes: list[Scene]) -> Call:
        """A caller."""
        voice, chance = voices.drawn(family, self._chance), self._chance
        level = chance.uniform(-32, -20)
        return Call(number, family, voice.name, voice.speed, voice.pitch, level, provider_ms, scenes)

    def scene(self, kind: Kind, number: int) -> Scene:
        """One scene of its kind; `number` counts them."""
        rest_s = self._chance.uniform(0.5, 1.3)
        if kind in TURNS:
            return self._turn(kind, number, rest_s)
        if kind in DURING_REPLY:
            return self._into_reply(kind, number, rest_s)
        return self._room(kind, number, rest_s)

    def _turn(self, kind: Kind, number: int, rest_s: float) -> Scene:
        make: dict[Kind, Callable[[int], tuple[Spoken, str]]] = {
            Kind.PAUSE: self._with_pauses,
            Kind.DIGITS: self._digits,
            Kind.CORRECTION: self._correction,
            Kind.LIST: self._list,
            Kind.QUESTION: lambda _: (Spoken([self._text(texts.QUESTIONS)]), ""),
            Kind.ANSWER: lambda _: (
                Spoken([self._text(texts.SHORT_ANSWERS)]),
                self._chance.choice(texts.PROMPTS["answer"]),
            ),
            Kind.SENTENCE: lambda _: (Spoken([self._text(texts.SENTENCES)]), ""),
        }
        spoken, prompt = make[kind](number)
        return Scene(
            next(self._numbers),
            kind,
            [self._clip([spoken])],
            label=ANNOUNCED if kind is Kind.CORRECTION and number % 2 == 0 else "",
            prompt=prompt,
            reply_ms=self._chance.randrange(900, 1800, 100),
            rest_s=rest_s,
        )

    def _with_pauses(self, number: int) -> tuple[Spoken, str]:
        chance = self._chance
        pauses = [PAUSES_MS[number % len(PAUSES_MS)]]
        if chance.random() < SECOND_PAUSE:
            pauses.append(chance.choice(PAUSES_MS))
            chance.shuffle(pauses)
        pieces = [list(piece) for piece in split(self._text(texts.SENTENCES).split(), len(pauses), chance)]
        for piece in pieces[:-1]:
            if chance.random() < FILLED:
                piece.append(chance.choice(texts.HESITATIONS[:3]))
        return self._spoken([" ".join(piece) for piece in pieces], pauses[: len(pieces) - 1]), ""

    def _digits(self, _: int) -> tuple[Spoken, str]:
        chance = self._chance
        sizes = [chance.choice((2, 3, 3, 4)) for _ in range(chance.choice((2, 3, 3)))]
        groups = [" ".join(chance.choices(texts.DIGITS, k=size)) for size in sizes]
        lead = chance.choice(texts.DIGIT_LEADS)
        groups[0] = f"{lead} {groups[0]}".strip()
        prompt = self._chance.choice(texts.PROMPTS["digits"]) if chance.random() < 0.6 or not lead else ""
        return self._spoken(groups, [chance.randrange(350, 950, 50) for _ in groups[1:]]), prompt

    def _correction(self, number: int) -> tuple[Spoken, str]:
        said, corrected = self._chance.choice(texts.CORRECTIONS)
        words = corrected.split()
        announced = 0 if number % 2 else sum(1 for _ in takewhile(lambda word: word.lower() in texts.ANNOUNCING, words))
        pieces = [" ".join([said, *words[:announced]]), " ".join(words[announced:])]
        return self._spoken(pieces, [self._chance.randrange(350, 950, 50)]), ""

    def _list(self, _: int) -> tuple[Spoken, str]:
        chance = self._chance
        items = chance.sample(texts.LIST_ITEMS, chance.choice((3, 4)))
        pieces = [f"{chance.choice(texts.LIST_LEADS)} {items[0]}", *items[1:-1], f"and {items[-1]}"]
        prompt = self._chance.choice(texts.PROMPTS["list"]) if chance.random() < 0.4 else ""
        return self._spoken(pieces, [chance.randrange(300, 850, 50) for _ in pieces[1:]]), prompt

    def _into_reply(self, kind: Kind, number: int, rest_s: float) -> Scene:
        chance = self._chance
        opening = self._text(texts.QUESTIONS if chance.random() < 0.6 else texts.SENTENCES)
        second, label = self._second(kind, number)
        return Scene(
            next(self._numbers),
            kind,
            [self._clip([Spoken([opening])]), second],
            reply_ms=chance.randrange(9000, 10500, 100),
            follow_ms=chance.randrange(800, 1400, 100),
            after_s=chance.uniform(1.2, 3.0),
            rest_s=rest_s,
            tool=kind is Kind.EQUAL,
            label=label,
        )

    def _second(self, kind: Kind, number: int) -> tuple[ClipSpec, str]:
        chance = self._chance
        if kind is Kind.COMMAND:
            said = self._text(texts.COMMANDS)
            return self._clip([Spoken([said])], pace=self._leisure()), "stop" if said in texts.STOP_AND_WAIT else ""
        if kind is Kind.INTERRUPTION:
            return self._clip([Spoken([self._text(texts.INTERRUPTIONS)])]), ""
        if kind is Kind.BACKCHANNEL:
            said = self._text(texts.BACKCHANNELS)
            if said in ("mm-hmm", "uh-huh") and chance.random() < 0.6:
                return self._clip([Spoken([said])], noise="hum"), ""
            return self._clip([Spoken([said])], pace=self._leisure()), ""
        if kind is Kind.NOISE:
            noise = ("cough", "laugh", "um")[number % 3]
            if noise == "um":
                return self._clip([Spoken([chance.choice(texts.HESITATIONS)])], pace=self._leisure()), noise
            return self._clip([], noise=noise, quieter_db=chance.uniform(-4, 8)), noise
        said_to_others = [Spoken([self._text(texts.ASIDES)])]
        if kind is Kind.MUFFLED:
            hertz, quieter = chance.uniform(900, 1500), chance.uniform(6, 10)
            return self._clip(said_to_others, who="aside", muffled_hertz=hertz, quieter_db=quieter), ""
        return self._clip(said_to_others, who="aside"), ""

    def _leisure(self) -> float:
        """The speed of a single word, which is spoken more slowly than within a sentence."""
        return self._chance.uniform(0.72, 1.0)

    def _room(self, kind: Kind, number: int, rest_s: float) -> Scene:
        chance = self._chance
        if kind in NOBODY_CALLS:
            room, db = {
                Kind.OTHER_VOICE: ("talker", -15.0),
                Kind.ROOM_ALONE: ("babble", -20.0),
                Kind.MUSIC_ALONE: ("music", -20.0),
            }[kind]
            clip = self._clip([], room=room, room_db=db, seconds=FALSE_TURNS_S, who="other")
            return Scene(next(self._numbers), kind, [clip], rest_s=rest_s, label=f"{-db:.0f}")
        db = (-10.0, -5.0)[number % 2] if kind is Kind.BABBLE else -12.0
        if kind is Kind.BABBLE and number % 5 == 4:
            db = -20.0
        asked = [Spoken([self._text(texts.QUESTIONS)]) for _ in range(QUESTIONS_PER_NOISE)]
        room = "babble" if kind is Kind.BABBLE else "music"
        clip = self._clip(asked, room=room, room_db=db, seconds=chance.uniform(2.0, 3.5))
        return Scene(next(self._numbers), kind, [clip], reply_ms=1200, rest_s=rest_s, label=f"{-db:.0f}")

    def _spoken(self, pieces: list[str], pauses_ms: list[int]) -> Spoken:
        chance = self._chance
        drawn_out = [chance.uniform(1.3, 2.0) if chance.random() < DRAWN_OUT else 1.0 for _ in pauses_ms]
        return Spoken(pieces, pauses_ms, drawn_out)

    def _clip(self, spoken: list[Spoken], **fields: object) -> ClipSpec:
        return msgspec.structs.replace(ClipSpec(self._chance.getrandbits(31), spoken), **fields)

    def _text(self, pool: Sequence[str]) -> str:
        """Each once before any comes again."""
        left = self._pools.setdefault(id(pool), [])
        if not left:
            left += pool
            self._chance.shuffle(left)
        return left.pop()


def _shuffled(scenes: list[Scene], chance: random.Random) -> list[Scene]:
    chance.shuffle(scenes)
    return scenes


def _groups(scenes: list[Scene], size: int) -> Iterator[list[Scene]]:
    for begin in range(0, len(scenes), size):
        yield scenes[begin : begin + size]
