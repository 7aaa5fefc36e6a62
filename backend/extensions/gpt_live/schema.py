"""The messages that a client may send to GPT-Live, by `openai.types.live`: unknown fields are refused, at any depth.

The types state a few rules only in words: the first event, required fields that may be null, lengths of texts. These
are here as well.
"""

from collections.abc import Iterator
from typing import Any, get_args

from openai.types.live.client_event import ClientEvent
from pydantic import BaseModel

from backend.testing.offline.strict import faults_by

TYPES: dict[str, type[BaseModel]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(get_args(ClientEvent)[0])
}
"""The client events by their type."""
APPENDS = ("session.commentary.append", "session.thinking.append", "session.instructions.append")
TOKENS = 500
BYTES_PER_TOKEN = 2
"""The fewest bytes of a token in any language: a text within this limit is never too long."""
MESSAGES = 128


def faults(event: Any, *, started: bool = True) -> list[str]:
    """Return the faults of a client event; an empty list if there are none."""
    found = faults_by(TYPES, event) or list(_said_in_words(event))
    if not found and started is (event["type"] == "session.start"):
        found = ["type: a session is started once, and first"]
    return found


def _said_in_words(event: dict[str, Any]) -> Iterator[str]:
    if event["type"] in APPENDS:
        if "delegation_id" not in event:
            yield "delegation_id: it is required, and may be null"
        if not event["content"].strip():
            yield "content: it is empty"
        if len(event["content"].encode()) > TOKENS * BYTES_PER_TOKEN:
            yield f"content: it may be over {TOKENS} tokens"
    if event["type"] == "session.start":
        history = event["session"].get("input") or []
        if len(history) > MESSAGES or any(len(message["content"]) != 1 for message in history):
            yield f"session.input: at most {MESSAGES} messages, of one text each"
        if (event["session"].get("delegation") or {"type": "client"})["type"] != "client":
            yield "session.delegation: this peer delegates to the client alone"
