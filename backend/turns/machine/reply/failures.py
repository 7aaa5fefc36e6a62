"""The rules for replies that fail or break off: the server asks again, has them continued, or apologises.

what happened                           sounded   remedy
-------------------------------------   -------   --------------------------------------------------------
refused, overdue, failed, incomplete    no        asked again once, then an apology
... overdue a second time               no        asked again of another provider, where there is one
... for a rate limit                    no        asked again after the time the provider names, with a word
failed, cut at the token limit          yes       continued once, where the model stopped, if that is known
... a second time, or by a filter       yes       an apology
a promise, and no call of a tool        yes       asked again once: the model is reminded of its promise
any of these, but a tool was called     either    none: the tool's answer follows
any of these, it was not asked for       either    none
"""

import json

from backend.page_events import ReplyFailed, ReplyRemedy
from backend.turns import commands as do
from backend.turns.commands import Clip, Purpose
from backend.turns.limits import RETRY_AFTER_S
from backend.turns.machine.actions import apologise, leave_mute, play_clip
from backend.turns.machine.floor.playback import heard_out
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.reply.state import ReplyInFlight
from backend.turns.machine.state import State
from backend.turns.promises import is_promise
from backend.turns.value_object import ValueObject

MAX_ATTEMPTS = 2
"""The most attempts for a reply that comes to nothing or breaks off."""
MAX_WAITS = 3
"""The most times in a row that a rate limit is waited out."""
LONGEST_WAIT_S = 20.0
"""The longest wait for a rate limit; for a longer one the server apologises."""
MOMENT_FROM_S = 1.5
"""The shortest wait before which the caller hears that it takes a moment."""
ASKED_FOR = (Purpose.ANSWER, Purpose.RESULT)
BROKE_OFF = "Your reply broke off after you had said: {words} Go on from there, briefly, and repeat nothing."
BROKE_OFF_SOMEWHERE = "Your reply broke off while it was heard; it is not known where. Answer once more, briefly."
"""The note for the model where the provider sends a reply's words only at its end."""
PROMISED = "You said {words} but called no tool. Do it now: call the tool, or answer. Do not announce it again."
FILTERED = "content_filter"


class Failure(ValueObject):
    """Why a reply did not come whole: the provider's status and reason, and the wait it asks for, in seconds."""

    status: str
    reason: str
    retry_after_s: float = 0.0


def came_to_nothing(s: State, reply: ReplyInFlight, failure: Failure, now: float) -> None:
    """Retry, apologise or say goodbye ourselves for a reply without sound or tool call."""
    _report(s, reply, failure, _replace(s, reply, failure, now))
    if not s.floor.playing and s.floor.holder is Floor.ASSISTANT:
        heard_out(s, now)  # what was played while the reply was awaited has been heard


def broke_off(s: State, reply: ReplyInFlight, failure: Failure, now: float) -> None:
    """Ask the model to continue a reply that was partly heard and ended too soon."""
    remedy: ReplyRemedy = "none"
    if reply.purpose in ASKED_FOR and not reply.called:
        words = " ".join(reply.messages.values()).strip()
        note = BROKE_OFF.format(words=_quoted(words)) if words else BROKE_OFF_SOMEWHERE
        remedy = _go_on(s, reply, "" if failure.reason == FILTERED else note, failure, now)
    _report(s, reply, failure, remedy)


def broke_promise(s: State, reply: ReplyInFlight) -> bool:
    """Return whether a complete reply has only announced work, and none is under way."""
    if reply.called or reply.purpose not in ASKED_FOR or s.calls.running(s.floor.turn):
        return False
    return is_promise(list(reply.messages.values())[-1] if reply.messages else "")


def follow_up(s: State, reply: ReplyInFlight, now: float) -> None:
    """Ask the model to do the work that its reply has announced."""
    note = PROMISED.format(words=_quoted(list(reply.messages.values())[-1].strip()))
    failure = Failure("completed", "promise")
    _report(s, reply, failure, _go_on(s, reply, note, failure, now))


def _replace(s: State, reply: ReplyInFlight, failure: Failure, now: float) -> ReplyRemedy:
    if reply.purpose is Purpose.GOODBYE:
        play_clip(s, Clip.GOODBYE)
        return "apologised"
    if reply.purpose not in ASKED_FOR:
        return "none"
    if leave_mute(s, reply.purpose, now):
        return "asked_again"
    if 0 < failure.retry_after_s <= LONGEST_WAIT_S and s.replies.waits < MAX_WAITS:
        s.replies.waits += 1
        s.replies.not_before = now + failure.retry_after_s
        s.replies.wanted[reply.purpose] = reply.attempt
        if failure.retry_after_s >= MOMENT_FROM_S:
            play_clip(s, Clip.MOMENT)
        return "asked_again"
    if reply.attempt < MAX_ATTEMPTS:
        s.replies.not_before = now + RETRY_AFTER_S
        s.replies.wanted[reply.purpose] = reply.attempt + 1
        return "asked_again"
    apologise(s, failure.reason)
    return "apologised"


def _go_on(s: State, reply: ReplyInFlight, note: str, failure: Failure, now: float) -> ReplyRemedy:
    """Ask for another reply after `note`; apologise without a note, after the last attempt, or for a long wait."""
    if not note or reply.attempt >= MAX_ATTEMPTS or failure.retry_after_s > LONGEST_WAIT_S:
        apologise(s, failure.reason)  # a filter would stop the same again, and more would be too late or too much
        return "apologised"
    s.commands.append(do.AddNote(note))
    s.replies.not_before = now + failure.retry_after_s
    s.replies.wanted[reply.purpose] = reply.attempt + 1
    return "continued"


def _report(s: State, reply: ReplyInFlight, failure: Failure, remedy: ReplyRemedy) -> None:
    s.publish(
        ReplyFailed(
            s.floor.turn, reply.purpose.value, failure.status, failure.reason or "unknown", reply.sounded, remedy
        )
    )


def _quoted(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)
