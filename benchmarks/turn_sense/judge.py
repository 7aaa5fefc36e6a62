"""The judgement of each scene, from the times of speech, the heard replies, and the provider's requests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.turn_sense.hearing import HeardReply, Sound
from benchmarks.turn_sense.plan import (
    DURING_REPLY,
    IN_NOISE,
    NOBODY_CALLS,
    TURNS,
    Clip,
    Played,
    ProviderLog,
    Reply,
    Scene,
)
from benchmarks.turn_sense.run import Made

FRAME_S = 0.02
DOWN_DB = 12.0
"""Decibels that count as turned down."""
UP_DB = 6.0
"""Less below its first level counts as up again."""
FOR_GOOD_S = 1.5
"""Seconds after an interruption's onset from which a reply has not yielded."""
WATCHED_S = 2.4
"""Seconds for which a reply has to go on after something was said into it."""
HOLE_S = 0.1
LONG_HOLE_S = 1.2
CUT_WITHIN_S = 0.9
"""Seconds of hearing after the caller has gone on, from which a reply is an answer of its own and no false start."""
ANSWER_WITHIN_S = 3.0
MOST_WORDS = 0.8
"""The share of a question's words in noise from which a reply with them in its input answers it."""


@dataclass(slots=True)
class Pause:
    """A pause within a turn."""

    ms: int
    spoken_into: bool


@dataclass(slots=True)
class Outcome:
    """A scene, judged. Seconds, unless a name says otherwise."""

    call: int
    provider_ms: int
    voice: str
    scene: Scene
    pauses: list[Pause] = field(default_factory=list)
    first_sound: float | None = None
    """From the end of a finished turn to the first sound of its reply."""
    one_answer: bool | None = None
    """One reply to all words was heard, after the end. Earlier sound was cut, and the model forgot it."""
    false_starts: int = 0
    """Replies that sounded before the end."""
    lost_words: int = 0
    """Of a turn: words that no committed segment holds."""
    void: str = ""
    """Why the scene counts for nothing."""
    down: float | None = None
    """From an onset until the reply is turned down; inf: it never was."""
    silent: float | None = None
    """From an onset until the reply is silent for good; inf: it never was."""
    holes: list[float] = field(default_factory=list)
    goes_on: bool = False
    """The same reply is heard to the end of the watch, and no other."""
    up_again: bool = False
    answered: list[bool] = field(default_factory=list)
    """Each question in noise."""
    late: list[float] = field(default_factory=list)
    cut: int = 0
    """Questions in noise that were spoken into."""
    false_turns: int = 0
    seconds: float = 0.0
    log: str = ""
    """The clips of a scene, their times, and the heard replies."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of one call's replies, and of the discarded ones."""

    provider_ms: int
    said: int
    """Things said."""
    thrown: int
    thrown_tokens: int
    tokens: int
    """Of all replies."""


def spent(made: Made) -> Spent:
    """Count a call's replies."""
    thrown = thrown_away(made.log, made.sound)
    said = sum(len(played.said) for played in made.played)
    tokens = sum(reply.tokens for reply in made.log.replies)
    return Spent(made.call.provider_ms, said, len(thrown), sum(reply.tokens for reply in thrown), tokens)


def judged(made: Made, clips: Sequence[Sequence[Clip]]) -> Iterator[Outcome]:
    """Every scene of a call that was begun."""
    scenes = {scene.number: (scene, its) for scene, its in zip(made.call.scenes, clips, strict=True)}
    begins = [*(played.began for played in made.played), math.inf][1:]
    for played, following in zip(made.played, begins, strict=True):
        scene, its = scenes[played.scene]
        outcome = Outcome(made.call.number, made.call.provider_ms, f"{made.call.family} {made.call.voice}", scene)
        outcome.log = _log(played, its, scene, made, min(following, played.ended + 5.0))
        if len(played.said) < (2 if scene.kind in DURING_REPLY else 1):
            outcome.void = played.trouble or "the call was lost"
        elif made.trouble and math.isinf(following):
            outcome.void = made.trouble
        elif scene.kind in TURNS:
            _turn(outcome, played, its[0], made.sound, min(following, played.ended + 3.0))
            until = min(following, played.ended + 5.0)
            pieces = [commit.transcript for commit in made.log.commits if played.began <= commit.at < until]
            outcome.lost_words = max(0, len(its[0].words) - len(" ".join(pieces).split()))
        elif scene.kind in DURING_REPLY:
            _into_reply(outcome, played, its[1], made.sound)
        elif scene.kind in IN_NOISE:
            _in_noise(outcome, played, its[0], made.sound)
        elif scene.kind in NOBODY_CALLS:
            outcome.seconds = played.said[0][1] - played.said[0][0]
            outcome.false_turns = len(made.sound.between(played.said[0][0], played.ended))
        yield outcome


def thrown_away(log: ProviderLog, sound: Sound) -> list[Reply]:
    """Unheard replies that were requested; replies that only wait are not among them."""
    heard = {each.reply.id for each in sound.replies}
    return [reply for reply in log.replies if reply.id not in heard and not reply.waits and reply.status != "failed"]


def _turn(outcome: Outcome, played: Played, clip: Clip, sound: Sound, until: float) -> None:
    began, ended = played.said[0]
    pieces = clip.voiced[0]
    heard = sound.between(began, until)
    for number, ms in enumerate(outcome.scene.clips[0].spoken[0].pauses_ms):
        since = began + pieces[number][1]
        up_to = began + pieces[number + 1][1] - 2 * FRAME_S
        outcome.pauses.append(Pause(ms, any(since < each.began < up_to for each in heard)))
    after = [each for each in heard if each.began >= ended - 2 * FRAME_S]
    if after and len(after) == len(heard):
        outcome.first_sound = after[0].began - ended
    words = {f"{outcome.scene.number}.0.{number}" for number in range(len(clip.words))}
    early = [each for each in heard if each not in after]
    outcome.false_starts = len(early)
    outcome.one_answer = (
        len(after) == 1
        and words <= set(after[0].reply.words)
        and all(_forgotten(each, after[0].reply, [began + begin for begin, _ in pieces]) for each in early)
    )


def _forgotten(early: HeardReply, answer: Reply, resumed: Sequence[float]) -> bool:
    """Whether a reply that sounded in a pause was cut when the caller went on, and is no part of the conversation."""
    went_on = next((moment for moment in resumed if moment > early.began), early.began)
    return early.ended <= went_on + CUT_WITHIN_S and not set(early.reply.items) & set(answer.follows)


def _into_reply(outcome: Outcome, played: Played, clip: Clip, sound: Sound) -> None:
    began, ended = played.said[1]
    onset = began + clip.voiced[0][0][0] - FRAME_S
    reply = sound.at(onset)
    if reply is None:
        outcome.void = "no reply was heard when it was said"
        return
    before = reply.db[(reply.at > onset - 0.6) & (reply.at <= onset)]
    if not len(before):
        outcome.void = "the reply began only when it was said"
        return
    level = float(np.median(before))
    outcome.down = _down(reply, onset, level)
    outcome.silent = reply.ended - onset if reply.ended < onset + FOR_GOOD_S else math.inf
    until = ended + WATCHED_S
    outcome.holes = reply.holes(onset, until)
    others = sound.between(onset, until)
    outcome.goes_on = reply.ended >= until - HOLE_S and not others
    late = reply.db[(reply.at > until - 1.0) & (reply.at <= until)]
    outcome.up_again = bool(len(late)) and float(np.median(late)) > level - UP_DB


def _down(reply: HeardReply, onset: float, level: float) -> float:
    """The first packet that is much quieter, or missing."""
    later = np.flatnonzero(reply.at > onset)
    before = onset
    for index in later:
        if reply.at[index] - before > 0.06:
            return before + FRAME_S - onset
        if reply.db[index] < level - DOWN_DB:
            return float(reply.at[index]) - onset
        before = float(reply.at[index])
    return before + FRAME_S - onset if before < onset + FOR_GOOD_S else math.inf


def _in_noise(outcome: Outcome, played: Played, clip: Clip, sound: Sound) -> None:
    began = played.said[0][0]
    for voiced in clip.voiced:
        asked, ended = began + voiced[0][0], began + voiced[-1][1]
        inside = [n for n, word in enumerate(clip.words) if voiced[0][0] <= word.begin < voiced[-1][1]]
        words = {f"{outcome.scene.number}.0.{number}" for number in inside}
        heard = sound.between(ended - 2 * FRAME_S, ended + ANSWER_WITHIN_S)
        complete = [each for each in heard if len(words & set(each.reply.words)) >= MOST_WORDS * len(words)]
        outcome.answered.append(bool(complete))
        outcome.late += [each.began - ended for each in complete[:1]]
        outcome.cut += bool(sound.between(asked + 0.1, ended - 2 * FRAME_S))


def _log(played: Played, clips: Sequence[Clip], scene: Scene, made: Made, until: float) -> str:
    """For people: seconds count from the beginning of the scene's first clip."""
    zero = played.said[0][0] if played.said else played.began
    lines = []
    for (began, _), clip in zip(played.said, clips, strict=False):
        spans = [f"{began - zero + begin:.2f}–{began - zero + end:.2f}" for each in clip.voiced for begin, end in each]
        lines.append(f"said {' '.join(word.text for word in clip.words)!r} at {', '.join(spans)}")
    lines += [
        f"committed {commit.audio_ms} ms at {commit.at - zero:.2f}: {commit.transcript!r}"
        for commit in made.log.commits
        if played.began <= commit.at < until
    ]
    heard = {each.reply.id: each for each in made.sound.replies}
    for reply in made.log.replies:
        if played.began <= reply.asked < until:
            each = heard.get(reply.id)
            when = f"heard {each.began - zero:.2f}–{each.ended - zero:.2f}" if each else "not heard"
            if each and (holes := each.holes(each.began, each.ended)):
                when += f" with holes of {', '.join(f'{1000 * hole:.0f}' for hole in holes[:4])} ms"
            tool = ", wait_for_user" if reply.waits else ""
            lines.append(f"reply asked for at {reply.asked - zero:.2f} ({reply.purpose}{tool}, {reply.status}): {when}")
    lines += [f"error: {error}" for error in made.log.errors[:2]]
    noises = f" {scene.label}" if scene.label else ""
    head = f"{scene.kind}{noises}, call {made.call.number}, {made.call.family} {made.call.voice}, "
    return "\n    ".join([f"{head}provider {made.call.provider_ms} ms", *lines])


def rate(flags: Sequence[bool]) -> float | None:
    """Per cent; None of none."""
    return 100 * sum(flags) / len(flags) if flags else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that such a share of all do not exceed; inf counts."""
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)] if values else None
