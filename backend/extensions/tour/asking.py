"""One question of the tour, typed or spoken in a call, and its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from backend.extensions.tour.questions import Step
from backend.media.frame import FRAME_MS
from responder_thinker.signalling import ReceivedEvent, Signalling
from responder_thinker.voice_call import VoiceCall, place_call

CONVERSATION = "tour"
ANSWER_WITHIN_S = 20.0
HEARD_MS = 1_500
"""Milliseconds of an answer that must be heard before the caller goes on, over the rest of it if need be."""
LOOK_EVERY_S = 0.02
APOLOGIES = ("I could not", "I am sorry", "I got an answer that I cannot")
"""The beginnings of the local Responder's words when it has no answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a question."""

    step: Step
    heard: str
    """What the Responder understood; the question itself when it was typed."""
    domains: tuple[str, ...]
    """The Thinkers that answered."""
    answer: str
    took_ms: int
    """From the end of the question to the words of the answer."""

    @property
    def problem(self) -> str:
        """Return why it does not count; empty when the right Thinker answered."""
        if not self.answer:
            return "there was no answer in time"
        if self.domains != (self.step.domain,):
            return f"{' and '.join(self.domains) or 'no Thinker'} answered instead of {self.step.domain}"
        return "that is no answer" if self.answer.startswith(APOLOGIES) else ""

    @property
    def answered(self) -> bool:
        """Return whether the right Thinker answered."""
        return not self.problem


AskAloud = Callable[[Step, bytes], Awaitable[Outcome]]
"""Says a question, and returns its outcome."""


async def answer_to_typed(http: httpx2.AsyncClient, step: Step) -> Outcome:
    """Type a question into the conversation. Raises `CallRefused`."""
    reply = await Signalling(http).ask(
        "POST", "/api/multiturn", {"message": step.question, "conversation_id": CONVERSATION}
    )
    return Outcome(step, step.question, tuple(reply["thinkers"]), reply["text"], reply["latency_ms"])


@asynccontextmanager
async def answering_aloud(http: httpx2.AsyncClient) -> AsyncIterator[AskAloud]:
    """Place a call that continues the conversation. Raises `TransportLost` or `CallRefused`."""
    events: list[tuple[float, ReceivedEvent]] = []
    placing = place_call(
        str(http.base_url),
        conversation=CONVERSATION,
        cookies=http.cookies,
        on_event=lambda event: events.append((_now(), event)),
    )
    async with placing as call:

        async def ask(step: Step, speech: bytes) -> Outcome:
            before = len(events)
            await call.say(speech)
            return await _outcome(call, step, _now(), lambda: events[before:])

        yield ask


async def _outcome(
    call: VoiceCall, step: Step, asked_at: float, since: Callable[[], list[tuple[float, ReceivedEvent]]]
) -> Outcome:
    """Wait until a Thinker has answered, and the beginning of the answer was heard."""
    answer, answered_at = "", asked_at
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            while not answer or _heard_ms(call, answered_at) < HEARD_MS:
                await asyncio.sleep(LOOK_EVERY_S)
                answer, answered_at = _answer(since()) or (answer, answered_at)
    except TimeoutError:
        answer = ""
    told = [event.data for _, event in since() if event.type == "thinker" and event.data["event"] == "complete"]
    heard = [event.data["content"] for _, event in since() if _is_of(event, "transcript", "user")]
    domains = dict.fromkeys(data["domain"] for data in told)
    return Outcome(step, " ".join(heard), tuple(domains), answer, round((answered_at - asked_at) * 1000))


def _answer(events: list[tuple[float, ReceivedEvent]]) -> tuple[str, float] | None:
    """Return the first whole reply after a Thinker's answer, and when it came."""
    finished = False
    for at, event in events:
        finished = finished or (event.type == "thinker" and event.data["event"] in ("complete", "failed"))
        if finished and _is_of(event, "transcript_done", "assistant"):
            return str(event.data["content"]).strip(), at
    return None


def _is_of(event: ReceivedEvent, type_: str, role: str) -> bool:
    return event.type == type_ and event.data["role"] == role


def _heard_ms(call: VoiceCall, since: float) -> int:
    return sum(frame.at > since and frame.audible for frame in call.received.frames) * FRAME_MS


def _now() -> float:
    return asyncio.get_running_loop().time()
