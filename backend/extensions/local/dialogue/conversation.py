"""A conversation up to the assistant's turn, from the Realtime API's items or from chat messages. Pure."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.routing import Routing
from backend.extensions.local.dialogue.understanding import Referral, understand
from backend.realtime.items import Item

Said = tuple[str, str]
"""(role, words)."""
_STATUS = re.compile(r"""\{"status": "[^"]*"\}$""")
"""The output of a call that has no result yet."""


@dataclass(frozen=True, slots=True)
class DialogueContext:
    """A conversation up to the assistant's turn."""

    said: tuple[Said, ...]
    """Everything before the utterances, oldest first."""
    utterances: tuple[str, ...] = ()
    """The caller's words since the last words of another speaker."""
    spoken: bool = False
    """The last utterance came by voice."""
    results: tuple[str, ...] = ()
    """Outputs of functions that the caller has not heard yet."""
    notes: tuple[str, ...] = ()
    """The client's notes for the assistant, oldest first."""
    calls: tuple[str, ...] = ()
    """The arguments of the functions that were called, oldest first."""

    @property
    def newest(self) -> str:
        """The last utterance."""
        return self.utterances[-1] if self.utterances else ""

    @property
    def joined(self) -> str:
        """Return the utterances as one sentence: the recogniser took each for a sentence of its own."""
        *first, last = [each.strip() for each in self.utterances if each.strip()] or [""]
        return " ".join([*(each.rstrip(".?!,") for each in first), last[:1].lower() + last[1:] if first else last])

    @property
    def turn(self) -> int:
        """Return the number of answers so far."""
        return sum(role == "assistant" for role, _ in self.said)

    def last(self, role: str) -> str:
        """Return the last words of that speaker before the utterances; '' if there are none."""
        return next((words for each, words in reversed(self.said) if each == role and words.strip()), "")

    def asked(self, routing: Routing) -> Referral | None:
        """Return the last question that was put to a specialist; None if there was none."""
        for values in map(wording.read, reversed(self.calls)):
            if isinstance(values, dict) and {routing.domain_field, routing.query_field} <= values.keys():
                return Referral(values[routing.domain_field], values[routing.query_field])
        wish = understand(self.last("user"), routing.specialists, general=routing.general)
        return wish if isinstance(wish, Referral) else None


def of_items(items: Sequence[Item]) -> DialogueContext:
    """Return the conversation of a call."""
    newest = max((at for at, item in enumerate(items) if item.role == "user"), default=-1)
    answered = max((at for at, item in enumerate(items) if item.role == "assistant" and item.words), default=-1)
    latest = [*itertools.takewhile(lambda item: item.role == "user", reversed(items[: newest + 1]))][::-1]
    before = items[: newest + 1 - len(latest)]
    return DialogueContext(
        said=tuple((item.role or "", item.words) for item in (*before, *items[newest + 1 :]) if item.words),
        utterances=tuple(item.words for item in latest),
        spoken=bool(latest) and latest[-1].kind == "input_audio",
        results=tuple(filter(None, map(_result, _in_order(items, max(newest, answered) + 1)))),
        notes=tuple(item.words for item in items if item.role == "system"),
        calls=tuple(item.arguments for item in items if item.type == "function_call"),
    )


def of_messages(said: Sequence[Said]) -> DialogueContext:
    """Return the conversation of chat messages, the newest of them the user's."""
    return DialogueContext(tuple(said[:-1]), (said[-1][1],)) if said else DialogueContext(())


def _in_order(items: Sequence[Item], start: int) -> list[Item]:
    """Return the items from `start` on; results stand in the order of their calls, not of their arrival."""
    called = {item.call_id: at for at, item in enumerate(items) if item.type == "function_call"}
    return sorted(items[start:], key=lambda item: called.get(item.call_id, len(items)))


def _result(item: Item) -> str:
    """Return a call's output, or a system note of one; '' for other items, and for an output that is only a status."""
    if item.type == "function_call_output":
        return "" if _STATUS.match(item.output) else item.output
    return item.words if item.role == "system" and item.words.startswith("{") else ""
