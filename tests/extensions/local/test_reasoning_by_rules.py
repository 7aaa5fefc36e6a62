"""Reasoning with no key: word problems by rules, and the parts that two models share."""

from __future__ import annotations

from typing import get_args

import pytest

from backend.agent.session import Agent
from backend.extensions.local.chat.facts import UNKNOWN
from backend.extensions.local.dialogue.understanding import Question
from backend.models.chat_completions import ChatCompletions
from backend.reasoning.base import Strategy
from backend.reasoning.reasoner import Reasoner
from backend.settings.agent import ReasoningSettings
from backend.tools.calculate import calculate
from tests.extensions.local.orders import understood
from tests.support.agents import toolbox
from tests.support.offline_peer import OfflinePeer

DOMAINS = ("knowledge", "weather", "assistant", "research", "reason")
TICKETS = "Think hard: three tickets cost twelve dollars each, what change do I get from fifty?"


@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (TICKETS, "The change is 14."),
        ("A train goes 60 miles per hour for 3 hours. How far does it go?", "The distance is 180."),
        ("Split ninety among six people, carefully.", "Each gets 15."),
        ("Think carefully: what is eighty percent of two hundred?", "That is 160."),
        ("Who wrote Hamlet?", "It was William Shakespeare who wrote Hamlet."),
        ("Think hard about the meaning of life.", UNKNOWN),
    ],
)
async def test_what_the_rules_can_work_out_is_worked_out(
    peer: OfflinePeer, strategy: Strategy, task: str, answer: str
) -> None:
    await peer.follow(None)
    model = ChatCompletions(base_url=peer.base_url, api_key="offline")
    agent = Agent(model, toolbox(calculate), "fast")
    reasoner = Reasoner(agent, ReasoningSettings(), fast="fast", advanced="advanced")  # type: ignore[call-arg]
    reasoned = await reasoner.infer(task, strategy)
    await model.close()
    assert (reasoned.text, reasoned.state) == (answer, "complete")


@pytest.mark.parametrize(
    "words",
    [TICKETS, "Think carefully about my week.", "Please think it through.", "I have a riddle for you, solve it?"],
)
def test_what_is_to_be_thought_about_goes_to_the_reasoner(words: str) -> None:
    assert understood(words, DOMAINS) == Question("reason", words)


def test_a_passing_thought_does_not() -> None:
    words = "What do you think of the weather in Oslo?"
    assert understood(words, DOMAINS) == Question("weather", words)
