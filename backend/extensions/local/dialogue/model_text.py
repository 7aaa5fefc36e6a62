"""This module turns the streamed text of a language model into spoken words and tool calls. Pure.

Models write text that must not be spoken: thoughts between tags, code, and, if their server does not read calls, tool
calls as text. The forms read here are those that the chat templates of Qwen and Hermes (`<tool_call>`), Mistral
(`[TOOL_CALLS]`), and Llama (`<|python_tag|>`, or a message that is one JSON object) ask their models for.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from backend.extensions.local.dialogue.wording import SENTENCE_END, spoken
from backend.realtime.serving.parts import Call

HIDDEN_LIMIT = 20_000
"""The most characters of one tool call; a longer text is none."""
LONGEST_SENTENCE = 280
"""The most characters of a sentence; a longer one is divided at its last comma or blank, so that speech can begin."""
_THOUGHTS = ("think", "thinking", "thought", "reasoning", "reflection")
_CALLS = ("tool_call", "function_call", "tool_calls")
_CLOSING = (
    {f"<{name}>": f"</{name}>" for name in (*_THOUGHTS, *_CALLS)}
    | {"[TOOL_CALLS]": "", "<|python_tag|>": "<|eom_id|>", "```": "```"}
    | {f"</{name}>": None for name in _THOUGHTS}
)
"""The opening tag of an unspoken part → its closing tag; empty: the end of the answer; None: it closes by itself."""
_OPENING = re.compile("|".join(re.escape(tag) for tag in _CLOSING), re.IGNORECASE)
_LONGEST_TAG = max(map(len, _CLOSING))
_LABEL = re.compile(r"^\s*(?:json|python)?\s*", re.IGNORECASE)


def calls_in(text: str, names: frozenset[str]) -> list[Call]:
    """Return the calls in `text`, the JSON of one or several, if their functions have one of these names."""
    decoder, calls, at = json.JSONDecoder(), list[Call](), _LABEL.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        for each in value if isinstance(value, list) else [value]:
            if (call := _call_of(each, names)) is not None:
                calls.append(call)
        at += len(text[at:]) - len(text[at:].lstrip(" \n\t;,"))
    return calls


def _call_of(value: Any, names: frozenset[str]) -> Call | None:
    function = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(function, dict):
        return None
    name, given = function.get("name"), function.get("arguments", function.get("parameters", {}))
    if name not in names:
        return None
    return Call(str(name), given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


@dataclass
class ModelText:
    """Turns the deltas of an answer into sentences and calls. `names` are the names of the offered functions."""

    names: frozenset[str] = frozenset()
    _raw: str = field(default="", repr=False)
    """Text that may or may not be spoken."""
    _speech: str = field(default="", repr=False)
    """The beginning of a sentence."""
    _closing: str | None = field(default=None, repr=False)
    _opening: str = field(default="", repr=False)
    _begun: bool = field(default=False, repr=False)

    def feed(self, text: str) -> Iterator[str | Call]:
        """Yield the sentences and calls that `text` completes."""
        self._raw += text
        if not self._begun and self._raw.strip():
            self._begun = True
            if self.names and self._raw.lstrip().startswith(("{", "[{")):
                self._opening, self._closing = "{", ""
        while self._raw:
            if self._closing is None:
                if not self._open():
                    break
            elif (end := self._raw.find(self._closing)) >= 0 and self._closing:
                hidden, self._raw = self._raw[:end], self._raw[end + len(self._closing) :]
                self._closing = None
                yield from self._calls(hidden)
            else:
                self._bound()
                break
        yield from self._sentences()

    def finish(self) -> Iterator[str | Call]:
        """Yield the rest at the end of the answer."""
        if self._closing is None:
            self._speech += self._raw
        else:
            yield from self._calls(self._raw)
        self._raw = ""
        yield from self._sentences()
        if rest := spoken(self._speech):
            yield rest
        self._speech = ""

    def _open(self) -> bool:
        """Move spoken text out, up to a hidden part; return False if the rest has to wait for more."""
        found = _OPENING.search(self._raw)
        if found is None:
            keep = _may_begin_a_tag(self._raw)
            self._speech, self._raw = self._speech + self._raw[:keep], self._raw[keep:]
            return False
        self._speech += self._raw[: found.start()]
        self._raw = self._raw[found.end() :]
        self._opening = found[0].lower() if found[0].startswith("<") else found[0]
        self._closing = _CLOSING.get(found[0], _CLOSING.get(self._opening))
        if self._closing is None:  # the end of thoughts that began in the server's template
            self._speech = ""
        return True

    def _bound(self) -> None:
        """Drop endless thoughts, except for the beginning of a tag that may close them."""
        if len(self._raw) > HIDDEN_LIMIT or self._opening.strip("<>") in _THOUGHTS:
            self._raw = self._raw[len(self._raw) - len(self._closing or "") :]

    def _calls(self, hidden: str) -> list[Call]:
        return [] if self._opening.strip("<>") in _THOUGHTS else calls_in(hidden, self.names)

    def _sentences(self) -> Iterator[str]:
        while found := SENTENCE_END.search(self._speech):
            sentence, self._speech = self._speech[: found.end()], self._speech[found.end() :]
            if words := spoken(sentence):
                yield words
        if len(self._speech) > LONGEST_SENTENCE:
            cut = self._speech.rfind(", ", 0, LONGEST_SENTENCE) + 1 or self._speech.rfind(" ", 0, LONGEST_SENTENCE)
            if cut > 0:
                part, self._speech = self._speech[:cut], self._speech[cut:]
                yield spoken(part)


def _may_begin_a_tag(text: str) -> int:
    """Return the index at which the end of `text` may begin a tag; the length of `text` if there is none."""
    for start in range(max(0, len(text) - _LONGEST_TAG + 1), len(text)):
        tail = text[start:].lower()
        if any(tag.lower().startswith(tail) for tag in _CLOSING):
            return start
    return len(text)
