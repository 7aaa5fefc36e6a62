"""The search of the recogniser: tokens of words, expectations, and the beam, with likelihoods made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from backend.extensions.local.recognition.beam import BEHIND, WIDTH, BeamSearch
from backend.extensions.local.recognition.expected import END, ExpectedPhrases
from backend.extensions.local.recognition.moonshine import MOST_LOSS, chosen_of
from backend.extensions.local.recognition.moonshine_files import TOKENS, find
from backend.extensions.local.recognition.moonshine_model import Decoded
from backend.extensions.local.recognition.tokens import Vocabulary

VOCABULARY = 12


@pytest.fixture(scope="module", name="tokens")
def loaded_tokens() -> Vocabulary:
    return Vocabulary(find()[TOKENS].read_bytes())


def likely(*rows: dict[int, float]) -> np.ndarray:
    """Log-probabilities: those given, and next to nothing for all other tokens."""
    scores = np.full((len(rows), VOCABULARY), 1e-9, np.float32)
    for row, given in zip(scores, rows, strict=True):
        for token, share in given.items():
            row[token] = share
    return np.log(scores)


@pytest.mark.parametrize("text", ["What's the weather like?", "Remind me at 5, please.", "Tampere naïve"])
def test_words_become_tokens_and_tokens_become_the_same_words(tokens: Vocabulary, text: str) -> None:
    assert tokens.text([token for word in text.split() for token in tokens.of_word(word)]) == text


def test_a_word_is_split_into_the_pieces_that_the_model_uses(tokens: Vocabulary) -> None:
    assert len(tokens.of_word("weather")) == 1
    assert len(tokens.of_word("Tampere")) > 1


def worth(expected: ExpectedPhrases, tokens: Vocabulary, text: str, word: str) -> float:
    """The sum over all tokens of a word behind others."""
    path, added, so_far = [token for each in text.split() for token in tokens.of_word(each)], 0.0, 0.0
    for token in tokens.of_word(word):
        more, so_far = expected.worth(path, so_far, token)
        path.append(token)
        added += more
    return added


def test_an_expected_word_gains_and_another_loses_little(tokens: Vocabulary) -> None:
    expected = ExpectedPhrases(("Remind me to call Emma.", "Remind me at noon."), tokens)
    assert worth(expected, tokens, "Remind", "me") > worth(expected, tokens, "", "me") > 0
    assert -2 < worth(expected, tokens, "Remind", "zebra") < 0
    assert worth(ExpectedPhrases((), tokens), tokens, "Remind", "me") == 0


def test_a_word_of_many_tokens_counts_once(tokens: Vocabulary) -> None:
    expected = ExpectedPhrases(("at Tampere", "at noon"), tokens)
    assert len(tokens.of_word("Tampere")) > len(tokens.of_word("noon"))
    assert worth(expected, tokens, "at", "Tampere") <= worth(expected, tokens, "at", "noon")


def test_the_likeliest_whole_wins_over_the_likeliest_beginning(tokens: Vocabulary) -> None:
    search = BeamSearch(ExpectedPhrases((), tokens))
    assert search.extend(likely({5: 0.6, 6: 0.4})) == [0, 0]
    assert search.extend(likely({7: 0.3, 8: 0.3}, {9: 0.95}))[0] == 1
    rows = search.extend(likely(*({END: 0.99} for _ in search.paths)))
    assert rows == []
    best, other = search.likeliest()[:2]
    assert best.tokens == (6, 9) and other.score < best.score
    assert np.sum(best.chances) == pytest.approx(np.log(0.4 * 0.95 * 0.99), abs=1e-4)


def test_expectation_decides_between_similar_sounds(tokens: Vocabulary) -> None:
    right, write = tokens.of_word("Right")[0], tokens.of_word("Write")[0]
    heard = np.full((1, 32_000), 1e-9, np.float32)
    heard[0, [right, write]] = 0.4, 0.6
    search = BeamSearch(ExpectedPhrases(("Right.",), tokens))
    search.extend(np.log(heard))
    assert search.paths[0].tokens == (right,)
    assert search.paths[0].chances == pytest.approx((np.log(0.4),), abs=1e-4)


def test_paths_are_bounded_in_number_and_dropped_when_far_behind(tokens: Vocabulary) -> None:
    search = BeamSearch(ExpectedPhrases((), tokens))
    search.extend(likely(dict.fromkeys(range(3, 12), 0.1)))
    assert len(search.paths) == WIDTH
    search = BeamSearch(ExpectedPhrases((), tokens))
    search.extend(likely({5: 0.99, 6: 0.99 * float(np.exp(-BEHIND - 0.1))}))
    assert [path.tokens for path in search.paths] == [(5,)]


def test_an_empty_transcript_is_chosen_only_where_it_is_likeliest(tokens: Vocabulary) -> None:
    search = BeamSearch(ExpectedPhrases((), tokens))
    search.extend(likely({END: 0.45, 5: 0.55}))
    assert search.likeliest()[0].tokens == (5,)
    search = BeamSearch(ExpectedPhrases((), tokens))
    assert search.extend(likely({END: 0.9, 5: 0.1})) == []
    assert search.likeliest()[0].tokens == ()


@pytest.mark.parametrize(("loss", "is_taken"), [(MOST_LOSS - 0.1, True), (MOST_LOSS + 0.1, False)])
def test_expectation_gives_way_where_the_sound_speaks_against_it(loss: float, *, is_taken: bool) -> None:
    free = Decoded((5, 6), -0.2)
    expected = Decoded((7, 8, 9), (3 * -0.2 - loss) / 4)
    assert chosen_of(free, expected) is (expected if is_taken else free)
    assert chosen_of(free) is free
