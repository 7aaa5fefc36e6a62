"""The answers without a language model: small talk, sums, units and the clock, and the tools that a sentence needs.

The dialogue reads what was said, the schemas of the offered tools, and their results. It reads no prompt. It says
plainly when a request would need a language model.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from backend.extensions.local.dialogue import small_talk, wording
from backend.extensions.local.dialogue.base import Part
from backend.extensions.local.dialogue.calls import Thought, call_after, calls_for, named_in
from backend.extensions.local.dialogue.clock import time_elsewhere
from backend.extensions.local.dialogue.conversation import DialogueContext, of_items, of_messages
from backend.extensions.local.dialogue.routing import Routing, Specialist, router_of, routing_of
from backend.extensions.local.dialogue.small_talk import Talk
from backend.extensions.local.dialogue.sums import sum_in
from backend.extensions.local.dialogue.telling import worded
from backend.extensions.local.dialogue.understanding import PREPOSITION, Referral, is_half, questions_in, understand
from backend.realtime.serving.effects import Order
from backend.realtime.serving.parts import Call

SILENCE = "wait_for_user"
"""The tool by which the dialogue stays silent, if it is offered."""
FRAGMENT_WORDS = 2
"""The most words of an utterance that belongs to the one before it."""
UNKNOWN = f"That takes a language model, and none is connected. {small_talk.abilities(())} {wording.SMARTER}"
SPEAKERS = ("user", "assistant")
Message = Mapping[str, Any]


class PlainDialogue:
    """The dialogue without a model. One serves all connections; it keeps nothing of what is said."""

    name = "no language model"

    def __init__(self, clock: Callable[[], datetime] = datetime.now) -> None:
        self._clock = clock
        self._specialists: tuple[Specialist, ...] = ()
        """The specialists of the last call; as a rule they are the same in all calls."""

    async def warm_up(self) -> None:
        """Load the vectors."""
        await asyncio.to_thread(router_of, small_talk.SPECIALISTS)

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Follow `Dialogue`. Words that fit a specialist are likelier than others."""
        return router_of((*self._specialists, *small_talk.SPECIALISTS)).likeliest(heard)

    async def answer(self, order: Order) -> AsyncGenerator[Part, None]:
        """Follow `Dialogue`."""
        if routing := routing_of(order.tools):
            self._specialists = routing.specialists
        # in a thread: to learn new examples takes a third of a second
        thought = await asyncio.to_thread(reply_to, order, self._clock())
        for sentence in wording.sentences(thought.text):
            yield sentence
        for call in thought.calls:
            yield call


def reply_to(order: Order, now: datetime) -> Thought:
    """Return the reply to an order: by its purpose, by results that have come, or by what the caller has said."""
    conversation = of_items(order.items)
    if special := wording.purpose(order.purpose or "", order.instructions, turn=conversation.turn):
        return Thought(special)
    if order.purpose == "notice":
        return Thought(wording.news(order.instructions, conversation.notes))
    if conversation.results:
        return Thought(" ".join(worded("", result) for result in conversation.results))
    return respond(conversation, order.tools if order.tool_choice != "none" else (), now)


def complete(messages: Sequence[Message], tools: Sequence[Message], now: datetime) -> Thought:
    """Return the answer of a chat completion: the words for results that came since the question, or a reply."""
    said = [(str(each["role"]), text_of(each.get("content"))) for each in messages if each.get("role") in SPEAKERS]
    functions = [tool["function"] for tool in tools if tool.get("type") == "function"]
    sentence = next((text for role, text in reversed(said) if role == "user"), "")
    if results := _results(messages):
        after = [call_after(sentence, functions, *each) or Thought(worded(sentence, each[1])) for each in results]
        calls = tuple(call for each in after for call in each.calls)
        return Thought("" if calls else " ".join(each.text for each in after), calls)
    if routing_of(functions) is None:  # a Thinker's own question
        return calls_for(sentence, functions) or _computed(sentence)
    reply = respond(of_messages(said), functions, now)
    return Thought(calls=reply.calls) if reply.calls else reply  # a typed turn shows which Thinker is asked


def respond(conversation: DialogueContext, tools: Sequence[Mapping[str, Any]], now: datetime) -> Thought:
    """Return the answer to a caller, in calls and typed turns alike."""
    routing = routing_of(tools)
    others = [tool for tool in tools if tool["name"] not in (SILENCE, routing.name if routing else "")]
    if elsewhere := time_elsewhere(conversation.newest, now):
        return Thought(elsewhere)
    called = named_in(conversation.newest, others) if routing else others
    if called and (thought := calls_for(conversation.newest, called)):
        return thought
    wish = _wish(conversation, routing)  # speech to other people needs no answer
    if wish is Talk.OTHERS and conversation.spoken and any(tool["name"] == SILENCE for tool in tools):
        return Thought(calls=(Call(SILENCE, "{}"),))
    specialists = [each for each in routing.specialists if each.domain != routing.general] if routing else []
    if isinstance(wish, Talk) and (routing or wish is not Talk.OTHER):  # `OTHER` without specialists may be a sum
        return Thought(small_talk.answer(wish, conversation.turn, now, conversation.last("assistant"), specialists))
    return _answered(wish, conversation, routing)


def _answered(wish: Talk | Referral, conversation: DialogueContext, routing: Routing | None) -> Thought:
    """Return the value if it can be computed here, else the questions to the specialists."""
    if routing is None or not isinstance(wish, Referral):
        return _computed(conversation.newest)
    if wish.domain == routing.general and (asked := sum_in(wish.query)):
        return Thought(asked.answer())
    questions = questions_in(wish.query, routing.specialists, routing.general) or (wish,)
    acknowledgement = wording.pick(wording.ACKNOWLEDGEMENTS, conversation.turn)
    calls = (Call(routing.name, routing.arguments(each.domain, each.query)) for each in questions)
    return Thought(acknowledgement, tuple(calls))


def _computed(sentence: str) -> Thought:
    asked = sum_in(sentence)
    return Thought(asked.answer() if asked else UNKNOWN)


def text_of(content: Any) -> str:
    """Return a message's content as text: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _wish(conversation: DialogueContext, routing: Routing | None) -> Talk | Referral:
    """Return the caller's intent, also if a pause has divided it, or if it agrees to a question."""
    specialists, general = (routing.specialists, routing.general) if routing else ((), "")
    last = conversation.asked(routing) if routing else None
    wish = understand(conversation.newest, specialists, last, general=general)
    fragment = len(conversation.newest.split()) <= FRAGMENT_WORDS or PREPOSITION.match(conversation.newest)
    if len(conversation.utterances) > 1 and (  # a pause has divided the sentence
        wish in (Talk.OTHER, Talk.NOTHING)
        or (fragment and isinstance(wish, Referral))
        or is_half(conversation.utterances[-2])
    ):
        wish = understand(conversation.joined, specialists, last, general=general)
    if wish is Talk.YES and last and wording.asks_consent(conversation.last("assistant")):  # the yes repeats it
        return Referral(last.domain, f"Yes, {last.query[:1].lower()}{last.query[1:]}")
    return wish


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return the newest round's results, if the assistant is next: each tool's name and the text of its result."""
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    names = {call.get("id"): (call.get("function") or {}).get("name", "") for call in calls}
    newest = [*takewhile(lambda each: each.get("role") == "tool", reversed(messages))][::-1]
    return [(names.get(each.get("tool_call_id"), ""), text_of(each.get("content"))) for each in newest]
