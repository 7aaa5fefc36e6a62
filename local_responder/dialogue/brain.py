"""The demonstration's dialogue: ears, rules and voice behind the Realtime protocol. One per connection."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from backend.media.frame import BYTES_PER_MS
from local_responder.chat.facts import recall
from local_responder.dialogue import wording
from local_responder.dialogue.addressing import is_for_others, silence_of
from local_responder.dialogue.base import Dialogue, Part, Sentence
from local_responder.dialogue.intents import Question, Talk, understand
from local_responder.dialogue.keeping import whole
from local_responder.dialogue.obeying import obeyed
from local_responder.dialogue.remembering import remembered
from local_responder.dialogue.routing import routing_of
from local_responder.dialogue.tidy import tidy
from local_responder.realtime.items import Item
from local_responder.realtime.parts import (
    Audio,
    Begin,
    Call,
    End,
    HearingPart,
    ReplyPart,
    Transcript,
    TranscriptDone,
    TranscriptFailed,
    Trouble,
    Words,
)
from local_responder.realtime.response import Order
from local_responder.realtime.shell import closing
from local_responder.recognition.ears import Ears, EarsFailed

log = logging.getLogger(__name__)

CHUNK_MS = 100
"""Milliseconds of audio in one delta."""
BY_HEART = ("knowledge",)
"""With no Thinker to ask, what it knows by heart has to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reply will be."""

    words: str
    call: tuple[str, str] | None = None


class DemonstrationBrain:
    """Hears with `ears`, speaks with `speak` (words to 24 kHz mono PCM16; blocking, called in a thread)."""

    def __init__(
        self,
        ears: Ears,
        speak: Callable[[str], bytes],
        clock: Callable[[], datetime] = datetime.now,
        dialogue: Dialogue | None = None,
    ) -> None:
        """`dialogue` answers in the place of the rules."""
        self._dialogue = dialogue
        self._ears = ears
        self._speak = speak
        self._clock = clock
        self._turns = 0
        self._heard: dict[str, asyncio.Event] = {}
        self._told: set[str] = set()
        self._last_domain: str | None = None
        self._asked: Question | None = None
        """What was last asked of a Thinker."""
        self._to_confirm: Question | None = None
        """What the caller was asked to agree to."""

    async def opening(self) -> AsyncIterator[Trouble]:
        """Nothing goes wrong on purpose."""
        nothing: tuple[Trouble, ...] = ()
        for part in nothing:
            yield part

    def listen(self) -> AsyncIterator[Transcript]:
        """No words before the commit."""
        return _nothing_early()

    def feed(self, pcm: bytes) -> None:
        """The sound comes with the commit."""

    def discard(self) -> None:
        """Nothing was kept."""

    def hear(self, item: Item, pcm: bytes) -> AsyncIterator[HearingPart]:
        """Recognise what was said."""
        known = self._heard[item.id] = asyncio.Event()
        return self._recognise(pcm, known)

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """Understand the newest item, and speak."""
        return self._answer(order)

    def lateness_s(self, order: Order) -> float:
        """A cancelled reply stops at once."""
        return 0.0

    def __repr__(self) -> str:
        return f"<DemonstrationBrain turn {self._turns}, last domain {self._last_domain}>"

    # --- hearing ------------------------------------------------------------------------------------

    async def _recognise(self, pcm: bytes, known: asyncio.Event) -> AsyncIterator[HearingPart]:
        try:
            words = tidy(await self._ears.recognise(pcm))
            if words:
                yield Transcript(words)
            yield TranscriptDone(words)
        except EarsFailed as error:
            yield TranscriptFailed("recogniser_failed", str(error))
        finally:
            known.set()

    # --- answering ----------------------------------------------------------------------------------

    async def _answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        yield Begin()
        newest = _newest_user(order.items)
        for piece in _pieces(order.items, newest):
            if piece.id in self._heard:
                await self._heard[piece.id].wait()
        parts = self._dialogue.answer(order) if self._dialogue else self._ruled(order, newest)
        async with closing(parts):
            async for part in parts:
                if isinstance(part, Call):
                    yield part
                    continue
                yield Words(part.text + " ")
                if order.modality == "audio":
                    pcm = await asyncio.to_thread(self._speak, part.text)
                    for chunk in chunks(pcm):
                        yield Audio(chunk)
        yield End()

    async def _ruled(self, order: Order, newest: Item | None) -> AsyncGenerator[Part, None]:
        plan = self._plan(order, newest)
        for sentence in wording.sentences(plan.words):
            yield Sentence(sentence)
        if plan.call:
            yield Call(*plan.call)

    def _plan(self, order: Order, newest: Item | None) -> Plan:
        self._turns += 1
        special = wording.purpose(order.purpose or "", order.instructions, turn=self._turns)
        if special:
            return Plan(special)
        if order.purpose == "notice":
            return Plan(obeyed(wording.news(order.instructions, notes_of(order.items)), order.instructions))
        fresh = [(item.id, told) for item in _since(order.items, newest) if (told := _told_by(item))]
        fresh = [(id_, told) for id_, told in fresh if id_ not in self._told]
        if fresh:
            self._told.update(id_ for id_, _ in fresh)
            words = wording.result([told for _, told in fresh])
            self._to_confirm = self._asked if wording.YES_OR_NO in words else None
            return Plan(words)  # whoever found it has worded it as the caller wants it
        plan = self._respond(order, newest)
        return plan if plan.call else Plan(obeyed(plan.words, order.instructions))

    def _respond(self, order: Order, newest: Item | None) -> Plan:
        last_said = _last_said(order.items)
        silence = silence_of(order.tools) if order.tool_choice != "none" else None
        if silence and newest and newest.id in self._heard:
            spoken = " ".join(piece.words for piece in _pieces(order.items, newest))
            if is_for_others(spoken, order.instructions, last_said):
                return Plan("", (silence, "{}"))
        if newest and (told := remembered(newest.words, _said_before(order.items, newest), order.instructions)):
            return Plan(told)
        routing = routing_of(order.tools) if order.tool_choice != "none" else None
        domains = routing.domains if routing else BY_HEART
        said = [text for role, text in _said_before(order.items, newest) if role == "user"] if newest else []
        wish = understand(whole(newest.words, said) if newest else "", domains, last_domain=self._last_domain)
        if wish in (Talk.OTHER, Talk.NOTHING) and len(pieces := _pieces(order.items, newest)) > 1:
            wish = understand(_joined(pieces), domains, last_domain=self._last_domain)
        wish = self._agreed(wish)
        if not isinstance(wish, Question):
            return Plan(wording.talk(wish, turn=self._turns, now=self._clock(), last_said=last_said))
        self._last_domain, self._asked = wish.domain, wish
        if routing is None:
            return Plan(recall(wish.query))
        return Plan(wording.acknowledgement(self._turns), (routing.name, routing.arguments(wish)))

    def _agreed(self, wish: Talk | Question) -> Talk | Question:
        """A yes to what was asked is the wish itself once more; whatever else is said, the question is closed."""
        asked, self._to_confirm = self._to_confirm, None
        if asked is None or wish is not Talk.YES:
            return wish
        return Question(asked.domain, wording.consent(asked.query))


async def _nothing_early() -> AsyncIterator[Transcript]:
    nothing: tuple[Transcript, ...] = ()
    for part in nothing:
        yield part


def chunks(pcm: bytes) -> Iterator[bytes]:
    """`pcm` in deltas of a tenth of a second."""
    size = CHUNK_MS * BYTES_PER_MS
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]


def notes_of(items: Sequence[Item]) -> list[str]:
    """What the client noted for us, oldest first."""
    return [item.words for item in items if item.role == "system"]


def _newest_user(items: Sequence[Item]) -> Item | None:
    return next((item for item in reversed(items) if item.role == "user"), None)


def _pieces(items: Sequence[Item], newest: Item | None) -> list[Item]:
    """What the caller has said since anybody else said anything, piece by piece; a pause ends a piece."""
    if newest is None:
        return []
    before = itertools.takewhile(lambda item: item is not newest, items)
    pieces = list(itertools.takewhile(lambda item: item.role == "user", reversed(list(before))))
    return [*reversed(pieces), newest]


def _joined(pieces: Sequence[Item]) -> str:
    """One sentence of pieces that the recogniser took for a sentence each."""
    words = [piece.words.strip() for piece in pieces if piece.words.strip()]
    *first, last = words or [""]
    return " ".join([*(each.rstrip(".?!,") for each in first), last[:1].lower() + last[1:] if first else last])


def _since(items: Sequence[Item], start: Item | None) -> Sequence[Item]:
    """The items after `start`; all when there is none."""
    for number, item in enumerate(items):
        if item is start:
            return items[number + 1 :]
    return items


def _told_by(item: Item) -> str:
    """The result an item holds: a call's output, or a system's note of one; '' for anything else."""
    if item.type == "function_call_output":
        return item.output
    return item.words if item.role == "system" and item.words.startswith("{") else ""


def _said_before(items: Sequence[Item], newest: Item) -> list[tuple[str, str]]:
    """What was said before the newest item, of this call or an earlier one."""
    before = itertools.takewhile(lambda item: item is not newest, items)
    return [(item.role or "", item.words) for item in before if item.words]


def _last_said(items: Sequence[Item]) -> str:
    return next((item.words.strip() for item in reversed(items) if item.role == "assistant" and item.words), "")
