"""Redis keeps open questions for the user's agreement to a tool call, so that any process may get the answer.

    user:{id}:confirmations      hash: conversation → the question that is open in it

    ask ──▶ open ──▶ a later message of the user agrees, or their button ──▶ granted ──▶ taken, once, by that very call
              └────▶ any other message, a refusal, five minutes ───────────▶ gone

A question is bound to its user, conversation, tool and canonical arguments, and has an id that cannot be guessed. Only
`take_answer` and `answer` grant it, and only the user's own words or click lead there; `ask`, which a model can cause
any number of times, never grants it. Each step is one transaction, so an agreement is carried out once.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec
from redis.asyncio import Redis

from backend.errors import NotFound
from backend.observability.security_log import SecurityEvent, hashed, security_event
from backend.page_events import ConfirmationAnswered, ConfirmationAsked, PageEvent
from backend.runtime.faults import decode_or_skip
from backend.storage.client import Pipe, RedisStore
from backend.tools.base import Json, ToolContext
from backend.tools.consent import canonical, is_affirmative, words_of

OPEN_S = 300.0
"""Seconds a question stays open, and an agreement valid."""
OPEN_LIMIT = 20
"""The most open questions of a user, one for each conversation; beyond that, the oldest is dropped."""
HEARD_AFTER_S = 2.0
"""Seconds a person needs at least to hear a spoken question; an earlier yes answers something else."""

T = TypeVar("T")
Show = Callable[[str, PageEvent], Awaitable[None]]
"""Shows an event on every open page of the user with that id."""


class Consent(StrEnum):
    """The outcome of a request for the user's agreement."""

    GRANTED = "granted"
    """The user has agreed to exactly this call; the agreement is used up."""
    ASKED = "asked"
    """The question is open from now on."""
    REPEATED = "repeated"
    """The question was already open; a spoken answer may be about to arrive."""
    BUSY = "busy"
    """A question about another call is open and must be answered first: one yes never means two acts."""


class Confirmation(msgspec.Struct, frozen=True):
    """A question as it is stored. Times are Unix seconds."""

    id: str
    """A nonce of 128 bits."""
    conversation: str
    tool: str
    arguments: str
    """Canonical JSON."""
    message: str
    """The id of the typed message that led to the question; empty for voice."""
    asked_at: float
    granted_at: float = 0.0
    """0: The Unix second of the agreement; 0: not answered."""

    def is_about(self, tool: str, arguments: str) -> bool:
        """Return whether it asks about exactly this call."""
        return (self.tool, self.arguments) == (tool, arguments)

    def holds(self, now: float) -> bool:
        """Return whether the question or agreement is still valid."""
        return now - max(self.asked_at, self.granted_at) < OPEN_S

    def shown(self) -> ConfirmationAsked:
        """Return the question for its user: the call itself, not a model's words about it."""
        arguments = {
            name: value for name, value in msgspec.json.decode(self.arguments).items() if value not in ("", None)
        }
        return ConfirmationAsked(self.id, self.conversation, self.tool, arguments, self.asked_at + OPEN_S)


class Confirmations(RedisStore):
    """The open questions of all users. Methods may raise `MemoryUnavailable`, and then grant nothing."""

    def __init__(self, redis: Redis, show: Show | None = None, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(redis)
        self._show = show
        self._clock = clock

    async def ask(self, context: ToolContext, tool: str, values: Json) -> tuple[Consent, str]:
        """Use up the user's agreement to this call, or record the question. Returns outcome and question id."""
        arguments, name = canonical(values), context.conversation_id
        now = self._clock()
        new = Confirmation(secrets.token_urlsafe(16), name, tool, arguments, context.rights.message, now)

        def decide(pipe: Pipe, found: dict[str, Confirmation]) -> tuple[Consent, str]:
            known = found.get(name)
            if known and known.granted_at and known.is_about(tool, arguments):
                pipe.hdel(_key(context.user_id), name)
                return Consent.GRANTED, known.id
            if known and not known.granted_at and known.is_about(tool, arguments):
                return Consent.ASKED if now - known.asked_at < HEARD_AFTER_S else Consent.REPEATED, known.id
            if known and not known.granted_at:
                return Consent.BUSY, known.id
            self._write(pipe, context.user_id, new, found)
            return Consent.ASKED, new.id

        outcome, id_ = await self._change(context.user_id, decide)
        if id_ == new.id:
            await self._publish(context.user_id, new.shown())
        return outcome, id_

    async def take_answer(self, user_id: str, conversation_id: str, words: str, *, message: str = "") -> None:
        """Take a message of the user (spoken unless it has an id) as the answer to the conversation's question.

        A message that does not agree withdraws the question, and an unused agreement. A message that is sent again, or
        was spoken before the user can have heard the question, is no answer.
        """

        def decide(pipe: Pipe, found: dict[str, Confirmation]) -> ConfirmationAnswered | None:
            known = found.get(conversation_id)
            if known is None or (not known.granted_at and not self._follows(known, message)):
                return None
            agrees = is_affirmative(words, words_of(known.tool, msgspec.json.decode(known.arguments)))
            return self._answer(pipe, user_id, known, found, agreed=agrees)

        if await self._client.call(lambda redis: redis.exists(_key(user_id))):  # hardly ever
            await self._publish(user_id, await self._change(user_id, decide))

    async def answer(self, user_id: str, id_: str, *, agreed: bool, conversation: str | None = None) -> None:
        """Answer a question by its id, in `conversation` only if one is given.

        Raises `NotFound` for a question that is not open or is another user's.
        """

        def decide(pipe: Pipe, found: dict[str, Confirmation]) -> ConfirmationAnswered | None:
            known = next((each for each in found.values() if each.id == id_), None)
            if known is None or conversation not in (None, known.conversation):
                raise NotFound("No such question is open.", hint="It may be answered, or too old: ask for it again.")
            return self._answer(pipe, user_id, known, found, agreed=agreed)

        await self._publish(user_id, await self._change(user_id, decide))

    async def of(self, user_id: str, conversation: str | None = None) -> list[ConfirmationAsked]:
        """Return the user's open questions, or those of one conversation, oldest first."""
        found = self._read(await self._client.call(lambda redis: redis.hgetall(_key(user_id))))
        asked = [each for each in found.values() if conversation in (None, each.conversation)]
        still_open = [each for each in asked if not each.granted_at]
        return [each.shown() for each in sorted(still_open, key=lambda each: each.asked_at)]

    async def export(self, user_id: str, /) -> object:
        """Return the user's open questions."""
        return [msgspec.structs.asdict(each) for each in await self.of(user_id)]

    async def erase(self, user_id: str, /) -> None:
        """Erase the user's questions and agreements."""
        await self._client.call(lambda redis: redis.delete(_key(user_id)))

    def _follows(self, known: Confirmation, message: str) -> bool:
        """Return whether a message came after the question."""
        return known.message != message if message else self._clock() - known.asked_at >= HEARD_AFTER_S

    def _answer(
        self, pipe: Pipe, user_id: str, known: Confirmation, found: Mapping[str, Confirmation], *, agreed: bool
    ) -> ConfirmationAnswered | None:
        """Grant or withdraw a question, and return the event for its user; None when nothing has changed."""
        if agreed and known.granted_at:
            return None
        if agreed:
            self._write(pipe, user_id, msgspec.structs.replace(known, granted_at=self._clock()), found)
        else:
            pipe.hdel(_key(user_id), known.conversation)
        return ConfirmationAnswered(known.id, known.conversation, agreed)

    def _write(self, pipe: Pipe, user_id: str, new: Confirmation, found: Mapping[str, Confirmation]) -> None:
        others = sorted(
            (each for each in found.values() if each.conversation != new.conversation), key=lambda e: e.asked_at
        )
        for each in others[: len(others) - OPEN_LIMIT + 1] if len(others) >= OPEN_LIMIT else ():
            pipe.hdel(_key(user_id), each.conversation)
        pipe.hset(_key(user_id), new.conversation, msgspec.json.encode(new))
        pipe.expire(_key(user_id), round(OPEN_S))

    async def _change(self, user_id: str, decide: Callable[[Pipe, dict[str, Confirmation]], T]) -> T:
        async def read(pipe: Pipe) -> dict[str, Confirmation]:
            return self._read(await pipe.hgetall(_key(user_id)))

        return await self._client.transact(_key(user_id), read=read, write=decide)

    def _read(self, raw: Mapping[bytes, bytes]) -> dict[str, Confirmation]:
        """Return the valid questions by conversation."""
        now = self._clock()
        decoded = (decode_or_skip("confirmation", value, _decoder.decode) for value in raw.values())
        return {each.conversation: each for each in decoded if each is not None and each.holds(now)}

    async def _publish(self, user_id: str, event: PageEvent | None) -> None:
        """Show the change on the user's pages. A page that misses it asks `GET /api/confirmations`."""
        if isinstance(event, ConfirmationAnswered):
            kind = SecurityEvent.CONSENT_GIVEN if event.agreed else SecurityEvent.CONSENT_REFUSED
            security_event(kind, None, "the user's answer", user=hashed(user_id), confirmation=event.id[:8])
        if self._show is not None and event is not None:
            await self._show(user_id, event)


def _key(user_id: str) -> str:
    return f"user:{user_id}:confirmations"


_decoder = msgspec.json.Decoder(Confirmation)
