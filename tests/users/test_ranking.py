"""Which texts fit a question."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.users.ranking import Vector, by_both, by_vectors, by_words, words

TEXTS = [
    "My bike is red and stands in the cellar.",
    "I am allergic to nuts.",
    "My sister Ana lives in Bergen.",
    "We are planning a trip to Norway in June.",
]


def test_the_text_that_shares_the_rare_words_comes_first() -> None:
    assert by_words("Where is my bike?", TEXTS, 3) == [0]
    assert by_words("Can I eat nuts?", TEXTS, 3) == [1]
    assert by_words("Which trips did we plan?", TEXTS, 3)[0] == 3


def test_a_question_about_something_else_finds_nothing() -> None:
    assert by_words("Who wrote Hamlet?", TEXTS, 3) == []
    assert by_words("What is it?", TEXTS, 3) == []
    assert by_words("", TEXTS, 3) == by_words("bike", [], 3) == []


def test_words_are_folded() -> None:
    assert words("The Trips’ planning, TRIPPED!") == words("trip plann tripp")


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=8), st.integers(0, 5))
def test_any_text_can_be_ranked(question: str, texts: list[str], limit: int) -> None:
    places = by_words(question, texts, limit)
    assert len(places) == len(set(places)) <= limit
    assert all(set(words(question)) & set(words(texts[place])) for place in places)


@given(
    st.lists(st.sampled_from([*"abcdefg", "party", "parties", "ﬁnd", "Finding", "İs", "straße", "STRASSES", "the"]))
    .map(" ".join)
    .flatmap(lambda question: st.tuples(st.just(question), st.lists(st.text("aeinprsty ﬁİß’_-", max_size=30)))),
    st.lists(st.sampled_from(["a party", "parties", "find it", "the straße’s end", "party_parties", "İs it"])),
)
def test_words_are_found_quickly_with_exact_results(asked: tuple[str, list[str]], more: list[str]) -> None:
    question, texts = asked[0], [*asked[1], *more]
    wanted = set(words(question))
    sharing = [place for place, text in enumerate(texts) if wanted & set(words(text))]
    assert set(by_words(question, texts, 100)) <= set(sharing)
    if len(wanted) == 1:  # then texts that share one word share all
        assert sorted(by_words(question, texts, 100)) == sharing


def test_vectors_are_compared_by_direction() -> None:
    texts = [vector(0, 1), vector(2, 0.1), None, vector(1, 1), vector(-1, 0), vector(1, 0, 0)]
    assert by_vectors(vector(1, 0), texts, 5) == [1, 3]
    assert by_vectors(vector(0, 0), [vector(1, 0)], 5) == by_vectors(vector(1, 0), [vector(0, 0), None], 5) == []


def vector(*numbers: float) -> Vector:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("words", "vectors", "both"),
    [
        ([], [], []),
        ([4, 2], [], [4, 2]),
        ([], [7], [7]),
        ([1, 2, 3], [3, 9], [3, 1, 2, 9]),
        ([5], [6], [5, 6]),
    ],
)
def test_two_rankings_become_one_that_starts_with_their_common_texts(
    words: list[int], vectors: list[int], both: list[int]
) -> None:
    assert by_both(words, vectors, 10) == both


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.integers(2, 9))
def test_the_best_of_either_ranking_is_never_lost(words: list[int], vectors: list[int], limit: int) -> None:
    both = by_both(words, vectors, limit)
    agreed = set(words) & set(vectors)
    assert len(both) == len(set(both)) <= limit and set(both) <= set(words) | set(vectors)
    assert agreed or all(first[0] in both for first in (words, vectors) if first)
