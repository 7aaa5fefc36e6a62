"""A text is split into sentences, and shortened to whole ones."""

import pytest

from backend.language.sentences import first_sentences, sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rains. Stay in! Why?", ["It rains.", "Stay in!", "Why?"]),
        ("It is 3.5 degrees at example.com.", ["It is 3.5 degrees at example.com."]),
        ("One line\nand another", ["One line", "and another"]),
        ("雨です。家にいて！", ["雨です。", "家にいて！"]),
        ("  ", []),
    ],
)
def test_a_sentence_ends_with_a_mark_before_a_space(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_a_shortened_text_consists_of_whole_sentences() -> None:
    assert first_sentences("It rains. Stay in.", 100) == "It rains. Stay in."
    assert first_sentences("It rains. Stay in. Read.", 20) == "It rains. Stay in."
    assert first_sentences("It rains all day long", 10) == "It rains …"
