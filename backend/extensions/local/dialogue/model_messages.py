"""A conversation of the Realtime API as messages of the chat completions API. Pure.

The two differ. In the Realtime API, a function's result may come long after its call; in chat completions, it must
follow the call immediately. Servers with strict chat templates also require one system message, at the beginning, and
a message of the user first and last.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from backend.models.tagged import as_text
from backend.realtime.items import Item
from backend.realtime.serving.effects import Order
from backend.runtime.json_objects import Json

HISTORY_CHARACTERS = 8_000
"""The most characters of the conversation: they fit the small contexts of local servers (Ollama: 4,096 tokens)."""
STILL_AT_WORK = '{"status": "still at work; the result will come later"}'


def messages_of(order: Order) -> list[Json]:
    """Return the instructions and the newest part of the conversation, ready to be answered."""
    outputs = {item.call_id for item in order.items if item.type == "function_call_output"}
    calls = {item.call_id: item for item in order.items if item.type == "function_call"}
    said = [message for item in order.items for message in _messages(item, calls, outputs)]
    kept = _newest(_merged(said))
    while kept and kept[0]["role"] == "tool":  # its call was left out
        kept.pop(0)
    if not kept or kept[0]["role"] != "user":
        kept.insert(0, {"role": "user", "content": "(The call begins.)" if not kept else "(The call goes on.)"})
    if kept[-1]["role"] == "assistant":
        kept.append({"role": "user", "content": "(The caller has said nothing new. Do as you are told above.)"})
    return [{"role": "system", "content": order.instructions}, *kept]


def tools_of(order: Order) -> list[Json]:
    """Return the offered functions; none if the client forbids calls."""
    if order.tool_choice == "none":
        return []
    fields = ("name", "description", "parameters")
    return [
        {"type": "function", "function": {name: tool[name] for name in fields if name in tool}} for tool in order.tools
    ]


def with_tools_as_text(messages: Sequence[Json], tools: Sequence[Json]) -> list[Json]:
    """Return the messages for a server without tools: text describes the tools, and calls and results are text."""
    return _merged(cast("list[Json]", as_text(cast(Any, messages), tools)))


def _messages(item: Item, calls: Mapping[str, Item], outputs: set[str]) -> Iterator[Json]:
    if item.type == "function_call":
        if item.call_id not in outputs:
            yield from _call(item, STILL_AT_WORK)
    elif item.type == "function_call_output":
        if item.call_id in calls:
            yield from _call(calls[item.call_id], item.output)
    elif item.words.strip():
        note = item.role == "system"
        text = f"(A note for you, which the caller does not hear: {item.words})" if note else item.words.strip()
        yield {"role": "user" if note else item.role, "content": text}


def _call(item: Item, output: str) -> Iterator[Json]:
    function = {"name": item.name, "arguments": item.arguments or "{}"}
    call = {"id": item.call_id, "type": "function", "function": function}
    yield {"role": "assistant", "content": "", "tool_calls": [call]}
    yield {"role": "tool", "tool_call_id": item.call_id, "content": output}


def _merged(messages: Sequence[Json]) -> list[Json]:
    """Return the messages; neighbours of one speaker are joined."""
    merged: list[Json] = []  # a call and its result stay messages of their own
    for message in messages:
        last = merged[-1] if merged else {}
        plain = "tool_calls" not in message and "tool_calls" not in last and message["role"] != "tool"
        if plain and last.get("role") == message["role"]:
            merged[-1] = {**last, "content": f"{last['content']}\n{message['content']}"}
        else:
            merged.append(dict(message))
    return merged


def _newest(messages: Sequence[Json]) -> list[Json]:
    kept: list[Json] = []
    left = HISTORY_CHARACTERS
    for message in reversed(messages):
        left -= len(str(message["content"]))
        if left < 0 and kept:
            break
        kept.insert(0, {**message, "content": str(message["content"])[-HISTORY_CHARACTERS:]})
    return kept
