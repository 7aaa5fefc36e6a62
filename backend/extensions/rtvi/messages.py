"""The messages of RTVI, the protocol of Pipecat's client kits: `{label, type, id, data}`. Pure.

https://docs.pipecat.ai/client/rtvi-standard
"""

import secrets
from typing import Any, Literal, TypeVar

import msgspec

from backend.extensions.rtvi.frames import write_message
from backend.runtime.json_objects import Json

LABEL = "rtvi-ai"
VERSION = "2.1.0"
"""The version of RTVI that this server speaks."""
TEXT_LIMIT = 64_000
"""The most characters of a text, or of a tool's result."""
ID_LIMIT = 128
"""The most characters of a message's id that are sent back."""
T = TypeVar("T")
encode = msgspec.json.Encoder().encode


class MessageFault(Exception):
    """A message cannot be carried out. The text is for the client's developer."""


class RtviMessage(msgspec.Struct):
    """A client's message with data that are not checked yet."""

    type: str = ""
    id: str = ""
    label: str = ""
    data: Any = None


class ClientReady(msgspec.Struct):
    """`client-ready`: the client has connected, and may be sent messages."""

    version: str = ""


class TextOptions(msgspec.Struct):
    """Options for the answer to a text."""

    run_immediately: bool = True
    audio_response: bool = True


class ClientText(msgspec.Struct):
    """`send-text`: the user has typed something."""

    content: str
    options: TextOptions = msgspec.field(default_factory=TextOptions)


class AppendToContext(msgspec.Struct):
    """`append-to-context`, of older clients: a message for the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str
    run_immediately: bool | None = None


class Keys(msgspec.Struct):
    """`dtmf`: keys of a telephone; clients before 2.1 send one at a time."""

    buttons: list[str] = []
    button: str = ""


class FunctionResult(msgspec.Struct):
    """`llm-function-call-result`: what a function of the client's has returned."""

    tool_call_id: str
    result: Any = None


class ClientRequest(msgspec.Struct):
    """`client-message`: a request of kind `t`."""

    t: str
    d: Any = None


_decode = msgspec.json.Decoder(RtviMessage).decode


def read_message(text: str | bytes) -> RtviMessage | None:
    """Return a message; None for other text, such as a keep-alive. Raises `MessageFault` for one without a type."""
    try:
        message = _decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if message.label != LABEL:
        return None
    if not message.type:
        raise MessageFault("The message has no type.")
    return message


def data_of(message: RtviMessage, kind: type[T]) -> T:
    """Return the data of a message. Raises `MessageFault` if they are not valid."""
    try:
        return msgspec.convert(message.data if message.data is not None else {}, kind)
    except msgspec.ValidationError as error:
        raise MessageFault(f"The data of {message.type} are not valid: {error}.") from None


def message(kind: str, data: Any = None, message_id: str = "") -> Json:
    """Return a message to the client; an answer has the id of the message that it answers."""
    named = message_id[:ID_LIMIT] or secrets.token_hex(4)
    return {"label": LABEL, "type": kind, "id": named} | ({} if data is None else {"data": data})


def error(words: str, *, fatal: bool = False) -> Json:
    """Return an `error` message; a client that gets a fatal one disconnects."""
    return message("error", {"error": words, "message": words, "fatal": fatal})


def refusal(words: str) -> bytes:
    """Return the WebSocket frame that names the reason why a call is refused."""
    return write_message(encode(error(words, fatal=True)))
