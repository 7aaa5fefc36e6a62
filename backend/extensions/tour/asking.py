"""One question of the tour, typed or spoken in a call, and its outcome."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx2

from backend.errors import SetupError
from backend.extensions.tour.questions import Step
from backend.runtime.child_process import running
from backend.testing.calls import PlacedCall
from backend.testing.waiting import until
from responder_thinker.signalling import ReceivedEvent, Signalling

CONVERSATION = "tour"
ANSWER_WITHIN_S = 20.0
SOUND_WITHIN_S = 2.0
APOLOGIES = ("I could not", "I am sorry", "I got an answer that I cannot")
"""The beginnings of the local Responder's replies without an answer."""
VOICE = "backend.extensions.local.synthesis"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a question."""

    step: Step
    heard: str
    """The words that the Responder understood, or the typed question."""
    domains: tuple[str, ...]
    """The Thinkers that answered."""
    answer: str
    took_ms: int
    """Milliseconds from the end of the question to the words of the answer."""

    @property
    def problem(self) -> str:
        """Return the reason why the answer does not count; empty if the right Thinker answered."""
        if not self.answer:
            return "there was no answer in time"
        if self.domains != (self.step.domain,):
            return f"{' and '.join(self.domains) or 'no Thinker'} answered instead of {self.step.domain}"
        return "that is no answer" if self.answer.startswith(APOLOGIES) else ""


async def ask_by_text(http: httpx2.AsyncClient, step: Step) -> Outcome:
    """Type a question into the conversation. Raises `CallRefused`."""
    reply = await Signalling(http).ask(
        "POST", "/api/multiturn", {"message": step.question, "conversation_id": CONVERSATION}
    )
    return Outcome(step, step.question, tuple(reply["thinkers"]), reply["text"], reply["latency_ms"])


async def ask_aloud(call: PlacedCall, step: Step) -> Outcome:
    """Say a question, and wait until the beginning of the answer was heard. Raises `SetupError`."""
    speech, before = await spoken(step.question), len(call.events)
    await call.say(speech)
    asked_at = answered_at = time.monotonic()
    with suppress(AssertionError):  # no answer in time
        await until(lambda: bool(_answer(call.events[before:])), ANSWER_WITHIN_S)
        answered_at = time.monotonic()
        await call.hears_something(SOUND_WITHIN_S)
    since = call.events[before:]
    thought = [event.data for event in since if event.type == "thinker" and event.data["event"] == "complete"]
    domains = tuple(dict.fromkeys(data["domain"] for data in thought))
    took_ms = round((answered_at - asked_at) * 1000)
    heard = [event.data["content"] for event in since if _is_of(event, "transcript", "user")]
    return Outcome(step, " ".join(heard), domains, _answer(since), took_ms)


async def spoken(words: str) -> bytes:
    """Return the words spoken by the local voice, as 24 kHz mono PCM16. Raises `SetupError`."""
    process = await asyncio.create_subprocess_exec(*running(VOICE), words, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise SetupError(f"The local voice failed with status {process.returncode}.", hint="Run `make install`.")
    return output


def _answer(events: Sequence[ReceivedEvent]) -> str:
    """Return the first complete reply after a Thinker's answer; empty while there is none."""
    finished = False
    for event in events:
        finished = finished or (event.type == "thinker" and event.data["event"] in ("complete", "failed"))
        if finished and _is_of(event, "transcript_done", "assistant"):
            return str(event.data["content"]).strip()
    return ""


def _is_of(event: ReceivedEvent, type_: str, role: str) -> bool:
    return event.type == type_ and event.data["role"] == role
