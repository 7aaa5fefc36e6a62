"""How the recognizer searches: tokens of words, what is expected, and the beam, with likelihoods made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from local_responder.expectation import expectation_of
from local_responder.recognition.beam import BEHIND, WIDTH, BeamSearch
from local_responder.recognition.expected import END, Expectation, Expected
from local_responder.recognition.moonshine_files import TOKENS, find
from local_responder.recognition.tokens import Tokens

VOCABULARY = 12
GUIDE = "- weather: for forecasts. Example: “Will it rain in Oslo?” “How cold is it?”"


@pytest.fixture(scope="module", name="tokens")
def loaded_tokens() -> Tokens:
    return Tokens(find()[TOKENS].read_bytes())


def likely(*rows: dict[int, float]) -> np.ndarray:
    """Log-probabilities: those given, and next to nothing for all other tokens."""
    told = np.full((len(rows), VOCABULARY), 1e-9, np.float32)
    for row, given in zip(told, rows, strict=True):
        for token, share in given.items():
            row[token] = share
    return np.log(told)


@pytest.mark.parametrize("text", ["What's the weather like?", "Remind me at 5, please.", "Tampere naïve"])
def test_words_become_tokens_and_tokens_become_the_same_words(tokens: Tokens, text: str) -> None:
    assert tokens.text([token for word in text.split() for token in tokens.of_word(word)]) == text


def test_a_word_is_split_into_the_pieces_that_the_model_uses(tokens: Tokens) -> None:
    assert len(tokens.of_word("weather")) == 1
    assert len(tokens.of_word("Tampere")) > 1


def worth(expected: Expected, tokens: Tokens, text: str, word: str) -> float:
    """What all tokens of a word add behind others."""
    path, added, so_far = [token for each in text.split() for token in tokens.of_word(each)], 0.0, 0.0
    for token in tokens.of_word(word):
        more, so_far = expected.worth(path, so_far, token)
        path.append(token)
        added += more
    return added


def test_a_word_that_is_expected_gains_and_another_loses_little(tokens: Tokens) -> None:
    expected = Expected(Expectation(("Remind me to call Emma.", "Remind me at noon.")), tokens)
    assert worth(expected, tokens, "Remind", "me") > worth(expected, tokens, "", "me") > 0
    assert -1 < worth(expected, tokens, "Remind", "zebra") < 0
    assert worth(Expected(Expectation(), tokens), tokens, "Remind", "me") == 0


def test_a_word_of_many_tokens_counts_once(tokens: Tokens) -> None:
    expected = Expected(Expectation(("at Tampere", "at noon")), tokens)
    assert len(tokens.of_word("Tampere")) > len(tokens.of_word("noon"))
    assert worth(expected, tokens, "at", "Tampere") <= worth(expected, tokens, "at", "noon")


def test_a_name_in_an_example_is_no_likelier_than_another_and_those_that_are_named_are(tokens: Tokens) -> None:
    unnamed, named = (Expected(expectation_of(GUIDE, prompt), tokens) for prompt in ("", "Tampere, Ada Lovelace"))
    assert worth(unnamed, tokens, "Will it rain in", "Oslo") < 0
    assert worth(unnamed, tokens, "Will it rain in", "Tampere") < 0
    assert worth(named, tokens, "Will it rain in", "Tampere") > 0


def test_the_likeliest_as_a_whole_wins_over_the_likeliest_at_first(tokens: Tokens) -> None:
    search = BeamSearch(Expected(Expectation(), tokens))
    assert search.extend(likely({5: 0.6, 6: 0.4})) == [0, 0]
    assert search.extend(likely({7: 0.3, 8: 0.3}, {9: 0.95}))[0] == 1
    rows = search.extend(likely(*({END: 0.99} for _ in search.paths)))
    assert rows == []
    assert search.best().tokens == (6, 9)
    assert np.sum(search.best().chances) == pytest.approx(np.log(0.4 * 0.95 * 0.99), abs=1e-4)


def test_expectation_decides_between_what_sounds_alike(tokens: Tokens) -> None:
    right, write = tokens.of_word("Right")[0], tokens.of_word("Write")[0]
    heard = np.full((1, 32_000), 1e-9, np.float32)
    heard[0, [right, write]] = 0.4, 0.6
    search = BeamSearch(Expected(Expectation(("Right.",)), tokens))
    search.extend(np.log(heard))
    assert search.paths[0].tokens == (right,)
    assert search.paths[0].chances == pytest.approx((np.log(0.4),), abs=1e-4)


def test_paths_are_bounded_in_number_and_given_up_when_far_behind(tokens: Tokens) -> None:
    search = BeamSearch(Expected(Expectation(), tokens))
    search.extend(likely(dict.fromkeys(range(3, 12), 0.1)))
    assert len(search.paths) == WIDTH
    search = BeamSearch(Expected(Expectation(), tokens))
    search.extend(likely({5: 0.99, 6: 0.99 * float(np.exp(-BEHIND - 0.1))}))
    assert [path.tokens for path in search.paths] == [(5,)]


def test_nothing_was_said_only_where_that_is_likeliest(tokens: Tokens) -> None:
    search = BeamSearch(Expected(Expectation(), tokens))
    search.extend(likely({END: 0.45, 5: 0.55}))
    assert search.ended is None
    search = BeamSearch(Expected(Expectation(), tokens))
    assert search.extend(likely({END: 0.9, 5: 0.1})) == []
    assert search.best().tokens == ()


def test_days_are_expected_as_they_are_said_and_names_by_any_name() -> None:
    told = "- weather: for forecasts. Example: “Will it rain in Oslo on Friday?”"
    expectation = expectation_of(told, "Tampere, Ada Lovelace")
    assert "Will it rain in _ on Friday?" in expectation.sentences and "Right." in expectation.sentences
    assert expectation.names == ("Tampere", "Ada Lovelace")


def test_what_is_said_alone_is_expected_while_a_reply_sounds() -> None:
    assert not expectation_of(GUIDE).alone
    assert {"Right.", "Stop"} <= set(expectation_of(GUIDE, over_reply=True).alone)
