"""Does the voice tell whether a sentence goes on? Pitch, length and level at the end of fragments and whole sentences.

    python -m benchmarks.melody --seed 3

Each unseen sentence is said by a drawn voice in two pieces (`turn_sense.voices`: flite's are cut out of the whole
sentence, the others are spoken up to a comma), and `backend.media.prosody` looks at the end of each. Printed is the
probability that the end of a whole sentence measures higher than that of a fragment: 0.5 says nothing.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence

import numpy as np

from backend.media.frame import FRAME_BYTES, Frame
from backend.media.prosody import Prosody
from backend.turns.patience import SpeechEnding
from benchmarks.turn_sense import voices
from scripts.train_completeness import UNSEEN, Cut, cuts, discrimination

SENTENCES = 60
A_SPEAKER_SAYS = 6
MEASURES = {"pitch slope": "pitch_slope", "lengthened": "lengthened", "level fall": "level_fall"}


def ending(prosody: Prosody, sound: voices.Sound) -> SpeechEnding | None:
    """Return how a sound ends."""
    pcm = (np.clip(sound * 0.5, -1, 1) * 32767).astype("<i2").tobytes()
    pcm += bytes(-len(pcm) % FRAME_BYTES)
    for at in range(0, len(pcm), FRAME_BYTES):
        prosody.append(Frame(pcm[at : at + FRAME_BYTES]))
    return prosody.ending()


def endings(family: str, sentences: Sequence[Cut], seed: int) -> tuple[list[SpeechEnding], list[SpeechEnding]]:
    """Return the ends of fragments and of whole sentences."""
    ends: tuple[list[SpeechEnding], list[SpeechEnding]] = ([], [])
    prosody = Prosody()
    for number, cut in enumerate(sentences):
        if number % A_SPEAKER_SAYS == 0:
            prosody = Prosody()
        voice = voices.drawn(family, random.Random(seed + number // A_SPEAKER_SAYS))
        for into, sound in zip(
            ends, voices.say(voice, [cut.words.split(), cut.rest.rstrip(".?").split()]), strict=True
        ):
            found = ending(prosody, sound)
            if found is not None:
                into.append(found)
    return ends


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=3)
    seed = parser.parse_args().seed
    for family in voices.families():
        for name, kinds in (("questions", "q"), ("statements and requests", "cs")):
            judged = [cut for cut in cuts(UNSEEN) if cut.kind in kinds and cut.plausible]
            random.Random(seed).shuffle(judged)
            fragments, wholes = endings(family, judged[:SENTENCES], seed)
            for measure, field in MEASURES.items():
                whole, fragment = (
                    [value for end in ends if (value := getattr(end, field)) is not None]
                    for ends in (wholes, fragments)
                )
                print(
                    f"{family:7} {name:23} {measure:11} {discrimination(whole, fragment):.2f}"
                    f"  median {statistics.median(fragment):6.2f} → {statistics.median(whole):6.2f}"
                )
    prosody, spent = Prosody(), []
    for _ in range(50):
        tone = np.sin(np.arange(24_000) * 0.03)
        began = time.thread_time()
        ending(prosody, tone)
        spent.append((time.thread_time() - began) * 1000)
    print(f"CPU at a pause: {statistics.median(spent):.1f} ms")


if __name__ == "__main__":
    main()
