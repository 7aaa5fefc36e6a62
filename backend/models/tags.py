"""The parser for the output of a model without native tool calls: words, and calls between tags. Pure and incremental.

    output  = { words | hidden | call } [ words ]
    call    = "<function_call>" object "</function_call>"     the closing tag may be missing
    object  = {"name": "…", "arguments": {…}}                 JSON; understood, too: "args" and "parameters"
    hidden  = "<think>" … "</think>" | "<function_result>" … "</function_result>"
            | "<function_call_result>" … "</function_call_result>"

    WORDS ──opener──▶ CALL ──object ends──▶ AFTER ──another call──▶ CALL
      │ ▲                                     └─────anything else──▶ OVER
      └─┴──▶ HIDDEN     thoughts, and results the model invents

Text after a call is written as if its result were known, so all of it is dropped: words as well as further calls. Calls
that follow each other with only white space between them are all made. A call that cannot be parsed becomes
`Malformed`, never words. However the text is cut into pieces, the result is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NoReturn

from backend.models.base import TextDelta

CALL, CALL_END = "<function_call>", "</function_call>"
RESULT, RESULT_END = "<function_result", "</function_result>"
CALL_RESULT, CALL_RESULT_END = "<function_call_result", "</function_call_result>"
THINK, THINK_END = "<think>", "</think>"
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
    HIDDEN = auto()
    CALL = auto()
    AFTER = auto()
    OVER = auto()


FIELDS = ("arguments", "parameters", "args")
"""Names of the field with a call's arguments."""
CLOSERS = {RESULT: RESULT_END, CALL_RESULT: CALL_RESULT_END, THINK: THINK_END}
"""The tags that hide text, and the tags that end it."""
OPENERS = (CALL, *CLOSERS)
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}]|' + CALL_END, re.DOTALL)
"""Strings, the braces outside them, and the tag that ends a call."""


class TagReader:
    """An incremental parser: `feed` it the model's output, then `finish` it."""

    def __init__(self) -> None:
        self._state = ReaderState.WORDS
        self._buffer = ""
        self._closer = ""

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
                case ReaderState.WORDS:
                    yield from self._words(last=last)
                case ReaderState.HIDDEN:
                    self._hidden()
                case ReaderState.CALL:
                    yield from self._call(last=last)
                case ReaderState.AFTER:
                    self._after(last=last)
                case ReaderState.OVER:
                    self._buffer = ""
            if (self._state, len(self._buffer)) == before:
                return

    def _words(self, *, last: bool) -> Iterator[Piece]:
        found = [(at, opener) for opener in OPENERS if (at := self._buffer.find(opener)) >= 0]
        at, opener = min(found, default=(len(self._buffer) - (0 if last else _held(self._buffer, OPENERS)), ""))
        if at:
            yield TextDelta(self._buffer[:at])
        self._buffer = self._buffer[at:]
        if opener == CALL:
            self._begin_call()
        elif opener:
            self._closer, self._state = CLOSERS[opener], ReaderState.HIDDEN

    def _hidden(self) -> None:
        _, closed, behind = self._buffer.partition(self._closer)
        if closed:
            self._buffer, self._state = behind, ReaderState.WORDS
        else:
            self._buffer = self._buffer[len(self._buffer) - _held(self._buffer, (self._closer,)) :]

    def _begin_call(self) -> None:
        self._buffer, self._state = self._buffer[len(CALL) :], ReaderState.CALL

    def _call(self, *, last: bool) -> Iterator[Piece]:
        """Read the object between the tags. Anything else is malformed up to its closing tag, or to the end."""
        body = self._buffer[:CALL_LIMIT]
        last = last or len(body) == CALL_LIMIT
        end, is_object = _end_of(body)
        if end is None and not last:
            return
        read = read_call(body[:end]) if is_object else None
        yield read or Malformed(body[:end].strip()[:RAW_LIMIT])
        self._buffer = "" if end is None else self._buffer[end:]
        self._state = ReaderState.OVER if end is None else ReaderState.AFTER

    def _after(self, *, last: bool) -> None:
        """Skip closing tags and white space, and begin further calls."""
        self._buffer = rest = self._buffer.lstrip()
        if rest.startswith(CALL_END):
            self._buffer = rest[len(CALL_END) :]
        elif rest.startswith(CALL):
            self._begin_call()
        elif rest and (last or _held(rest, (CALL_END, CALL)) != len(rest)):
            self._state = ReaderState.OVER


def _end_of(body: str) -> tuple[int | None, bool]:
    """Return where a call's body ends, None if not yet, and whether an object ends there and not a closing tag."""
    if body.lstrip()[:1] not in ("", "{"):
        found = body.find(CALL_END)
        return (found if found >= 0 else None), False
    depth = 0
    for mark in _MARKS.finditer(body):
        if mark[0] == CALL_END:
            return mark.start(), False
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end(), True
    return None, False


def read_call(text: str) -> ParsedCall | None:
    """Return the call that a JSON object describes, or None."""
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str) or not name.strip():
        return None
    arguments: Any = next((value[each] for each in FIELDS if each in value), {})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ParsedCall(name.strip(), written)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


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
