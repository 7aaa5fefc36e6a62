"""Which texts fit a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.users.ranking import by_vectors, by_words, cosine, words

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
def test_words_are_found_quickly_exactly_where_they_are(asked: tuple[str, list[str]], more: list[str]) -> None:
    question, texts = asked[0], [*asked[1], *more]
    wanted = set(words(question))
    sharing = [place for place, text in enumerate(texts) if wanted & set(words(text))]
    assert set(by_words(question, texts, 100)) <= set(sharing)
    if len(wanted) == 1:  # then whoever shares a word shares all of them
        assert sorted(by_words(question, texts, 100)) == sharing


def test_vectors_are_compared_by_direction() -> None:
    assert by_vectors([1.0, 0.0], [[0.0, 1.0], [2.0, 0.1], [1.0, 1.0], [-1.0, 0.0]], 5) == [1, 2]
    assert cosine([0.0, 0.0], [1.0, 0.0]) == 0.0
