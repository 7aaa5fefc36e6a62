"""The messages of GPT-Live: the parts that are read, and texts cut to the size of one message."""

import json
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from backend.language.sentences import sentences
from backend.responders.base import PastMessage
from backend.runtime.json_objects import Json

PART_BYTES = 1000
"""The most bytes of text in one message: it may have 500 tokens, and in any language a token has two bytes or more."""
PARTS_LIMIT = 6
"""The most messages of one answer; a longer one is cut at the end of a sentence."""
HISTORY_LIMIT = 60
"""The most messages that are restored; the API takes 128 of them, and about 8,000 tokens."""
HISTORY_BYTES = 12_000
INSTRUCTIONS_BYTES = 32_000
"""The most bytes of the instructions, which may have 16,384 tokens."""


class Delegation(Struct):
    """Work that the model hands over without a description."""

    id: str
    target: str = "client"


class LiveError(Struct):
    """An error of a command or of the session."""

    code: str = ""
    message: str = ""


class LiveEvent(Struct):
    """The fields that are read of any server event."""

    type: str
    delta: msgspec.Raw = msgspec.Raw(b'""')
    """The field as raw JSON; the type says whether it is sound or words."""
    start_ms: int | None = None
    end_ms: int | None = None
    delegation: Delegation | None = None
    error: LiveError | None = None
    reason: str = ""


def session_of(model: str, voice: str, instructions: str, history: list[PastMessage]) -> Json:
    """Return the configuration of a session: fields that the API does not know are refused."""
    session: Json = {
        "model": model,
        "instructions": clipped(instructions, INSTRUCTIONS_BYTES),
        "audio": {"format": {"type": "audio/pcm", "rate": 24000}, "output": {"voice": voice}},
        "delegation": {"type": "client"},
    }
    if history:
        session["input"] = [_past(said) for said in _newest(history)]
    return session


def _newest(history: list[PastMessage]) -> list[PastMessage]:
    kept: list[PastMessage] = []
    room = HISTORY_BYTES
    for said in reversed(history[-HISTORY_LIMIT:]):
        room -= len(said.text.encode())
        if room < 0:
            break
        kept.insert(0, said)
    return kept


def _past(said: PastMessage) -> Json:
    kind = "output_text" if said.role == "assistant" else "input_text"
    return {"type": "message", "role": said.role, "content": [{"type": kind, "text": said.text}]}


def answer_of(output: str) -> str:
    """Return what a Thinker's output says, as text."""
    try:
        given = json.loads(output)
    except ValueError:
        return output
    if not isinstance(given, dict):
        return output
    words = [str(given[name]) for name in ("answer", "status", "dropped", "cancelled", "note") if given.get(name)]
    if error := given.get("error"):
        words.append(f"There is no answer: {error}")
    if given.get("source") == "sample":
        words.append("(This is sample data: say so.)")
    return " ".join(words) or output


def parts_of(text: str) -> list[str]:
    """Return the text in parts that fit a message each, cut at ends of sentences where there are any."""
    parts: list[str] = []
    part = ""
    for piece in _pieces(text.strip()):
        if part and len(f"{part} {piece}".encode()) > PART_BYTES:
            parts.append(part)
            part = piece
        else:
            part = f"{part} {piece}".strip()
    if part:
        parts.append(part)
    return parts[:PARTS_LIMIT]


def _pieces(text: str) -> Iterator[str]:
    """Yield sentences. A sentence that is too long comes word by word, a word that is too long in two parts."""
    for sentence in sentences(text):
        if len(sentence.encode()) <= PART_BYTES:
            yield sentence
            continue
        for word in sentence.split():
            while len(word.encode()) > PART_BYTES:
                head = clipped(word, PART_BYTES)
                yield head
                word = word[len(head) :]
            yield word


def clipped(text: str, limit_bytes: int) -> str:
    """Return the beginning of the text, at most `limit_bytes` bytes."""
    return text.encode()[:limit_bytes].decode(errors="ignore")
