"""The parser of output from a model without native tool calls: words, and calls between tags. Pure and incremental.

    output  = { words | hidden | call } [ words ]
    call    = "<function_call>" object "</function_call>"     the closing tag may be missing
    object  = {"name": "…", "arguments": {…}}                 JSON; understood, too: "args" and "parameters"
    hidden  = "<think>" … "</think>" | "<function_result>" … "</function_result>"
            | "<function_call_result>" … "</function_call_result>"

A model writes text after a call as if it knew the result, so all of it is dropped: words as well as further calls.
Calls that follow each other with only white space between them are all made. A call that cannot be parsed becomes one
of `MALFORMED`, never words. The result does not depend on how the text is cut into pieces.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any, NoReturn

from backend.models.base import TextDelta, ToolCall

CALL, CALL_END = "<function_call>", "</function_call>"
RESULT, RESULT_END = "<function_result", "</function_result>"
CALL_RESULT, CALL_RESULT_END = "<function_call_result", "</function_call_result>"
THINK, THINK_END = "<think>", "</think>"
CALL_LIMIT = 16_000
"""The most characters of one call."""
RAW_LIMIT = 2_000
"""The most characters kept of a malformed call."""
MALFORMED = "malformed_call"
"""The name of a call that cannot be parsed, with its text as an argument. No tool has it, so that the call fails."""
FIELDS = ("arguments", "parameters", "args")
"""Names of the field with a call's arguments."""
CLOSERS = {RESULT: RESULT_END, CALL_RESULT: CALL_RESULT_END, THINK: THINK_END}
"""The tags that hide text, and the tags that end it."""
OPENERS = (CALL, *CLOSERS)

Piece = TextDelta | ToolCall


class TagReader:
    """An incremental parser: `feed` it the model's output, then `finish` it."""

    def __init__(self) -> None:
        self._text = ""
        self._called = False
        self.over = False
        """True if all further output is dropped, because the model goes on as if it knew a call's result."""

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain by now."""
        self._text += text
        return list(self._pieces(last=False))

    def finish(self) -> list[Piece]:
        """Return the remaining pieces at the end of the output."""
        pieces = list(self._pieces(last=True))
        self.over = True
        return pieces

    def _pieces(self, *, last: bool) -> Iterator[Piece]:
        """Yield what is certain, and drop it from the text."""
        before = None
        while not self.over and self._text != before:
            before = self._text
            if self._called:
                self._skip_behind_call(last=last)
            else:
                yield from self._words(last=last)
            if self._text.startswith(CALL):
                yield from self._call(last=last)
            elif opener := next(filter(self._text.startswith, CLOSERS), ""):
                self._skip_hidden(opener)

    def _words(self, *, last: bool) -> Iterator[Piece]:
        openers = [at for opener in OPENERS if (at := self._text.find(opener)) >= 0]
        end = min(openers, default=len(self._text) - (0 if last else _held(self._text, OPENERS)))
        if end:
            yield TextDelta(self._text[:end])
        self._text = self._text[end:]

    def _skip_hidden(self, opener: str) -> None:
        closer = CLOSERS[opener]
        hidden, closed, behind = self._text.removeprefix(opener).partition(closer)
        self._text = behind if closed else opener + hidden[1 - len(closer) :]

    def _skip_behind_call(self, *, last: bool) -> None:
        """Skip white space and a closing tag; anything but a further call ends the reading."""
        self._text = self._text.lstrip().removeprefix(CALL_END).lstrip()
        rest = self._text
        undecided = not last and _held(rest, (CALL_END, CALL)) == len(rest)
        # Only white space, tags of calls, and what may become such a tag may stand behind a call.
        self.over = bool(rest) and not rest.startswith((CALL, CALL_END)) and not undecided

    def _call(self, *, last: bool) -> Iterator[Piece]:
        """Parse the object behind the tag; text that is no object by the end is malformed."""
        body = self._text[len(CALL) : len(CALL) + CALL_LIMIT]
        start = len(body) - len(body.lstrip())
        try:
            value, end = _DECODER.raw_decode(body, body.index("{", start, start + 1))
        except (ValueError, RecursionError):
            if not last and len(body) < CALL_LIMIT:
                return
            raw, closed, _ = body.partition(CALL_END)
            value, end = None, len(raw)
            self.over = not closed
        self._called = True
        self._text = self._text[len(CALL) + end :]
        yield _call_of(value) or _new_call(MALFORMED, {"text": body[:end].strip()[:RAW_LIMIT]})


def _call_of(value: Any) -> ToolCall | None:
    """Return the call that a JSON value describes, or None."""
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str) or not name.strip():
        return None
    return _new_call(name.strip(), next((value[each] for each in FIELDS if each in value), {}))


def _new_call(name: str, arguments: Any) -> ToolCall:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(f"call_{secrets.token_hex(8)}", name, written)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _held(text: str, openers: tuple[str, ...]) -> int:
    """Return how many characters at the end of `text` may be the beginning of an opener."""
    longest = max(map(len, openers)) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(opener.startswith(text[-size:]) and size < len(opener) for opener in openers):
            return size
    return 0
