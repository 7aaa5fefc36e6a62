"""How well the local recognizer knows that it has misheard: what read-backs by its certainty would catch, and cost.

    python -m benchmarks.certainty [--seed 1]

Sixteen sentences that ask for something to be written, three voices, quiet and five levels of noise.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from backend.extensions.local.recognition.jobs import Heard, Hearing, decode_heard, encode
from backend.extensions.local.recognition.moonshine import recognise
from backend.extensions.local.recognition.moonshine_model import MoonshineModel
from backend.responders.codec import UNSURE_BELOW
from benchmarks.recognition.word_errors import errors
from tests.support.speech import pcm_of, samples_of, speech

SENTENCES = (
    "note that the garage code is four seven one one",
    "remind me to take the bread out at six",
    "add a meeting with Doctor Brown on Friday at ten",
    "remember that my sister is called Yolanda",
    "write down buy milk and eggs",
    "put dinner with Tom in my calendar on Monday evening",
    "remind me to call the bank tomorrow morning",
    "remember that I am allergic to peanuts",
    "note the wifi password is bluebird nine",
    "cancel my appointment on Tuesday",
    "save that my locker number is eighty three",
    "make a note to water the plants",
    "schedule a call with Priya next Wednesday at three",
    "remember my flight leaves from gate fourteen",
    "remind me in twenty minutes to check the oven",
    "add lunch with Marguerite at noon on the fifth",
)
VOICES = ("slt", "rms", "awb")
NOISES_DB = (None, 25, 20, 15, 10, 5)
"""How far the noise lies below the voice; None: there is none."""
WRONG = 0.1
"""The share of wrong words from which a sentence counts as misheard."""
LIMITS = (-0.4, -0.6, UNSURE_BELOW, -1.0, -1.2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    generator = np.random.default_rng(parser.parse_args().seed)
    model = MoonshineModel(threads=2)
    right, wrong = list[float](), list[float]()
    for sentence in SENTENCES:
        for voice in VOICES:
            for noise_db in NOISES_DB:
                heard = _heard(model, _with_noise(speech(sentence, voice), noise_db, generator))
                if heard.text:
                    mistakes, words = errors(sentence, heard.text)
                    (wrong if mistakes > WRONG * words else right).append(heard.log_probability)
    table = Table("certainty below", f"of {len(wrong)} misheard", f"of {len(right)} heard right")
    for limit in LIMITS:
        table.add_row(
            f"{limit:g}", f"{np.mean(np.array(wrong) < limit):.0%}", f"{np.mean(np.array(right) < limit):.0%}"
        )
    Console(highlight=False).print(table)


def _heard(model: MoonshineModel, pcm: bytes) -> Heard:
    hearing = Hearing(pcm, expected=())  # as what is final is decoded, by beam search
    return decode_heard([piece for piece in recognise(model, encode(hearing)) if piece][-1])


def _with_noise(pcm: bytes, noise_db: int | None, generator: np.random.Generator) -> bytes:
    if noise_db is None:
        return pcm
    sound = samples_of(pcm)
    noise = np.convolve(generator.standard_normal(len(sound)), np.ones(6) / 6, "same")
    level = np.sqrt(np.mean(sound[np.abs(sound) > 200] ** 2)) / 10 ** (noise_db / 20)
    return pcm_of(sound + noise * level / noise.std())


if __name__ == "__main__":
    main()
