"""A turn asks the model, makes the tool calls that it wants, and returns it the results, until it answers.

    ask ──▶ words only ───────────────────────────────▶ answer
     ▲  └──▶ calls ──▶ run them side by side ──┐
     └──────────── results ◀───────────────────┘   at most 10 rounds, then one last ask without tools

An error inside a round returns to the model as a result. The context grows by whole units only, so a turn that is
cancelled at any await leaves a conversation that can be sent again. When the turn is over, `settle` removes the calls
and results that need not be remembered.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec

from backend.agent.context import CALLS_LIMIT, ConversationContext, SourceMode, system_prompt, without_calls
from backend.agent.events import AgentEvent, StateChanged, ThinkerResponse, ThinkingState
from backend.agent.speech import speakable
from backend.errors import ModelUnavailable, NoAnswer
from backend.models.base import ChatMessage, Finished, TextDelta, ToolCall
from backend.observability.tracing import Span, step
from backend.page_events import TokenGenerated, ToolCallEvent, ToolResultEvent
from backend.runtime.json_objects import Json
from backend.storage.messages import Message, StoredCall
from backend.tools.base import ToolContext
from backend.tools.runner import ToolResult, failure
from backend.users.context_update import merged

if TYPE_CHECKING:
    from backend.agent.session import Agent, SessionOptions

ROUND_LIMIT = 10
"""The most rounds of tool calls in one turn."""
ARGUMENTS_LIMIT = 8_000
"""The most characters of a call's arguments."""
RETRY_LIMIT = 2
"""How often the same call may be made. It is repeated only while its failure may be temporary."""
REPEATED_LIMIT = 2
"""Rounds of nothing but repeated calls before the tools are taken away."""
UNKNOWN_TOOL = "unknown_tool"
"""Stands in traces for a tool name that the model made up."""

WRAP_UP = (
    "You have no further tools. Say now, from the results above, what you found out, and what you could not find out."
)
INCOMPLETE = "I could not look everything up."
CUT_SHORT = "I had to stop there."
SAMPLE = "That was sample data: live data cannot be reached from here."
_SAID_SAMPLE = re.compile(
    r"\b(?:sample|demonstration|made[- ]up|not (?:real|live)) ?"
    r"(?:data|weather|forecasts?|conditions|news|headlines?|prices?|quotes?|figures|numbers|values|results?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's words and calls of one round."""

    text: str
    calls: tuple[ToolCall, ...]
    reason: str


@dataclass
class ThinkerMetrics:
    """The counts of a session's turns so far, and the times of the last turn in milliseconds."""

    total_tokens: int = 0
    tool_calls_count: int = 0
    rounds: int = 0
    first_token_latency_ms: int = 0
    total_latency_ms: int = 0
    cancelled: bool = False


@dataclass(repr=False)
class Turn:
    """One turn under way; `run` is called once."""

    agent: Agent
    """The model, and the tools that it is offered."""
    context: ConversationContext
    tool_context: ToolContext
    mode: SourceMode
    options: SessionOptions
    metrics: ThinkerMetrics
    state: ThinkingState = field(default=ThinkingState.IDLE, init=False)
    system: str = field(default="", init=False)
    """The system prompt, which depends on the tools that are offered."""
    partial: str = field(default="", init=False)
    """The words of this round that were already shown."""
    tokens: int = field(default=0, init=False)
    tokens_out: int = field(default=0, init=False)
    results: list[ToolResult] = field(default_factory=list, init=False)
    added: list[Message] = field(default_factory=list, init=False)
    """The messages this turn has added to the conversation, in order."""
    _alone: bool = field(default=True, init=False)
    """Whether the conversation began with this turn, so that the answer rests on the question alone."""
    _passing: dict[str, set[str]] = field(default_factory=dict, init=False)
    """Message id → ids of its calls that are dropped when the turn is over."""
    _began: float = field(default_factory=time.perf_counter, init=False)
    _made: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _last: dict[tuple[str, str], ToolResult] = field(default_factory=dict, init=False)
    _spoke_at: float | None = field(default=None, init=False)

    def __repr__(self) -> str:  # without words of the conversation
        return f"Turn({self.agent.model_name}, {self.metrics.rounds} rounds, {self.tokens} tokens)"

    async def run(self, text: str, message_id: str) -> ThinkerResponse:
        """Answer `text` with the tools that its words call for.

        `message_id` names the question; empty: an id is made. Raises `ModelUnavailable`, or `NoAnswer` when the model
        gives no words.
        """
        schemas = await self._prepare(text)
        self._began = time.perf_counter()
        self._alone = not self.context.messages
        question = Message("user", text, time.time(), self.mode)
        self._add(msgspec.structs.replace(question, message_id=message_id) if message_id else question)
        for exchange in self.options.before:
            asked, *results = exchange.unit(time.time(), self.mode)
            self._passing[asked.message_id] = {call.id for call in asked.tool_calls}  # It is made in every turn.
            self.context.add_message(asked, *results)
        repeated = 0
        for _ in range(ROUND_LIMIT):
            reply = await self._ask(schemas)
            if not reply.calls:
                if not reply.text.strip():  # The model is asked once more when it said nothing.
                    reply = await self._ask(None)
                return self._response(reply, incomplete=reply.reason == "length")
            if any(map(self._is_client_tool, reply.calls)):
                return self._left_to_client(reply)
            repeated = repeated + 1 if await self._round(reply) else 0
            if repeated == REPEATED_LIMIT:
                break
        return self._response(await self._ask(None), incomplete=True)

    async def emit(self, event: AgentEvent) -> None:
        """Pass an event on, unless the turn was cancelled, and await what an asynchronous callback returns."""
        if self.state is ThinkingState.CANCELLED:
            return
        if isinstance(event, StateChanged):
            self.state = event.state
        if isawaitable(called := self.options.on_event(event)):
            await called

    async def _prepare(self, text: str) -> list[Json]:
        """Choose tools if there are many, word the system prompt, and return the tools' schemas."""
        client, caller_scope = self.tool_context.client, self.tool_context.rights.caller_scope
        if (router := self.agent.router) is not None:
            earlier = self.context.messages
            box, self.tokens = await router.route(text, self.agent.toolbox, client, caller_scope, earlier=earlier)
            self.agent = replace(self.agent, toolbox=box)
            self.metrics.total_tokens += self.tokens
        offered = self.agent.toolbox.offered(client, caller_scope)
        self.system = system_prompt(
            self.options.task,
            now=self.agent.clock(),
            mode=self.mode,
            situation=self.options.situation,
            guidance=[tool.guidance for tool in offered if tool.guidance],
        )
        return [tool.schema() for tool in offered]

    async def _ask(self, tools: list[Json] | None) -> ModelReply:
        """Send one request to the model, and show its words as they arrive. `tools` are schemas; None: wrap up."""
        await self.emit(StateChanged(ThinkingState.PROCESSING))
        schemas = tools or []
        system = self.system if tools is not None else f"{self.system}\n\n{WRAP_UP}"
        messages = self.context.get_messages_for_llm(system)
        with step("model", self.agent.model_name, None if self.options.private else messages) as span:
            asked_at = time.perf_counter()
            calls, end = await self._streamed(messages, schemas)
            first = (self._spoke_at - asked_at) * 1000 if self.partial and self._spoke_at else None
            span.answered(
                None if self.options.private else self.partial,
                tokens=end.tokens_in + end.tokens_out,
                tools=len(schemas),
                model=end.model or self.agent.model_name,
                reason=end.reason,
                calls=len(calls),
                first_token_ms=None if first is None else round(first, 1),
                tokens_in=end.tokens_in,
                tokens_out=end.tokens_out,
            )
        self.tokens += end.tokens_in + end.tokens_out
        self.tokens_out += end.tokens_out
        self.metrics.total_tokens += end.tokens_in + end.tokens_out
        return ModelReply(self.partial, tuple(calls) if tools is not None else (), end.reason)

    async def _streamed(self, messages: list[ChatMessage], schemas: list[Json]) -> tuple[list[ToolCall], Finished]:
        """Return the calls and the end of the model's answer, and show its words as they arrive."""
        self.partial, calls, end = "", list[ToolCall](), Finished("stop")
        for is_last in (False, True):
            try:
                stream = self.agent.model.stream(messages, model=self.agent.model_name, tools=schemas)
                async with aclosing(stream) as deltas:
                    async for delta in deltas:
                        match delta:
                            case TextDelta(text):
                                await self._spoke(text)
                            case ToolCall():
                                calls.append(delta)
                            case Finished():
                                end = delta
                break
            except ModelUnavailable:
                if is_last or self.agent.shown or not self.partial:
                    raise
                self.partial, calls = "", []  # Nobody has seen the words yet.
        return calls, end

    async def _spoke(self, text: str) -> None:
        if not self.partial:
            await self.emit(StateChanged(ThinkingState.GENERATING))
            now = time.perf_counter()
            if self._spoke_at is None:
                self.metrics.first_token_latency_ms = round((now - self._began) * 1000)
            self._spoke_at = now
        self.partial += text
        await self.emit(TokenGenerated(text))

    async def _round(self, reply: ModelReply) -> bool:
        """Make the calls in parallel, add them with their results, and return whether all repeated earlier calls."""
        await self.emit(StateChanged(ThinkingState.TOOL_CALLING))
        self.metrics.rounds += 1
        calls = _distinct(reply.calls[:CALLS_LIMIT])
        refused = [self._refusal(call) for call in calls]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._made_call(*made)) for made in zip(calls, refused, strict=True)]
        results = {call.id: task.result() for call, task in zip(calls, tasks, strict=True)}
        now = time.time()
        asked = Message("assistant", reply.text, now, self.mode, tool_calls=tuple(map(_stored, calls)))
        self._passing[asked.message_id] = {id_ for id_, result in results.items() if not result.persistent}
        answers = (
            Message("tool", result.content, now, self.mode, tool_call_id=id_, citations=result.citations)
            for id_, result in results.items()
        )
        self._add(asked, *answers)
        self.partial = ""
        return all(refused)

    def _refusal(self, call: ToolCall) -> ToolResult | None:
        """Return why this call is not made; None: it is made."""
        if len(call.arguments) > ARGUMENTS_LIMIT:
            return failure(call.name, "invalid_arguments", f"Arguments are over {ARGUMENTS_LIMIT} characters.")
        key = (call.name, _canonical(call.arguments))
        made, last = self._made.get(key, 0), self._last.get(key)
        # A repeated call is made only if its failure may have been temporary, and not too often.
        if made and not (last is not None and last.retryable and made < RETRY_LIMIT):
            return failure(
                call.name, "repeated", "This call was made before, and its result stands. Answer, or call differently."
            )
        self._made[key] = made + 1
        return None

    async def _made_call(self, call: ToolCall, refusal: ToolResult | None) -> ToolResult:
        await self.emit(ToolCallEvent(call.id, call.name, _object(call.arguments)))
        with step("tool", call.name, None if self.options.private else call.arguments) as span:
            result = refusal or await self.agent.toolbox.run(call.name, call.arguments, self._call_context())
            note_result(span, result, private=self.options.private)
        if refusal is None:
            self.metrics.tool_calls_count += 1
            self.results.append(result)
            self._last[(call.name, _canonical(call.arguments))] = result
        shown = _object(result.content)
        await self.emit(ToolResultEvent(call.id, call.name, shown, result.error, result.sample, result.elapsed_ms))
        return result

    @property
    def untrusted(self) -> bool:
        """Return whether text of others has entered this turn, by a result, an earlier step, or the history."""
        known = (call for message in self.context.messages for call in message.tool_calls)
        return (
            self.tool_context.rights.untrusted
            or any(result.untrusted for result in self.results)
            or any(call.by_client or self.agent.toolbox.brings_untrusted(call.name) for call in known)
        )

    def _call_context(self) -> ToolContext:
        context = self.tool_context
        return replace(context, rights=context.rights.tainted()) if self.untrusted else context

    def _response(self, reply: ModelReply, *, incomplete: bool) -> ThinkerResponse:
        if not reply.text.strip():
            raise NoAnswer("The model gave no answer.")
        sample = any(result.sample for result in self.results)
        text = speakable(reply.text) if self.mode == "voice" else reply.text.strip()
        if sample:
            text = say_sample(text)
        if incomplete:
            text = f"{text} {CUT_SHORT}" if reply.reason == "length" else f"{INCOMPLETE} {text}"
        citations = tuple(dict.fromkeys(citation for result in self.results for citation in result.citations))
        updates = [result.update for result in self.results if result.update]
        message = Message("assistant", reply.text, time.time(), self.mode, citations=citations)
        self._add(message)
        self.partial = ""
        return self.ended(
            text,
            message_id=message.message_id,
            citations=citations,
            incomplete=incomplete,
            sample=sample,
            live=any(result.is_live for result in self.results),
            cacheable=self._alone and not incomplete and all(result.cacheable for result in self.results),
            untrusted=self.untrusted,
            personal=any(result.personal for result in self.results),
            update=merged(updates) if updates else None,
        )

    def _is_client_tool(self, call: ToolCall) -> bool:
        return self.agent.toolbox.is_client_tool(call.name)

    def _left_to_client(self, reply: ModelReply) -> ThinkerResponse:
        """End the turn with the calls that the client carries out. The client returns them with its next request."""
        self.added, self.partial = [], ""
        calls = tuple(call for call in _distinct(reply.calls[:CALLS_LIMIT]) if self._is_client_tool(call))
        return self.ended(reply.text.strip(), client_calls=calls, cacheable=False)

    def ended(self, text: str, state: ThinkingState = ThinkingState.COMPLETE, **more: Any) -> ThinkerResponse:
        """Return the outcome with the turn's figures; `more` are its further fields."""
        return ThinkerResponse(
            text,
            state,
            tool_calls_made=tuple(result.name for result in self.results),
            latency_ms=round((time.perf_counter() - self._began) * 1000),
            tokens_used=self.tokens,
            tokens_out=self.tokens_out,
            **more,
        )

    def keep_partial(self) -> None:
        """Keep the words that a cancelled turn has shown: they were seen, so they belong to the conversation."""
        if self.partial.strip():
            self._add(Message("assistant", self.partial, time.time(), self.mode))
            self.partial = ""

    def settle(self) -> None:
        """At the end of the turn, drop the calls of tools that are not persistent, with their results."""
        self.context.drop_calls(self._passing)
        self.added = without_calls(self.added, self._passing)
        self._passing = {}

    def reword(self, text: str) -> None:
        """Replace the answer's words in the conversation."""
        self.added[-1] = self.context.reword_last(text)

    def _add(self, *unit: Message) -> None:
        self.context.add_message(*unit)
        self.added += unit


def note_result(span: Span, result: ToolResult, *, private: bool = False) -> None:
    """Note the outcome of a tool call in its span; a private one keeps no words."""
    if result.error == UNKNOWN_TOOL:
        span.rename(UNKNOWN_TOOL)
    source = None if result.error else "sample" if result.sample else "live"
    span.answered(None if private else result.content, error=result.error, source=source)
    if result.error:
        span.end("failed")


def say_sample(text: str) -> str:
    """Return `text`, which rests on sample data, with a sentence that says so, unless it has one."""
    return text if _SAID_SAMPLE.search(text) else f"{text} {SAMPLE}"


def _distinct(calls: tuple[ToolCall, ...]) -> list[ToolCall]:
    """Return the calls with distinct ids that are short enough to keep."""
    seen: set[str] = set()
    distinct = []
    for number, call in enumerate(calls):
        # Two calls with one id, or with none, could not be matched with their results.
        id_ = call.id if call.id and call.id not in seen and len(call.id) <= 128 else f"call_{number}_{time.time_ns()}"
        seen.add(id_)
        distinct.append(replace(call, id=id_, name=call.name[:64]))
    return distinct


def _stored(call: ToolCall) -> StoredCall:
    """Return the call for the context. Arguments that are not JSON are left out, since some servers refuse them."""
    arguments = _canonical(call.arguments) if len(call.arguments) <= ARGUMENTS_LIMIT else "{}"
    return StoredCall(call.id, call.name, arguments)


def _canonical(arguments: str) -> str:
    """Return the arguments as JSON in canonical spacing and order."""
    return json.dumps(_object(arguments), sort_keys=True, ensure_ascii=False)


def _object(text: str) -> Json:
    """Return the JSON object in `text`; an empty one if `text` holds none."""
    try:
        return msgspec.json.decode(text, type=Json)
    except (ValueError, RecursionError):
        return {}
