"""The dialogue without a language model: small talk by rules, questions to whoever is nearest by vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backend.extensions.local.chat.facts import recall
from backend.extensions.local.chat.telling import worded
from backend.extensions.local.dialogue import small_talk, wording
from backend.extensions.local.dialogue.addressing import SILENCE, is_for_others
from backend.extensions.local.dialogue.base import Part, Sentence
from backend.extensions.local.dialogue.conversation import Conversation, of_items
from backend.extensions.local.dialogue.keeping import whole
from backend.extensions.local.dialogue.obeying import obeyed
from backend.extensions.local.dialogue.remembering import remembered
from backend.extensions.local.dialogue.routing import Specialist, router_of, routing_of
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.understanding import PREPOSITION, Question, is_half, questions_in, understand
from backend.realtime.serving.parts import Call
from backend.realtime.serving.reply_stream import Order

FRAGMENT_WORDS = 2
"""Words of an utterance that belongs to the one before it, at most."""
NOBODY = (Specialist("knowledge"),)
"""With nobody to ask, what is known by heart has to do."""


@dataclass(frozen=True, slots=True)
class Thought:
    """Words, or calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()


class RulesDialogue:
    """Answers without a model. One for all connections; it keeps nothing of what is said."""

    name = "built-in rules"

    def __init__(self, clock: Callable[[], datetime] = datetime.now) -> None:
        self._clock = clock
        self._specialists: tuple[Specialist, ...] = ()
        """Those who could be asked last; the same in all calls, as a rule."""

    def __repr__(self) -> str:
        return "RulesDialogue()"

    async def warm_up(self) -> None:
        """Load the vectors."""
        await asyncio.to_thread(router_of, small_talk.SPECIALISTS)

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """See `Dialogue`. What is said to those who may be asked is likelier than anything else."""
        return router_of((*self._specialists, *small_talk.SPECIALISTS)).likeliest(heard)

    async def answer(self, order: Order) -> AsyncGenerator[Part, None]:
        """See `Dialogue`."""
        if routing := routing_of(order.tools, order.instructions):
            self._specialists = routing.specialists
        # in a thread: what a new guide teaches takes a third of a second
        thought = await asyncio.to_thread(reply_to, order, self._clock())
        for sentence in wording.sentences(thought.text):
            yield Sentence(sentence)
        for call in thought.calls:
            yield call


def reply_to(order: Order, now: datetime) -> Thought:
    """Return the reply to an order: by its purpose, by results that have come, or by what the caller has said."""
    conversation = of_items(order.items)
    if special := wording.purpose(order.purpose or "", order.instructions, turn=conversation.turn):
        return Thought(special)
    if order.purpose == "notice":
        return Thought(obeyed(wording.news(order.instructions, conversation.notes), order.instructions))
    if conversation.results:  # whoever found it has worded it as the caller wants it
        return Thought(" ".join(worded("", result) for result in conversation.results))
    reply = respond(conversation, order.instructions, order.tools if order.tool_choice != "none" else (), now)
    return reply if reply.calls else Thought(obeyed(reply.text, order.instructions))


def respond(
    conversation: Conversation, instructions: str, tools: Sequence[Mapping[str, Any]], now: datetime
) -> Thought:
    """Return what is answered to the caller, in calls and typed turns alike."""
    last_said = conversation.last("assistant")
    may_be_silent = conversation.spoken and any(tool["name"] == SILENCE for tool in tools)
    if may_be_silent and is_for_others(" ".join(conversation.utterances), instructions, last_said):
        return Thought(calls=(Call(SILENCE, "{}"),))
    if told := remembered(conversation.newest, conversation.said, instructions):
        return Thought(told)
    routing = routing_of(tools, instructions)
    specialists = routing.specialists if routing else NOBODY
    last = conversation.asked(routing) if routing else None
    wish = understand(whole(conversation.newest, conversation.of("user")), specialists, last)
    fragment = len(conversation.newest.split()) <= FRAGMENT_WORDS or PREPOSITION.match(conversation.newest)
    if len(conversation.utterances) > 1 and (
        wish in (Talk.OTHER, Talk.NOTHING)
        or (fragment and isinstance(wish, Question))
        or is_half(conversation.utterances[-2])
    ):
        wish = understand(conversation.joined, specialists, last)
    if wish is Talk.YES and last and wording.asks_consent(last_said):
        wish = Question(last.domain, f"Yes, {last.query[:1].lower()}{last.query[1:]}")
    if isinstance(wish, Talk):
        return Thought(small_talk.answer(wish, conversation.turn, now, last_said, specialists))
    if routing is None:
        return Thought(recall(wish.query))
    questions = questions_in(wish.query, specialists) or (wish,)
    acknowledgement = wording.pick(wording.ACKNOWLEDGEMENTS, conversation.turn)
    return Thought(
        acknowledgement, tuple(Call(routing.name, routing.arguments(each.domain, each.query)) for each in questions)
    )
