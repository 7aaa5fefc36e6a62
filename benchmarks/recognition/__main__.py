"""Word error rates by voice and noise, and the time to a transcript: `python -m benchmarks.recognition`.

Error rates are of the process's own engine, fed as fast as it computes. Times are of utterances fed in real time, with
the commit `COMMIT_MS` after the last sound, as the server commits. `--sphinx` measures the fallback.
"""

import argparse
import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import psutil

from backend.extensions.local.recognition.choose import MOONSHINE, SPHINX, limits
from backend.extensions.local.recognition.moonshine_files import PACKAGE
from backend.extensions.local.recognition.pooled import PooledRecognizer
from backend.extensions.local.speech_pool import SpeechPool
from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, FRAME_MS
from backend.media.sound_file import read_audio
from benchmarks.recognition.sounds import NOISES, Spoken, spoken
from benchmarks.recognition.word_errors import errors

COMMIT_MS = 300
LONGEST_TIMED_MS = 5000
RECORDED = "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."
"""The text of the recording in moonshine-cpp."""


async def main() -> None:
    """Measure and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="only every so manyth sentence")
    parser.add_argument("--timed", type=int, default=30, help="utterances timed, of each number of calls")
    parser.add_argument("--calls", type=int, nargs="+", default=[1, 2], help="numbers of calls at once")
    parser.add_argument("--sphinx", action="store_true", help="measure the fallback")
    parser.add_argument("--errors", action="store_true", help="print each sentence that was heard wrongly")
    parser.add_argument("--only", choices=["words", "times"], help="one of the two tables")
    options = parser.parse_args()
    engine = "sphinx" if options.sphinx else "moonshine"
    pool = SpeechPool("speech recognition", f"backend.extensions.local.recognition.{engine}", limits(2))
    recognizer = PooledRecognizer(SPHINX if options.sphinx else MOONSHINE, pool)
    began = time.monotonic()
    await pool.wait_until_ready()
    sys.stdout.write(f"{recognizer.name}: loaded in {time.monotonic() - began:.1f} s\n\n")
    try:
        if options.only != "times":
            await word_errors(recognizer, options.share, show=options.errors)
        if options.only != "words":
            await times(recognizer, pool, options.timed, options.calls)
    finally:
        await pool.close()


async def word_errors(recognizer: PooledRecognizer, share: int, *, show: bool) -> None:
    """Print the word error rate of each voice family in each noise."""
    wrong: dict[tuple[str, str], int] = defaultdict(int)
    words: dict[tuple[str, str], int] = defaultdict(int)
    for each in spoken(share):
        utterance = recognizer.start()
        utterance.feed(each.pcm)
        heard = await utterance.finish()
        found, of = errors(each.text, heard)
        wrong[each.family, each.noise] += found
        words[each.family, each.noise] += of
        if found and show:
            sys.stdout.write(f"{each.family} {each.noise}: {each.text} → {heard}\n")
            sys.stdout.flush()
    families = sorted({family for family, _ in words})
    print(f"| | {' | '.join(families)} | all |\n| --- |{' ---: |' * (len(families) + 1)}")
    for noise in NOISES:
        rates = [wrong[family, noise] / max(1, words[family, noise]) for family in families]
        whole = sum(wrong[family, noise] for family in families) / sum(words[family, noise] for family in families)
        print(f"| {noise} | {' | '.join(f'{100 * rate:.1f} %' for rate in [*rates, whole])} |")
    await recorded(recognizer)


async def recorded(recognizer: PooledRecognizer) -> None:
    """Print the errors in the one recording that an installed package ships."""
    path = metadata.distribution(PACKAGE).locate_file("moonshine_cpp/test-data/beckett.wav")
    utterance = recognizer.start()
    utterance.feed(read_audio(Path(str(path))))
    found, of = errors(RECORDED, await utterance.finish())
    print(f"\nRecorded speech (10 s): {found} of {of} words wrong.\n")


async def times(recognizer: PooledRecognizer, pool: SpeechPool, count: int, numbers: Sequence[int]) -> None:
    """Print the time from the last sound to the transcript, by the number of parallel calls."""
    timed = [each for each in spoken(4) if each.noise == "quiet" and each.end_ms <= LONGEST_TIMED_MS]
    timed = timed[:: max(1, len(timed) // count)][:count]
    print(
        "| calls at once | p50 | p95 | CPU a second of audio | resident memory |\n| ---: | ---: | ---: | ---: | ---: |"
    )
    for calls in numbers:
        process = psutil.Process(pool.pids[0])
        before, shares = process.cpu_times(), [timed[each::calls] for each in range(calls)]
        each_took = await asyncio.gather(*(one_call(recognizer, share) for share in shares))
        took = [ms for one in each_took for ms in one]
        after = process.cpu_times()
        cpu_s = after.user + after.system - before.user - before.system
        audio_s = sum(len(each.pcm) for each in timed) / BYTES_PER_MS / 1000
        p50, p95 = np.percentile(took, [50, 95])
        memory = process.memory_full_info()
        print(
            f"| {calls} | {p50:.0f} ms | {p95:.0f} ms | {cpu_s / audio_s:.2f} s"
            f" | {memory.rss / 1e6:.0f} MB, {memory.uss / 1e6:.0f} MB of it its own |",
            flush=True,
        )


async def one_call(recognizer: PooledRecognizer, utterances: Sequence[Spoken]) -> list[float]:
    """Speak one after the other in real time; return the milliseconds from each last sound to the transcript."""
    took: list[float] = []
    loop = asyncio.get_running_loop()
    for each in utterances:
        utterance, began = recognizer.start(), loop.time()
        ends = each.end_ms + COMMIT_MS
        for at_ms in range(0, ends, FRAME_MS):
            await asyncio.sleep(began + (at_ms + FRAME_MS) / 1000 - loop.time())
            utterance.feed(each.pcm[at_ms * BYTES_PER_MS :][:FRAME_BYTES])
        await utterance.finish()
        took.append(1000 * (loop.time() - began) - each.end_ms)
    return took


if __name__ == "__main__":
    asyncio.run(main())
