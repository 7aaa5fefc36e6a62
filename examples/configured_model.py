"""The chat model of these examples: the one that `.env` or the environment names; see `gemini.env` in this folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.agent.session import Agent
from backend.models.base import ChatModel
from backend.models.chat_completions import ChatCompletions
from backend.models.tagged import TaggedChatModel
from backend.reasoning.reasoner import Reasoner
from backend.settings.settings import Settings, load_settings
from backend.tools.base import Tool
from backend.tools.runner import Toolbox

TASK = "Three tickets cost twelve dollars each. What change do I get from fifty?"


@asynccontextmanager
async def configured_model() -> AsyncIterator[tuple[ChatModel, Settings]]:
    """Open the model; needs OPENAI_API_KEY, and for another provider OPENAI_BASE_URL and THINKER_MODEL."""
    settings = load_settings()
    if settings.provider.openai_api_key is None:
        raise SystemExit("Set OPENAI_API_KEY, for example by copying examples/deepseek.env to .env.")
    key = settings.provider.openai_api_key.get_secret_value()
    chat = ChatCompletions(base_url=settings.provider.openai_base_url, api_key=key)
    try:
        yield chat, settings
    finally:
        await chat.close()


@asynccontextmanager
async def configured_reasoner(*tools: Tool) -> AsyncIterator[Reasoner]:
    """Open a reasoner with these tools: it plans with THINKER_MODEL_ADVANCED and carries out with THINKER_MODEL."""
    async with configured_model() as (chat, settings):
        models = settings.models
        agent = Agent(TaggedChatModel(chat, models.models_without_tools), Toolbox(tools, {}), models.thinker_model)
        yield Reasoner(agent, planner=models.thinker_model_advanced, executor=models.thinker_model)
