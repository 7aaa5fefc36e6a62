"""The provider where none is set: the server starts, and refuses each call with what is missing."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from backend.errors import ResponderRejected
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.failover import Provider, ResponderInfo
from backend.responders.openai_models import capabilities_of
from backend.responders.opening import ApiEndpoint, OpenedProvider
from backend.settings.settings import Settings

MESSAGE = "No Responder is set up, so calls and questions are not answered."
NO_KEY = "none"
"""Stands for a key: the models' client cannot be made without one."""
HINT = "Set OPENAI_API_KEY, or install 'responder-thinker[local]', and restart."


async def open_nothing(settings: Settings, stack: AsyncExitStack) -> OpenedProvider:
    """Return a provider that refuses every call with what to set."""

    async def connect(briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        raise ResponderRejected(MESSAGE, hint=HINT)

    async def probe() -> None:
        raise ResponderRejected(MESSAGE, hint=HINT)

    about = ResponderInfo("no Responder", "none", offline=True)
    provider = Provider("none", about, connect, probe, capabilities_of(""))
    return OpenedProvider(provider, ApiEndpoint(settings.provider.openai_base_url, NO_KEY))
