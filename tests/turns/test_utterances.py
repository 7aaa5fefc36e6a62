"""The kinds of short utterances, by their words."""

import pytest

from backend.turns.utterances import UtteranceKind, kind_of, phrases

AGREEMENT, COMMAND = UtteranceKind.AGREEMENT, UtteranceKind.COMMAND
HESITATION, NOISE, OTHER = UtteranceKind.HESITATION, UtteranceKind.NOISE, UtteranceKind.OTHER


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Yeah.", AGREEMENT),
        ("Yeah, yeah!", AGREEMENT),
        ("yeah okay", AGREEMENT),
        ("Mm-hmm.", AGREEMENT),
        ("mm hmm", AGREEMENT),
        ("Uh-huh, right", AGREEMENT),
        ("That’s right", AGREEMENT),
        ("Ha ha ha ha!", AGREEMENT),
        ("Well, yes.", AGREEMENT),
        ("Stop!", COMMAND),
        ("no no, stop", COMMAND),
        ("Nooo", COMMAND),
        ("Okay, stop.", COMMAND),
        ("Hold on a second", COMMAND),
        ("Hey, wait... wait a minute", COMMAND),
        ("Um...", HESITATION),
        ("Hmmm", HESITATION),
        ("uh, well", HESITATION),
        ("", NOISE),
        ("[laughs]", NOISE),
        ("(coughing) ...", NOISE),
        ("okay but why", OTHER),
        ("what about tomorrow", OTHER),
        ("No, tell me about Paris", OTHER),
        ("yes in Celsius please", OTHER),
        ("Maybe.", OTHER),
    ],
)
def test_an_utterance_has_the_kind_of_the_phrases_that_cover_it(words: str, kind: UtteranceKind) -> None:
    assert kind_of(words) is kind


def test_every_phrase_is_of_its_own_kind() -> None:
    for kind in (AGREEMENT, COMMAND, HESITATION, OTHER):
        assert [phrase for phrase in phrases(kind) if kind_of(phrase) is not kind] == []


def test_one_space_separates_the_words_of_a_phrase() -> None:
    assert {"yeah", "mm hmm", "that's right"} <= set(phrases(AGREEMENT))
