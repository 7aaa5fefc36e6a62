"""Typed turns for clients of the OpenAI API: `/v1/chat/completions` and `/v1/models`."""

from backend.access.principal import Grant
from backend.extension import Extension
from backend.extensions.chat_completions.routes import router

EXTENSION = Extension(
    name="chat_completions",
    title="Chat completions",
    routes=(router,),
    grants={"/v1/chat": Grant.CHAT, "/v1/models": Grant.CHAT},
)
