"""A brainlet is a step in the form of the Brain document: a function of earlier results and of the request.

    @brainlet(
        name="keywords", execution_stage="pre", depends_on=[], modes=["default"],
        model="gpt-4.1", provider="openai", options={"max_completion_tokens": 64, "temperature": 0.7},
    )
    async def keywords(brainlets_output: dict[str, Any], request: MultiTurnRequest) -> str:
        return await request.ask("Name up to eight words for what the user asks about.")

Before the turn, its result stands in the conversation as that of a tool call; after it, only later steps see it. New
steps are better written as `@step`, which says by types what it reads and returns.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from backend.agent.context import Exchange
from backend.errors import BadPlugin, ModelUnavailable
from backend.middleware.base import Amended, Aside, Asked, Output, Stage, StepOptions, WholeTurn, step
from backend.models.base import ChatMessage, ChatModel, words_of
from backend.models.options import read_options
from backend.tools.base import ToolResponse

DEADLINES_S: Mapping[str, float] = {"pre": 2.0, "post": 10.0}
"""Seconds a brainlet may take: as long as all steps of its stage together."""
PROVIDER = "openai"
"""The name of the Thinkers' chat completions API, whichever server that is."""


@dataclass(frozen=True, slots=True, repr=False)
class MultiTurnRequest:
    """The turn as a brainlet sees it."""

    messages: Sequence[ChatMessage]
    """The question and, after the turn, the answer."""
    user_id: str
    conversation_id: str
    platform: str
    mode: str
    options: StepOptions
    """The model of the brainlet, and the options of its requests."""
    _model: ChatModel | None

    async def ask(self, instructions: str) -> str:
        """Return the answer of the brainlet's model to `instructions` and the messages. Raises `ModelUnavailable`."""
        if self._model is None or not self.options.model:
            raise ModelUnavailable("This brainlet has no model.", hint="Name one in its configuration.")
        asked: list[ChatMessage] = [{"role": "system", "content": instructions}, *self.messages]
        return await words_of(self._model, self.options.model, asked, self.options.of_model)


F = TypeVar("F", bound=Callable[[dict[str, Any], MultiTurnRequest], Awaitable[Any]])


def brainlet(
    *,
    name: str,
    execution_stage: Stage,
    description: str = "",
    model: str = "",
    provider: str = PROVIDER,
    depends_on: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    modes: Sequence[str] = (),
) -> Callable[[F], F]:
    """Declare the decorated function as a brainlet with this configuration. Raises `BadPlugin` for a wrong one.

    `description` is for readers alone. `options` are those of requests to `model`.
    """

    def declare(function: F) -> F:
        if provider != PROVIDER:
            hint = f"Write {PROVIDER!r}: all models are asked at the one address of the Thinkers' models."
            raise BadPlugin(f"Brainlet {name} names the provider {provider!r}.", hint=hint)
        read_options(f"Brainlet {name}", options or {})  # it has no options of its own, as other steps may have

        async def before(asked: Asked, chat: ChatModel | None, options: StepOptions) -> Exchange | None:
            result = await function(_results(asked.earlier), _request(asked, options, chat))
            return None if result is None else Exchange(name, {}, ToolResponse(result).data)

        async def after(turn: WholeTurn, chat: ChatModel | None, options: StepOptions) -> Aside | None:
            result = await function(_results(turn.earlier), _request(turn.asked, options, chat, turn.answer))
            return None if result is None else Aside(result)

        wrapped: Any = before if execution_stage == "pre" else after
        step(
            name,
            stage=execution_stage,
            depends_on=depends_on,
            modes=modes,
            model=model,
            options=options,
            deadline_s=DEADLINES_S.get(execution_stage),
        )(wrapped)
        function.__step__ = wrapped.__step__  # type: ignore[attr-defined]
        return function

    return declare


def _request(asked: Asked, options: StepOptions, model: ChatModel | None, *answer: str) -> MultiTurnRequest:
    said: list[ChatMessage] = [{"role": "user", "content": asked.text}]
    said += [{"role": "assistant", "content": text} for text in answer]
    return MultiTurnRequest(said, asked.user_id, asked.conversation_id, asked.platform, asked.mode, options, model)


def _results(earlier: Mapping[str, Output]) -> dict[str, Any]:
    """Return the results of earlier steps as they were before the pipeline took them."""
    return {name: _result(output) for name, output in earlier.items()}


def _result(output: Output) -> Any:
    match output:
        case Amended(text):
            return text
        case Exchange(result=result):
            return result["result"] if list(result) == ["result"] else dict(result)
        case _:
            return output.data
