"""Every Thinker can be reached without a model: its example is routed to it, also beside other words."""

import pytest

from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import Referral, questions_in
from backend.thinkers.base import Manifest
from tests.extensions.local.orders import GENERAL, MANIFESTS, SPECIALISTS, understood

DOMAINS = tuple(manifest.domain for manifest in MANIFESTS)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=DOMAINS)
def test_the_example_of_each_thinker_is_routed_to_it(manifest: Manifest) -> None:
    assert understood(manifest.example, DOMAINS) == Referral(manifest.domain, manifest.example)


@pytest.mark.parametrize(
    ("words", "domains"),
    [
        ("What's the weather in Paris and how is Apple doing?", ("weather", "stocks")),
        ("What's the weather in Paris? And who wrote Hamlet?", ("weather", "knowledge")),
        ("Remind me to call Ann, and what's the weather in Oslo?", ("assistant", "weather")),
        ("Who wrote Hamlet, what's the weather in Oslo and how is Apple doing?", ("knowledge", "weather", "stocks")),
        ("Who wrote Hamlet and when did he die?", ()),
        ("What's the weather in Paris and Rome?", ()),
        ("What is the difference between tea and what is called rooibos?", ()),
        ("How much Apple stock? Do I need a calendar for it?", ()),  # recognition puts a mark where none is
    ],
)
def test_two_questions_of_one_sentence_are_asked_one_by_one_in_their_order(
    words: str, domains: tuple[str, ...]
) -> None:
    asked_for = questions_in(words, tuple(SPECIALISTS.values()), GENERAL)
    assert tuple(each.domain for each in asked_for) == domains


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("Stop. Tell me about Paris.", Referral("knowledge", "Tell me about Paris.")),
        ("stop tell me about Paris", Referral("knowledge", "Tell me about Paris")),
        ("Okay, and what's the weather in Oslo?", Referral("weather", "What's the weather in Oslo?")),
        ("Thanks. And in Paris?", Referral("weather", "What's the weather in Paris?")),
        ("Stop.", Talk.STOP),
        ("Stop the news.", Talk.STOP),
        ("Will it rain?", Referral("weather", "Will it rain?")),
        ("Thanks for the weather.", Talk.THANKS),
        ("Wait a moment.", Talk.STOP),
        ("Cancel that.", Talk.STOP),
        ("No thanks.", Talk.NO),
        ("Hello, how are you?", Talk.HOW_ARE_YOU),
    ],
)
def test_a_question_after_a_stop_or_a_courtesy_is_answered(words: str, wish: Talk | Referral) -> None:
    assert understood(words, DOMAINS, Referral("weather", "What's the weather in Rome?")) == wish


def test_a_domain_unknown_to_the_rules_is_asked_by_its_name() -> None:
    assert understood("Is the moon full?", (*DOMAINS, "moon")) == Referral("moon", "Is the moon full?")
    assert understood("Is the moon full?", DOMAINS) == Referral("knowledge", "Is the moon full?")
