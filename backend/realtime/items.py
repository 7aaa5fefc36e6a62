"""Conversation items: how a client's items are read, how items are shown, and how much of each was really heard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from backend.media.frame import BYTES_PER_MS, milliseconds
from backend.realtime.faults import Fault, invalid
from backend.realtime.fields import ITEM_ID_LIMIT, read

ItemType = Literal["message", "function_call", "function_call_output"]
Role = Literal["system", "user", "assistant"]
PARTS: Mapping[Role, tuple[str, ...]] = {
    "system": ("input_text",),
    "user": ("input_text", "input_audio", "input_image"),
    "assistant": ("output_text", "output_audio"),
}
"""The content parts that a client may put into a message of each role; the first is text."""
DIRECTION = "direction_"
"""The prefix of the ids of messages that direct the reply that is asked for right after them."""


class TextPart(Struct, frozen=True, tag_field="type", tag="input_text"):
    """Words to the model."""

    text: str


class SpokenPart(Struct, frozen=True, tag_field="type", tag="input_audio"):
    """A recording to the model, by its transcript."""

    transcript: str | None = None


class PicturePart(Struct, frozen=True, tag_field="type", tag="input_image"):
    """A picture, as a data URL."""

    image_url: str
    detail: Literal["auto", "low", "high"] | None = None


class AnswerTextPart(TextPart, frozen=True, tag="output_text"):
    """Words of the model."""


class AnswerSoundPart(SpokenPart, frozen=True, tag="output_audio"):
    """Sound of the model, by its transcript."""


ItemId = Annotated[str, Meta(min_length=1, max_length=ITEM_ID_LIMIT)]
Part = TextPart | SpokenPart | PicturePart | AnswerTextPart | AnswerSoundPart


class GivenMessage(Struct, frozen=True, tag_field="type", tag="message"):
    """A message that a client puts into the conversation."""

    role: Role
    content: Annotated[list[Part], Meta(min_length=1)]
    id: ItemId | None = None


class GivenResult(Struct, frozen=True, tag_field="type", tag="function_call_output"):
    """The result of a function call."""

    call_id: str
    output: str
    id: ItemId | None = None


class GivenCall(Struct, frozen=True, tag_field="type", tag="function_call"):
    """A function call of an earlier conversation, which a client puts in again."""

    call_id: str
    name: str
    arguments: str
    id: ItemId | None = None


GivenItem = GivenMessage | GivenResult | GivenCall


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
        """Return the item with its audio lengths, for `/debug/connections`."""
        return self.shown() | {"audio_ms": self.audio_ms, "heard_ms": self.heard_ms}

    def truncate(self, audio_end_ms: int) -> None:
        """Keep `audio_end_ms` of an assistant's audio, and the same share of the words. Raises `Fault`."""
        if self.type != "message" or self.role != "assistant" or self.kind != "output_audio" or not self.audio_bytes:
            # Only audio that the model has sent can have been heard in part.
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


def read_item(given: Any, fresh_id: str, at: str = "item") -> Item:
    """Return the item of a `conversation.item.create`, or of a response's input. Raises `Fault`."""
    match item := read(given, GivenItem, at):
        case GivenMessage():
            return _message(given["content"], item, fresh_id, at)
        case GivenResult(call_id, output):
            return Item(item.id or fresh_id, "function_call_output", call_id=call_id, output=output)
    return Item(item.id or fresh_id, "function_call", call_id=item.call_id, name=item.name, arguments=item.arguments)


def _message(content: Sequence[dict[str, Any]], message: GivenMessage, fresh_id: str, at: str) -> Item:
    kinds = PARTS[message.role]
    for number, part in enumerate(content):
        if part["type"] not in kinds:
            raise invalid(f"{at}.content[{number}].type", f"a message of this role has {', '.join(kinds)}.")
    words = [part.get("text") or part.get("transcript") or "" for part in content if part["type"] != "input_image"]
    parts = tuple(map(dict, content))
    role = message.role
    return Item(message.id or fresh_id, "message", role=role, kind=kinds[0], words="\n".join(words), parts=parts)


class Reference(Struct, frozen=True, tag_field="type", tag="item_reference"):
    """An item of a response's input that refers to one of the conversation."""

    id: str


def reference_of(given: Any, at: str) -> str | None:
    """Return the id to which an item of a response's input refers; None for an item of its own. Raises `Fault`."""
    if not isinstance(given, Mapping) or given.get("type") != "item_reference":
        return None
    reference: Reference = read(given, Reference, at)
    return reference.id


def directed(items: tuple[Item, ...], instructions: str) -> tuple[tuple[Item, ...], str]:
    """Return the conversation and the instructions of a reply; a direction at the end is part of these."""
    if items and items[-1].role == "system" and items[-1].id.startswith(DIRECTION):
        return items[:-1], f"{instructions}\n\n{items[-1].words}"
    return items, instructions
