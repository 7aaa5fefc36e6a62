"""The parser for the output of a model without native tool calls: words, and calls between tags. Pure and incremental.

    output  = { words | hidden | call } [ words ]
    call    = "<function_call>" [fence] object [fence] "</function_call>"     the closing tag may be missing
            | fence object fence                                              an object with a known tool's name
    object  = {"name": "…", "arguments": {…}}                                 JSON; understood, too: "args" and
                                                                              "parameters", and a "call_objective"
    hidden  = "<think>" … "</think>" | "<function_result>" … "</function_result>"
            | "<function_call_result>" … "</function_call_result>"

    WORDS ──opener──▶ CALL ──object ends──▶ AFTER ──another call──▶ CALL
      │ ▲                                     └─────anything else──▶ OVER
      ├─┴──▶ HIDDEN     thoughts, and results the model invents
      └────▶ FENCE      a code block that may turn out to be a call

Text after a call is written as if its result were known, so all of it is dropped: words as well as further calls. Calls
that follow each other with only white space between them are all made. A call that cannot be parsed becomes
`Malformed`, never words. However the text is cut into pieces, the result is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NoReturn

from backend.models.base import TextDelta

CALL, CALL_END = "<function_call>", "</function_call>"
RESULT, RESULT_END = "<function_result", "</function_result>"
CALL_RESULT, CALL_RESULT_END = "<function_call_result", "</function_call_result>"
THINK, THINK_END = "<think>", "</think>"
FENCE = "```"
FENCE_KINDS = frozenset({"", "json", "function_call", "tool_call"})
"""The labels of code blocks that may hold a call."""
FENCE_LINE_LIMIT = 40
"""Characters of a fence's own line."""
CALL_LIMIT = 16_000
"""Characters of one call."""
RAW_LIMIT = 2_000
"""Characters kept of a malformed call."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A tool call; `arguments` is JSON, unchecked."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Text that was meant as a call; `raw` is its beginning."""

    raw: str


Piece = TextDelta | ParsedCall | Malformed


class ReaderState(Enum):
    """The state of a `TagReader`."""

    WORDS = auto()
    CODE = auto()
    """Within a code block that is words; the next fence ends it."""
    HIDDEN = auto()
    CALL = auto()
    FENCE = auto()
    AFTER = auto()
    OVER = auto()


FIELDS = ("arguments", "parameters", "args")
"""Names of the field with a call's arguments."""
OBJECTIVE = "call_objective"
"""The field in which a call may say what it is for."""
CLOSERS = {RESULT: RESULT_END, CALL_RESULT: CALL_RESULT_END, THINK: THINK_END}
"""What hides text, and what ends that."""
OPENERS = (CALL, FENCE, *CLOSERS)
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}]|' + CALL_END, re.DOTALL)
"""Strings, the braces outside them, and the tag that ends a call."""


class TagReader:
    """An incremental parser: `feed` it the model's output, then `finish` it. `tools` may be called from a bare code
    block."""

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)
        self._state = ReaderState.WORDS
        self._buffer = ""
        self._closer = ""
        self._behind = ReaderState.WORDS
        """The state to return to after a hidden part."""
        self._fenced = False

    def __repr__(self) -> str:
        return f"TagReader({self._state.name}, {len(self._buffer)} characters held back)"

    @property
    def over(self) -> bool:
        """True if all further output is dropped: the model continues as if it knew a call's result."""
        return self._state is ReaderState.OVER

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain by now."""
        self._buffer += text
        return _joined(self._pieces(last=False))

    def finish(self) -> list[Piece]:
        """Return the remaining pieces at the end of the output."""
        pieces = _joined(self._pieces(last=True))
        self._state, self._buffer = ReaderState.OVER, ""
        return pieces

    def _pieces(self, *, last: bool) -> Iterator[Piece]:
        """Step from state to state, as long as the buffer allows."""
        while True:
            before = (self._state, len(self._buffer))
            match self._state:
                case ReaderState.WORDS | ReaderState.CODE:
                    yield from self._words(last=last)
                case ReaderState.HIDDEN:
                    self._hidden(last=last)
                case ReaderState.CALL:
                    yield from self._call(last=last)
                case ReaderState.FENCE:
                    yield from self._fence(last=last)
                case ReaderState.AFTER:
                    self._after(last=last)
                case ReaderState.OVER:
                    self._buffer = ""
            if (self._state, len(self._buffer)) == before:
                return

    # --- words ----------------------------------------------------------------------------------------

    def _words(self, *, last: bool) -> Iterator[Piece]:
        at, opener = _first(self._buffer, OPENERS)
        if not opener:
            yield from self._released(len(self._buffer) - (0 if last else _held(self._buffer, OPENERS)))
            return
        yield from self._released(at)
        if opener == FENCE and self._state is ReaderState.CODE:
            yield from self._released(len(FENCE))
            self._state = ReaderState.WORDS
        elif opener == FENCE:
            self._state = ReaderState.FENCE
        elif opener == CALL:
            self._fenced = self._state is ReaderState.CODE
            self._begin_call()
        else:
            self._closer = CLOSERS[opener]
            self._behind, self._state = self._state, ReaderState.HIDDEN

    def _released(self, size: int) -> Iterator[Piece]:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        if text:
            yield TextDelta(text)

    def _hidden(self, *, last: bool) -> None:
        at = self._buffer.find(self._closer)
        if at >= 0:
            self._buffer = self._buffer[at + len(self._closer) :]
            self._state = self._behind
        else:
            held = 0 if last else _held(self._buffer, (self._closer,))
            self._buffer = self._buffer[len(self._buffer) - held :]

    # --- calls ----------------------------------------------------------------------------------------

    def _begin_call(self) -> None:
        self._buffer = self._buffer[len(CALL) :]
        self._state = ReaderState.CALL

    def _call(self, *, last: bool) -> Iterator[Piece]:
        """Read the body between the tags: an object, perhaps in a fence.

        A body that is no object is malformed as far as its closing tag, or else all there will be.
        """
        body = self._buffer[:CALL_LIMIT]
        last = last or len(body) == CALL_LIMIT
        start = _after_fence(body)
        if start is None and not last:
            return  # it cannot be told yet
        end = _object_end(body, start or 0)
        if end is None and not last:
            return
        if end is None or end <= 0:
            closed_at = -end if end else body.find(CALL_END)
            closed = closed_at >= 0
            yield Malformed((body[:closed_at] if closed else body).strip()[:RAW_LIMIT])
            self._buffer = self._buffer[closed_at:] if closed else ""
            self._state = ReaderState.AFTER if closed else ReaderState.OVER
            return
        self._fenced = self._fenced or FENCE in body[: start or 0]
        piece = read_call(body[start or 0 : end])
        yield piece if piece is not None else Malformed(body[:end].strip()[:RAW_LIMIT])
        self._buffer, self._state = self._buffer[end:], ReaderState.AFTER

    def _fence(self, *, last: bool) -> Iterator[Piece]:
        """Hold a code block back while it may be a call to a known tool; otherwise it is words."""
        body = self._buffer[:CALL_LIMIT]
        last = last or len(body) == CALL_LIMIT
        start = _after_fence(body)
        end: int | None = -1
        if start is not None and body[start : start + 1] == "{" and self._tools:
            end = _object_end(body, start)
        if (start is None or end is None) and not last:
            return
        call = read_call(body[start:end], strict=True) if end and end > 0 else None
        if call is None or call.name not in self._tools:
            self._state = ReaderState.CODE
            yield from self._released(len(FENCE))
            return
        yield call
        self._buffer, self._fenced, self._state = self._buffer[end:], True, ReaderState.AFTER

    def _after(self, *, last: bool) -> None:
        """Skip what closes a call and white space, and begin further calls."""
        rest = self._buffer.lstrip()
        self._buffer = rest
        if rest.startswith(CALL_END):
            self._buffer = rest[len(CALL_END) :]
        elif rest.startswith(FENCE) and self._fenced:
            self._buffer, self._fenced = rest[len(FENCE) :], False
        elif rest.startswith(CALL):
            self._begin_call()
        elif rest and (last or _held(rest, (CALL_END, FENCE, CALL)) != len(rest)):
            self._state = ReaderState.OVER


def _object_end(text: str, start: int) -> int | None:
    """Return the position after the JSON object, or minus that of `CALL_END` when it comes first; None without either.

    A text that does not begin with an object ends at its closing tag.
    """
    if text[start : start + 1] != "{":
        found = text.find(CALL_END, start)
        return -found if found >= 0 else None
    depth = 0
    for mark in _MARKS.finditer(text, start):
        if mark[0] == CALL_END:
            return -mark.start()
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end()
    return None


def read_call(text: str, *, strict: bool = False) -> ParsedCall | None:
    """Return the call that a JSON object describes, or None. A strict call has no other fields."""
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str) or not name.strip():
        return None
    field = next((each for each in FIELDS if each in value), FIELDS[0])
    if strict and set(value) - {OBJECTIVE} != {"name", field}:
        return None
    arguments = value.get(field, {})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ParsedCall(name.strip(), written)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _after_fence(body: str) -> int | None:
    """Return where the object begins, after white space and a fence's line; None when more text is needed.

    A fence of another kind counts as no fence.
    """
    start = len(body) - len(body.lstrip())
    rest = body[start:]
    if not rest or FENCE.startswith(rest):
        return None
    if not rest.startswith(FENCE):
        return start
    head = rest[len(FENCE) : len(FENCE) + FENCE_LINE_LIMIT]
    label = re.split(r"[\n{]", head, maxsplit=1)[0]
    if label == head:
        return None if len(head) < FENCE_LINE_LIMIT else start
    if label.strip().lower() not in FENCE_KINDS:
        return start
    inner = rest[len(FENCE) + len(label) :].lstrip()
    return len(body) - len(inner) if inner else None


def _first(text: str, openers: tuple[str, ...]) -> tuple[int, str]:
    """Return the position of the first opener and the opener; the end and "" when there is none."""
    found = [(at, opener) for opener in openers if (at := text.find(opener)) >= 0]
    return min(found, default=(len(text), ""))


def _held(text: str, openers: tuple[str, ...]) -> int:
    """Return how many characters at the end of `text` may be the beginning of an opener."""
    longest = max(map(len, openers)) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(opener.startswith(text[-size:]) and size < len(opener) for opener in openers):
            return size
    return 0


def _joined(pieces: Iterator[Piece]) -> list[Piece]:
    """Return the pieces with successive words joined."""
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, TextDelta) and joined and isinstance(before := joined[-1], TextDelta):
            joined[-1] = TextDelta(before.text + piece.text)
        else:
            joined.append(piece)
    return joined
