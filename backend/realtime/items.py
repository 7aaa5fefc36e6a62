"""Conversation items: reading the ones a client creates, showing them, and what was really heard of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from backend.media.frame import BYTES_PER_MS, milliseconds
from backend.realtime.faults import Fault, invalid
from backend.realtime.fields import mapping, one_of, required_text, sequence, short_id, text

ItemType = Literal[
    "message", "function_call", "function_call_output", "mcp_call", "mcp_approval_request", "mcp_approval_response"
]
Role = Literal["system", "user", "assistant"]
PARTS: Mapping[Role, tuple[str, ...]] = {
    "system": ("input_text",),
    "user": ("input_text", "input_audio", "input_image"),
    "assistant": ("output_text", "output_audio"),
}
"""The content parts that a client may put into a message of each role; the first is text."""
DIRECTION = "direction_"
"""The prefix of the id of a message that directs the reply asked for right after it."""


@dataclass(slots=True)
class Item:
    """One entry of the conversation. Audio is kept as a byte count only."""

    id: str
    type: ItemType
    role: Role | None = None
    status: str = "completed"
    kind: str = ""
    """The type of the one content part: input_text, input_audio, output_text or output_audio; '' without one."""
    words: str = ""
    """The text, or the transcript of the audio."""
    parts: tuple[dict[str, Any], ...] = ()
    """The content of a message that the client has put in, as it is shown again."""
    transcribed: bool = False
    """True if the transcript of input_audio is known."""
    audio_bytes: int = 0
    """24 kHz PCM16 received from the caller, or sent to them."""
    heard_ms: int | None = None
    """The milliseconds at which the client truncated the item, if it did."""
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: str = ""
    server: str = ""
    """The label of the MCP server, for a call on it and for the question about one."""
    approval: str | None = None
    """The id of the question, for a call that was agreed to and for the answer."""
    approve: bool = False
    error: str = ""
    turn: int = field(default=0, repr=False)
    """The number of the user turn, for handlers that count turns."""

    @property
    def audio_ms(self) -> int:
        """Return the milliseconds of audio in the item, after truncation."""
        return milliseconds(self.audio_bytes)

    def shown(self) -> dict[str, Any]:
        """Return the item as the API shows it."""
        shown: dict[str, Any] = {"id": self.id, "object": "realtime.item", "type": self.type, "status": self.status}
        if self.type == "message":
            return shown | {"role": self.role, "content": self._content()}
        if self.type == "mcp_approval_response":
            return _named(self, approval_request_id=self.approval, approve=self.approve)
        if self.server:
            called = _named(self, server_label=self.server, name=self.name, arguments=self.arguments)
            if self.type == "mcp_approval_request":
                return called
            error = {"type": "tool_execution_error", "message": self.error} if self.error else None
            return called | {"output": self.output or None, "error": error, "approval_request_id": self.approval}
        if self.type == "function_call":
            return shown | {"call_id": self.call_id, "name": self.name, "arguments": self.arguments}
        return shown | {"call_id": self.call_id, "output": self.output}

    @property
    def pictures(self) -> list[tuple[int, str]]:
        """Return the places of pictures among the content, and their URLs."""
        return [(at, part["image_url"]) for at, part in enumerate(self.parts) if part["type"] == "input_image"]

    @property
    def has_audio(self) -> bool:
        """Return whether the client has put audio in, or its transcript."""
        return any(part["type"].endswith("_audio") for part in self.parts)

    def without_pictures(self) -> None:
        """Show pictures without their data from now on."""
        self.parts = tuple({name: part[name] for name in part if name != "image_url"} for part in self.parts)

    def booked(self) -> dict[str, Any]:
        """Return the item with this server's bookkeeping, for `/debug/connections`."""
        return self.shown() | {"audio_ms": self.audio_ms, "heard_ms": self.heard_ms}

    def truncate(self, audio_end_ms: int) -> None:
        """Keep `audio_end_ms` of an assistant's audio, and as large a share of the words. Raises `Fault`."""
        if self.type != "message" or self.role != "assistant" or self.kind != "output_audio" or not self.audio_bytes:
            raise Fault("Only model output audio messages can be truncated", code="unsupported_content_type")
        if audio_end_ms > self.audio_ms:
            raise Fault(
                f"Audio content of {self.audio_ms}ms is already shorter than {audio_end_ms}ms",
                code="invalid_value",
                param="audio_end_ms",
            )
        if audio_end_ms < self.audio_ms:
            self.words = self.words[: len(self.words) * audio_end_ms // self.audio_ms].rpartition(" ")[0]
        self.audio_bytes = audio_end_ms * BYTES_PER_MS
        self.heard_ms = audio_end_ms

    def _content(self) -> list[dict[str, Any]]:
        if self.parts or not self.kind:
            return [dict(part) for part in self.parts]
        if self.kind == "input_audio":
            return [{"type": self.kind, "transcript": self.words if self.transcribed else None}]
        return [{"type": self.kind, ("transcript" if self.kind == "output_audio" else "text"): self.words}]


def _named(item: Item, **fields: Any) -> dict[str, Any]:
    return {"id": item.id, "type": item.type, **fields}


def read_item(given: Any, fresh_id: str, at: str = "item") -> Item:
    """Return the item of a `conversation.item.create`, or of a response's input. Raises `Fault`."""
    item = mapping(given, at)
    kinds = ["message", "function_call", "function_call_output", "mcp_approval_response"]
    kind = one_of(item.get("type"), kinds, at + ".type")
    item_id = short_id(item["id"], at + ".id") if item.get("id") is not None else fresh_id
    here = at + "."
    if kind == "message":
        return _read_message(item, item_id, here)
    if kind == "mcp_approval_response":
        asked = required_text(item, "approval_request_id", here)
        return Item(item_id, "mcp_approval_response", approval=asked, approve=item.get("approve") is True)
    call_id = required_text(item, "call_id", here)
    if kind == "function_call_output":
        return Item(item_id, "function_call_output", call_id=call_id, output=required_text(item, "output", here))
    name, arguments = required_text(item, "name", here), required_text(item, "arguments", here)
    return Item(item_id, "function_call", call_id=call_id, name=name, arguments=arguments)


def _read_message(item: Mapping[str, Any], item_id: str, at: str) -> Item:
    role: Role = one_of(item.get("role"), list(PARTS), at + "role")
    given = sequence(item.get("content"), at + "content")
    if not given:
        raise invalid(at + "content", "expected at least one content part.")
    parts = [_read_part(part, role, f"{at}content[{number}]") for number, part in enumerate(given)]
    words = [part.get("text") or part.get("transcript") or "" for part in parts if part["type"] != "input_image"]
    return Item(item_id, "message", role=role, kind=PARTS[role][0], words="\n".join(words), parts=tuple(parts))


def _read_part(given: Any, role: Role, param: str) -> dict[str, Any]:
    """Return text, a picture's URL, or the transcript of audio."""
    part = dict(mapping(given, param))
    kind = one_of(part.get("type"), PARTS[role], param + ".type")
    if kind == "input_image":
        text(part.get("image_url"), param + ".image_url")
        if part.get("detail") is not None:
            one_of(part["detail"], ["auto", "low", "high"], param + ".detail")
    elif kind.endswith("_text"):
        text(part.get("text"), param + ".text")
    else:
        text(part.get("transcript") or "", param + ".transcript")
    return part


def is_reference(given: Any) -> bool:
    """Return whether an item of a response's input refers to one of the conversation."""
    return isinstance(given, Mapping) and given.get("type") == "item_reference"


def directed(items: tuple[Item, ...], instructions: str) -> tuple[tuple[Item, ...], str]:
    """Return the conversation and the instructions of a reply; a direction at the end is part of these."""
    if items and items[-1].role == "system" and items[-1].id.startswith(DIRECTION):
        return items[:-1], f"{instructions}\n\n{items[-1].words}"
    return items, instructions
