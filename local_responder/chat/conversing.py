"""A conversation by text: where a specialist can be asked, what is answered is what would be answered in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from local_responder.dialogue.conversation import Said, of_messages
from local_responder.dialogue.rules import Reply, respond


def converse(said: Sequence[Said], known: str, tools: Sequence[Mapping[str, Any]]) -> Reply | None:
    """Words, or a call of the tool that asks a specialist; None when none of the tools does.

    `said` is the whole conversation, the question last; `known` is what the instructions tell.
    """
    routing = [tool for tool in tools if str(tool.get("name")).startswith("route_")]
    if not routing or not said:
        return None
    reply = respond(of_messages(said), known, routing, datetime.now())
    return Reply(call=reply.call) if reply.call else reply
