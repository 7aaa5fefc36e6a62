"""Metering charges what models and calls use to the billing subject, and stops them when a budget is used up."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from backend.access.billing import BillingSubject, current_billing
from backend.access.budgets import Budgets
from backend.access.usage import CALL, Resource
from backend.models.base import ChatMessage, ChatModel, Delta, Finished, TextDelta, ToolCall
from backend.models.embedding import Embedder
from backend.models.options import USUAL, ModelOptions
from backend.observability.work_metrics import WorkMetrics
from backend.runtime.json_objects import Json
from backend.storage.ledger.work import current_work

NEEDS = frozenset({Resource.MODEL_TOKENS, Resource.MICRO_USD})
MONEY = frozenset({Resource.MICRO_USD})
CHARACTERS_PER_TOKEN = 4
"""Characters that count as one token where an answer broke off before the API reported its usage."""
LOOK_EVERY_S = 5.0
"""Seconds between two charges of a call's time."""


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """A `ChatModel` that charges the current billing subject for every answer, by the usage that the API reports.

    An answer that breaks off is charged by an estimate. Without a current billing subject nothing is charged.
    """

    model: ChatModel
    budgets: Budgets
    metrics: WorkMetrics | None = None

    async def stream(
        self, messages: Sequence[ChatMessage], *, model: str, tools: Sequence[Json] = (), options: ModelOptions = USUAL
    ) -> AsyncGenerator[Delta, None]:
        """Stream from the model; see `ChatModel.stream`. Raises `OverBudget` or `CeilingReached` before it asks."""
        billed = current_billing.get()
        if billed:
            self.budgets.check(billed, NEEDS)
        characters, finished, begun = 0, None, False
        began = time.perf_counter()
        try:
            async with aclosing(self.model.stream(messages, model=model, tools=tools, options=options)) as deltas:
                async for delta in deltas:
                    begun = True
                    match delta:
                        case TextDelta(text):
                            characters += len(text)
                        case ToolCall(_, name, arguments):
                            characters += len(name) + len(arguments)
                        case Finished():
                            finished = delta
                    yield delta
        finally:
            if finished and self.metrics:
                seconds = time.perf_counter() - began
                self.metrics.model_answered(finished.model or model, finished.tokens_in, finished.tokens_out, seconds)
            if finished and (work := current_work.get()):
                answered, tokens = finished.model or model, (finished.tokens_in, finished.tokens_out)
                work.model_answered(answered, sum(tokens), self.budgets.cost_of(answered, *tokens))
            if billed and finished and finished.tokens_in + finished.tokens_out:
                self.budgets.charge_tokens(billed, finished.model or model, finished.tokens_in, finished.tokens_out)
            elif billed and begun:
                sent = sum(len(message["content"]) for message in messages)
                estimate = sent // CHARACTERS_PER_TOKEN, characters // CHARACTERS_PER_TOKEN
                self.budgets.charge_tokens(billed, model, *estimate)


@dataclass(frozen=True, slots=True)
class MeteredEmbedder:
    """An `Embedder` that charges the current billing subject for every request, by an estimate of its tokens."""

    embedder: Embedder
    budgets: Budgets

    @property
    def model(self) -> str:
        """The model's name."""
        return self.embedder.model

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors; see `Embedder.embed`. Raises `OverBudget` or `CeilingReached` before it asks."""
        billed = current_billing.get()
        if billed:
            self.budgets.check(billed, NEEDS)
        vectors = await self.embedder.embed(texts)
        if billed:
            characters = sum(map(len, texts))
            self.budgets.charge_tokens(billed, self.model, -(-characters // CHARACTERS_PER_TOKEN), 0)
        return vectors


@dataclass(eq=False)
class MeteredCall:
    """A live call, and the moment up to which it is charged."""

    billed: BillingSubject
    hang_up: Callable[[], None]
    charged_to: float
    stopped: bool = False


@dataclass(eq=False)
class CallMeter:
    """Charges live calls for their time and their models' tokens, and ends calls over budget.

    Nothing happens per frame: money is checked after each reply, everything else every five seconds by `run`.
    """

    budgets: Budgets
    now: Callable[[], float] = time.monotonic
    _calls: dict[str, MeteredCall] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"CallMeter({len(self._calls)} calls)"

    @asynccontextmanager
    async def metering(
        self, session_id: str, billed: BillingSubject, hang_up: Callable[[], None]
    ) -> AsyncIterator[None]:
        """Charge the call within the block. Calls `hang_up` once, when a budget is used up."""
        call = self._calls[session_id] = MeteredCall(billed, hang_up, self.now())
        try:
            yield
        finally:
            del self._calls[session_id]
            self._charge_time(call)

    def spent(self, session_id: str, model: str, tokens: Mapping[str, int]) -> int | None:
        """Charge the tokens of a reply, and return their price in millionths of a dollar; None: the price is not known.

        Ends the call when the money budget is used up. Never waits.
        """
        tokens_in = tokens["text_in"] + tokens["audio_in"] + tokens["image_in"]
        tokens_out = tokens["text_out"] + tokens["audio_out"]
        price = self.budgets.prices.get(model)
        cost = price.micro_usd(tokens) if price else None
        if call := self._calls.get(session_id):
            used = Counter({Resource.MODEL_TOKENS: tokens_in + tokens_out, Resource.MICRO_USD: cost or 0})
            self.budgets.charge(call.billed, used)
            self._stop_over_budget(call, MONEY)
        return cost

    async def run(self) -> None:
        """Charge time, and end calls over budget, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        """Charge the time of every call until now, and end those over budget."""
        for call in list(self._calls.values()):
            self._charge_time(call)
            self._stop_over_budget(call, CALL)

    def _stop_over_budget(self, call: MeteredCall, needs: frozenset[Resource]) -> None:
        if not call.stopped and (found := self.budgets.excess(call.billed, needs)):
            self.budgets.stop(call.billed, found)
            call.stopped = True
            call.hang_up()

    def _charge_time(self, call: MeteredCall) -> None:
        seconds = round(self.now() - call.charged_to)
        if seconds > 0:
            call.charged_to += seconds
            self.budgets.charge(call.billed, Counter({Resource.VOICE_SECONDS: seconds}))
