"""Learn the weights of `backend/turns/completeness.py` from callers' sentences, and measure them on others.

    python -m scripts.train_completeness          # measure the weights as they are
    python -m scripts.train_completeness --write  # learn them again and write them

Each sentence is cut at every word boundary. Boundaries where a person plausibly pauses count fully, others a third. The
fit is a logistic regression with an L2 penalty (limited-memory BFGS, half a minute); small weights are dropped.
"""

import argparse
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.turns.completeness import completeness, features
from backend.turns.end_of_turn import AskedFor, EndpointingStyle, PauseContext, end_of_turn_wait
from backend.turns.grammar import words_of

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = ROOT / "tests" / "turns" / "caller_sentences.txt"
UNSEEN = ROOT / "tests" / "turns" / "caller_sentences_unseen.txt"
WEIGHTS = ROOT / "backend" / "turns" / "languages" / "en_weights.json"
LEARNED_KINDS = "qcsal"
"""The kinds of sentences to learn from; `end_of_turn_wait` has rules for dictation, fillers and self-corrections."""
PENALTY, DROP_BELOW = 3.0, 0.15
RARE = 4
"""The least cuts with a feature that is learned."""
WORDS_KNOWN_MS = 430
"""The usual time from the last voice to a provider's transcript of a segment."""
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cut:
    """A sentence up to one of its word boundaries."""

    kind: str
    expected: str
    words: str
    complete: bool
    plausible: bool
    """True if a person may well pause here."""
    rest: str


def cuts(path: Path) -> list[Cut]:
    """Return every cut of the sentences of a file, the complete sentences among them."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, text = line[0], line[2:]
        expected = "nothing"
        if text.startswith("["):
            expected, text = text[1:].split("] ", 1)
        tokens = text.replace(" |", "|").split(" ")
        for index in range(len(tokens)):
            said, rest = (" ".join(part).replace("|", "").replace("_", " ") for part in _split(tokens, index + 1))
            found.append(Cut(kind, expected, said, not rest, tokens[index].endswith("|"), rest))
    return found


def _split(tokens: list[str], at: int) -> tuple[list[str], list[str]]:
    return tokens[:at], tokens[at:]


@cache
def _trigrams() -> Any:
    import pocketsphinx

    return pocketsphinx.NGramModel.readfile(f"{pocketsphinx.get_model_path()}/en-us/en-us.lm.bin")


def sentence_ends(words: Sequence[str]) -> list[float]:
    """Return the log10 probability of a sentence end after each text's last two words, by pocketsphinx's trigrams."""
    model, log10 = _trigrams(), math.log10(1.0001)
    return [model.prob(["</s>", *reversed(words_of(text)[-2:])]) * log10 for text in words]


def fit(rows: Sequence[set[str]], truth: Vector, importance: Vector) -> dict[str, float]:
    """Return the weight of each feature. Every row should contain "bias"."""
    counted = Counter(name for row in rows for name in row)
    names = sorted(name for name, times in counted.items() if times >= RARE)
    column = {name: index for index, name in enumerate(names)}
    known = [[column[name] for name in row if name in column] for row in rows]
    absent = len(names)
    columns = np.full((len(rows), max(map(len, known))), absent)
    for index, row in enumerate(known):
        columns[index, : len(row)] = row
    penalty = np.full(absent + 1, PENALTY)
    penalty[column["bias"]] = 0.001

    def loss(weights: Vector) -> tuple[float, Vector]:
        score = weights[columns].sum(1)
        missed = importance * (1 / (1 + np.exp(-score)) - truth)
        gradient = np.bincount(columns.ravel(), np.repeat(missed, columns.shape[1]), absent + 1) + penalty * weights
        gradient[absent] = 0
        likelihood = (importance * (np.logaddexp(0, score) - truth * score)).sum()
        return float(likelihood + (penalty * weights**2).sum() / 2), gradient

    weights = least(loss, np.zeros(absent + 1))
    return dict(zip(names, (float(weight) for weight in weights), strict=False))


def least(loss: Callable[[Vector], tuple[float, Vector]], at: Vector) -> Vector:
    """Return where a convex `loss`, given with its gradient, is least, by limited-memory BFGS."""
    value, gradient = loss(at)
    steps: deque[tuple[Vector, Vector]] = deque(maxlen=10)
    for _ in range(150):
        direction, shares = gradient.copy(), []
        for step, change in reversed(steps):
            shares.append(step @ direction / (change @ step))
            direction -= shares[-1] * change
        if steps:
            step, change = steps[-1]
            direction *= (step @ change) / (change @ change)
        else:
            direction /= np.abs(direction).sum()
        for (step, change), share in zip(steps, reversed(shares), strict=True):
            direction += step * (share - change @ direction / (change @ step))
        length = 1.0
        while (found := loss(at - length * direction))[0] > value - 1e-4 * length * (gradient @ direction):
            length /= 2
            if length < 1e-6:
                return at
        steps.append((-length * direction, found[1] - gradient))
        at, gained = at - length * direction, value - found[0]
        value, gradient = found
        if gained < 1e-6 * value:
            break
    return at


def newton(matrix: Vector, truth: Vector, importance: Vector, penalty: Vector) -> Vector:
    """Return the weights of a logistic regression."""
    weights = np.zeros(matrix.shape[1])
    for _ in range(12):
        probability = 1 / (1 + np.exp(-matrix @ weights))
        gradient = matrix.T @ (importance * (probability - truth)) + penalty * weights
        curvature = (matrix * (importance * probability * (1 - probability))[:, None]).T @ matrix + np.diag(penalty)
        weights -= np.linalg.solve(curvature, gradient)
    return weights


def learn(learned: Sequence[Cut]) -> None:
    """Fit the weights, and on scores of words left out of the fit how much the trigram model adds; write the table."""
    rows = [{"bias", *features(words_of(cut.words))} for cut in learned]
    truth = np.array([cut.complete for cut in learned], float)
    importance = np.array([1.0 if cut.complete or cut.plausible else 0.3 for cut in learned])
    sentence = np.cumsum([cut.complete for cut in learned]) - truth  # the number of the sentence a cut is of
    scores = np.zeros(len(learned))
    for fold in range(8):
        inside, outside = np.flatnonzero(sentence % 8 != fold), np.flatnonzero(sentence % 8 == fold)
        weights = fit([rows[index] for index in inside], truth[inside], importance[inside])
        scores[outside] = [sum(weights.get(name, 0.0) for name in rows[index]) for index in outside]
    ends = np.array(sentence_ends([cut.words for cut in learned]))
    matrix = np.column_stack([scores, ends, np.ones(len(learned))])
    by_words, by_end, offset = newton(matrix, truth, importance, np.full(3, 0.001))
    weights = fit(rows, truth, importance)
    learnt = {
        "trigram": [round(float(factor), 2) for factor in (by_words, by_end, offset)],
        "features": {name: round(weights[name], 2) for name in sorted(weights) if abs(weights[name]) >= DROP_BELOW},
    }
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(learnt), indent=1) + b"\n")


def discrimination(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the probability that a positive scores higher than a negative: the area under the ROC curve."""
    upper = np.searchsorted(np.sort(negative), positive, side="right")
    lower = np.searchsorted(np.sort(negative), positive, side="left")
    return float((upper + lower).mean() / 2 / len(negative))


def measure(name: str, judged: Sequence[Cut]) -> None:
    """Print how well complete turns and fragments are distinguished, with the trigram model and without."""
    for label, ends in (("words", [None] * len(judged)), ("+ trigrams", sentence_ends([cut.words for cut in judged]))):
        scores = [completeness(words_of(cut.words), end) for cut, end in zip(judged, ends, strict=True)]
        complete = [score for score, cut in zip(scores, judged, strict=True) if cut.complete]
        plausible = [score for score, cut in zip(scores, judged, strict=True) if cut.plausible]
        every = [score for score, cut in zip(scores, judged, strict=True) if not cut.complete]
        print(
            f"{name:8} {label:10}  at plausible pauses {discrimination(complete, plausible):.3f}"
            f"  at every boundary {discrimination(complete, every):.3f}"
        )


def wait(name: str, judged: Sequence[Cut]) -> None:
    """Print what the balanced waits make of it, without punctuation: pauses spoken into, and waits of whole turns."""
    waits = []
    for cut, end in zip(judged, sentence_ends([cut.words for cut in judged]), strict=True):
        context = PauseContext(cut.words.lower().rstrip(".?"), expected=AskedFor(cut.expected), sentence_end=end)
        waits.append(max(WORDS_KNOWN_MS, end_of_turn_wait(context, EndpointingStyle.BALANCED).wait_ms))
    whole = [ms for ms, cut in zip(waits, judged, strict=True) if cut.complete]
    questions = [ms for ms, cut in zip(waits, judged, strict=True) if cut.complete and cut.kind == "q"]
    soon = np.mean(np.array(questions) <= 450)
    print(
        f"{name:8} whole turns wait {np.mean(whole):.0f} ms (mean), {np.quantile(whole, 0.5):.0f} (median), "
        f"{np.quantile(whole, 0.9):.0f} (p90);",
        end="",
    )
    print(f" {soon:.0%} of questions at most 450")
    groups = {
        "at every boundary": [ms for ms, cut in zip(waits, judged, strict=True) if not cut.complete],
        "at plausible pauses": [ms for ms, cut in zip(waits, judged, strict=True) if cut.plausible],
        "in dictation": [ms for ms, cut in zip(waits, judged, strict=True) if cut.plausible and cut.kind == "d"],
    }
    for group, waited in groups.items():
        into = ", ".join(f"{ms} ms {np.mean(np.array(waited) <= ms):.1%}" for ms in (300, 600, 800, 1000))
        print(f"{name:8} spoken into pauses {group:19}: {into}")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="learn the weights anew and write them")
    if parser.parse_args().write:
        learn([cut for cut in cuts(SENTENCES) if cut.kind in LEARNED_KINDS])
        print("Written. Run again without --write to measure.")
        return
    measure("learned", [cut for cut in cuts(SENTENCES) if cut.kind in LEARNED_KINDS])
    measure("unseen", [cut for cut in cuts(UNSEEN) if cut.kind in LEARNED_KINDS])
    for name, path in (("learned", SENTENCES), ("unseen", UNSEEN)):
        wait(name, cuts(path))


if __name__ == "__main__":
    main()
