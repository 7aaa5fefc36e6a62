"""The messages of a request become a typed turn. They have the form of the chat completions API.

The question is the user's last message or, without one, the last instruction. The messages before it are the
conversation as the client knows it, with its tool calls and their results. Calls after it, with their results, are
rounds that the client has carried out since.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from backend.chat.turn import ChatRequest
from backend.errors import BadField
from backend.storage.messages import ClientRound, Message, StoredCall

QUESTION_LIMIT = 8_000
"""The most characters of the question."""
EARLIER_LIMIT = 40
"""The most messages before the question that are read; the oldest are left out."""
INSTRUCTING = ("system", "developer")
SENDERS = {"tool_calls": "assistant", "tool_call_id": "tool"}
"""Field → the role of the messages that may have it."""


class ClientFunction(BaseModel):
    """The function of a call, and its arguments as JSON text."""

    name: str = Field(min_length=1, max_length=64)
    arguments: str = "{}"


class ClientCall(BaseModel):
    """A tool call that the client knows of."""

    id: str = Field(min_length=1, max_length=128)
    type: Literal["function"] = "function"
    function: ClientFunction


class ContentPart(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str | None = None
    refusal: str | None = None


class ClientMessage(BaseModel):
    """A message of `messages`."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    tool_calls: list[ClientCall] | None = None
    tool_call_id: str | None = None
    function_call: ClientFunction | None = None
    """Obsolete, and refused."""


def as_turn(messages: Sequence[ClientMessage], user_id: str) -> ChatRequest:
    """Return the typed turn, which belongs to no conversation yet. Raises `BadField`, which names the field."""
    at = _place_of_question(messages)
    text = _text(messages[at], at).strip()
    if not text or len(text) > QUESTION_LIMIT:
        problem = f"is longer than {QUESTION_LIMIT} characters" if text else "is empty"
        raise BadField(f"The user's last message {problem}.", param=f"messages[{at}].content")
    earlier, rounds, instructions = list[Message](), list[ClientRound](), list[str]()
    for number, part in _parts(messages):
        if isinstance(part, ClientRound) and number > at:
            rounds.append(part)
        elif isinstance(part, ClientRound):
            earlier += part.unit(time.time(), "chat")
        elif number == at or not (words := _text(part, number).strip()):
            continue
        elif part.role == "system" or part.role == "developer":
            instructions.append(words)
        elif number < at:
            earlier.append(Message(part.role, words, time.time(), "chat"))
        else:
            hint = "End with a message of the user, or with the results of all calls."
            raise BadField("The last message is the assistant's.", param=f"messages[{number}].role", hint=hint)
    return ChatRequest(
        user_id,
        text,
        earlier=tuple(earlier[-EARLIER_LIMIT:]),
        instructions="\n\n".join(instructions),
        client_rounds=tuple(rounds),
    )


def _place_of_question(messages: Sequence[ClientMessage]) -> int:
    """Return the number of the user's last message, or of the last instruction. Raises `BadField` without either."""
    for roles in (("user",), INSTRUCTING):
        if found := [number for number, message in enumerate(messages) if message.role in roles]:
            return found[-1]
    raise BadField("There is no message with the role user.", param="messages", hint="Send at least one.")


def _text(message: ClientMessage, number: int) -> str:
    """Return the words of a message. Raises `BadField` for a part that is not text."""
    if not isinstance(message.content, list):
        return message.content or ""
    for index, part in enumerate(message.content):
        if part.type not in ("text", "refusal"):
            at = f"messages[{number}].content[{index}].type"
            raise BadField("Only text is supported here.", param=at, code="unsupported_value", hint="Send text.")
    return "\n".join(part.text or part.refusal or "" for part in message.content)


def _parts(messages: Sequence[ClientMessage]) -> Iterator[tuple[int, ClientMessage | ClientRound]]:
    """Yield each message with its number; calls come as one round with their results. Raises `BadField`."""
    for number, message in enumerate(messages):
        _check_fields(message, f"messages[{number}]")
    number = 0
    while number < len(messages):
        first, message = number, messages[number]
        number += 1
        if message.role == "tool":
            hint = "A message of the role tool follows the assistant's message that made the call."
            raise BadField("There is no call that this result belongs to.", param=f"messages[{first}].role", hint=hint)
        if not message.tool_calls:
            yield first, message
            continue
        calls, results = message.tool_calls, dict[str, str]()
        _check_calls(calls, f"messages[{first}].tool_calls")
        ids = [call.id for call in calls]
        while number < len(messages) and messages[number].tool_call_id in ids:
            results[messages[number].tool_call_id or ""] = _text(messages[number], number)
            number += 1
        if missing := [id_ for id_ in ids if id_ not in results]:
            hint = "Send one message of the role tool for each call."
            param = f"messages[{number - 1}]"
            raise BadField(f"{len(missing)} of the calls before have no result.", param=param, hint=hint)
        stored = tuple(
            StoredCall(each.id, each.function.name, each.function.arguments, by_client=True) for each in calls
        )
        yield first, ClientRound(stored, tuple(results[id_] for id_ in ids), _text(message, first))


def _check_fields(message: ClientMessage, at: str) -> None:
    """Raise `BadField` for a field that a message of its role does not have, since it would be lost."""
    if message.function_call is not None:
        hint = "Send tool_calls, and their results as messages of the role tool."
        raise BadField("That field is obsolete.", param=f"{at}.function_call", code="unsupported_value", hint=hint)
    for name, role in SENDERS.items():
        if getattr(message, name) and message.role != role:
            raise BadField(f"Only a message of the role {role} has that field.", param=f"{at}.{name}")


def _check_calls(calls: Sequence[ClientCall], at: str) -> None:
    """Raise `BadField` for calls that no model can have made: some models refuse a conversation that holds them."""
    if len({call.id for call in calls}) < len(calls):
        raise BadField("Two calls have the same ID.", param=at)
    for number, call in enumerate(calls):
        try:
            json.loads(call.function.arguments)
        except (ValueError, RecursionError):
            raise BadField("That is not valid JSON.", param=f"{at}[{number}].function.arguments") from None
