"""The rules for late answers, which are notices under the ids of their calls: see the table in `turns.turn`."""

import json
import re

from backend import page_events as page
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.grammar import classify, words_of
from backend.turns.languages import ENGLISH
from backend.turns.machine.state import State
from backend.turns.machine.tool_calls import ToolCallEntry, ToolCallState

DISMISSED = json.dumps({"cancelled": "The caller has cancelled this question. At most say that it is all right."})
"""The result that the Responder gets for a dismissed call."""
SAME_SHARE = 0.7
"""The share of words in common from which two questions count as the same."""
_FUNCTION_WORDS = frozenset(
    ("determiner", "preposition", "auxiliary", "subject", "polite", "question word", "conjunction")
)
_NEVER_MIND = ENGLISH.pattern("dismissal", "never_mind", re.IGNORECASE)


def announce_later(s: State, call: ToolCallEntry, event: ev.ThinkerFinished) -> bool:
    """Queue a late answer as a notice; return False if it has no words for that, is off, or was asked for again."""
    expires_at = call.since + s.limits.late_answer_max_s
    asked_again = any(later.since > call.since and _ask_the_same(call, later) for later in s.calls.entries.values())
    if not event.late or not s.limits.late_answer_max_s or asked_again:
        return False  # no words to speak, switched off, or the other call will answer
    s.commands += s.notices.arrive(call.call, event.late, event.interruptible, late_answer=True, expires_at=expires_at)
    return True


def supersede(s: State, call: ToolCallEntry) -> None:
    """Drop the late answers to a question that `call` asks again."""
    for other in s.notices.late_answers():
        earlier = s.calls.entries.get(other)
        if earlier and _ask_the_same(earlier, call):
            s.notices.withdraw(other)


def drop_if_called_off(s: State, words: str) -> None:
    """If the caller says "never mind", stop the work for earlier turns and drop the late answers."""
    if not _NEVER_MIND.match(words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        return
    for other in s.notices.late_answers():
        s.notices.withdraw(other)
    for call in s.calls.running():
        if call.turn < s.floor.turn:
            dismiss(s, call)


def dismiss(s: State, call: ToolCallEntry) -> None:
    """Stop a Thinker, and answer its call with a note that it was stopped."""
    call.state = ToolCallState.SETTLED
    s.commands.append(do.CancelThinker(call.call))
    if not call.orphaned:
        s.commands.append(do.SubmitResult(call.call, DISMISSED, silent=True))
    s.publish(page.ThinkerChanged(call.call, "cancelled"))


def note_spoken_answers(s: State) -> None:
    """Report the late answers that were spoken as complete."""
    for spoken in s.notices.take_spoken_answers():
        call = s.calls.entries.get(spoken)
        if call:
            call.state = ToolCallState.SETTLED
        s.publish(page.ThinkerChanged(spoken, "complete"))


def _asked_in(arguments: str) -> frozenset[str]:
    """Return the content words of a tool call's question; none for unreadable arguments."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return frozenset()
    values = [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
    return frozenset(word for word in words_of(" ".join(values)) if classify(word) not in _FUNCTION_WORDS)


def _ask_the_same(one: ToolCallEntry, other: ToolCallEntry) -> bool:
    words, others = _asked_in(one.arguments), _asked_in(other.arguments)
    return bool(words) and len(words & others) >= SAME_SHARE * len(words | others)
