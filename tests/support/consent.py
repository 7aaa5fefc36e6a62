"""Contexts of tool calls, and a user who is asked to agree to them."""

import time
from collections.abc import Callable

from fakeredis import FakeAsyncRedis

from backend.access.principal import EVERYTHING, CallerScope
from backend.tools.base import Client, ToolContext, ToolRights
from backend.tools.confirmations import Confirmations


def tool_context(
    user: str,
    conversation: str = "",
    turn: str = "",
    client: Client = "internal",
    mode: str = "",
    *,
    caller_scope: CallerScope = EVERYTHING,
) -> ToolContext:
    """The context of a tool call, by default with every tool within reach."""
    return ToolContext(user, conversation, turn, client, mode, ToolRights(caller_scope))


def confirmations(clock: Callable[[], float] = time.time) -> Confirmations:
    """Open questions in a Redis of this test alone."""
    return Confirmations(FakeAsyncRedis(), clock=clock)
