"""The moves that several rules share: hold a reply, stop a reply, leave a mute provider, hang up."""

from backend import page_events as page
from backend.turns import commands as do
from backend.turns.commands import Clip, Purpose
from backend.turns.limits import RETRY_AFTER_S
from backend.turns.machine.barge_in.state import BargeIn, SuspendedReply
from backend.turns.machine.floor.state import Floor, Playback
from backend.turns.machine.late_answers import drop_if_called_off
from backend.turns.machine.pending_turn import early_words
from backend.turns.machine.pending_turn.state import Standing, TurnWords
from backend.turns.machine.reply.state import Phase
from backend.turns.machine.state import State
from backend.turns.spoken import SpokenItem

MAX_UNTRANSCRIBED = 4
"""The most turns that wait for their words at the same time; the words of older turns are given up."""
MUTE_AFTER = 2
"""Replies in a row without a sound after which a provider counts as mute, where there is another."""


def hold(s: State) -> None:
    """Turn down the reply that plays, or hold it back before it begins, until the voice's purpose is clear."""
    s.pass_floor(Floor.HELD)
    if s.may_duck:
        s.barge_in.phase = BargeIn.DUCKED
        s.commands.append(do.DuckPlayback())
    else:
        end_hint(s)
        s.barge_in.phase = BargeIn.HELD
        s.commands.append(do.HoldPlayback())


def end_hint(s: State) -> None:
    """Turn playback up again that was turned down for an onset hint."""
    if s.barge_in.phase is BargeIn.HINTED:
        s.barge_in.phase = BargeIn.NONE
        s.commands.append(do.UnduckPlayback())


def release_hold(s: State) -> None:
    """Resume playback as it was: the voice was only a cough or a murmur."""
    s.commands.append(do.UnduckPlayback() if s.barge_in.phase is BargeIn.DUCKED else do.ResumePlayback())
    s.pass_floor(Floor.ASSISTANT if s.floor.playing else Floor.LISTENING)


def forget_words(s: State, words: TurnWords) -> None:
    """Delete the items of words that were no turn."""
    s.pending.words = [each for each in s.pending.words if each is not words]
    s.commands += [do.DeleteItem(item) for item in words.items]


def stop_reply(s: State, now: float, *, suspend: bool = False) -> None:
    """Stop the reply that is being spoken, and drop all wanted ones. With `suspend`, the reply can be brought back."""
    s.replies.wanted.clear()
    cut_short = s.replies.in_flight is not None and s.replies.in_flight.wanted
    cancel_reply(s, now)
    s.floor.playback = Playback.SILENT
    if s.barge_in.phase is BargeIn.HINTED:
        s.barge_in.phase = BargeIn.NONE
    s.barge_in.suspended = SuspendedReply(cut_short) if suspend else None
    s.commands.append(do.FlushPlayback())


def cancel_reply(s: State, now: float) -> None:
    """Make the provider stop generating; what it still sends is dropped."""
    reply = s.replies.in_flight
    if reply and reply.wanted:
        s.commands.append(do.CancelReply(reply.id))
        reply.phase = Phase.CANCELLING
        reply.since = now


def forget_input(s: State) -> None:
    """Discard the audio sent since the last commit; a provider that endpoints still commits it."""
    s.line.missed = False
    early_words.take_back(s)
    if s.limits.endpointing == "local":
        s.commands.append(do.ClearInput())
    else:
        s.pending.discard_commit = True


def settle_words(s: State) -> None:
    """Show and remember the words of turns that are over, as far as they are transcribed."""
    for words in s.pending.words:
        if words.standing is not Standing.OVER or not words.items or not words.complete:
            continue  # more is to come: another segment, an item, a transcript
        fresh = " ".join(text for text in list(words.items.values())[words.remembered :] if text)
        if words.remembered < len(words.items):
            s.publish(page.TranscriptCompleted("user", words.id, words.text))
        words.remembered = len(words.items)
        if fresh:
            s.commands.append(do.Remember("user", fresh))
            drop_if_called_off(s, fresh)
    s.pending.words = [words for words in s.pending.words if words.standing is not Standing.OVER or not words.complete]
    del s.pending.words[:-MAX_UNTRANSCRIBED]


def finish_items(s: State, item: str | None = None) -> list[SpokenItem]:
    """Close `item`, or all items that have begun, of which no more will come; return those that were open."""
    finished = s.replies.items.finish(item)
    for spoken in finished:
        s.publish(page.ReplyWorded(spoken.item, spoken.text.strip()))
    return finished


def leave_mute(s: State, purpose: Purpose, now: float) -> bool:
    """Change to another provider if this one is mute; return False if it is not, or there is no other."""
    if s.replies.unanswered < MUTE_AFTER or s.replies.left >= s.limits.other_providers:
        return False
    s.replies.left += 1
    s.replies.unanswered = 0
    s.replies.not_before = now + RETRY_AFTER_S  # the connection is given up by then
    s.replies.wanted[purpose] = 1
    s.commands.append(do.LeaveResponder())
    return True


def apologise(s: State, why: str) -> None:
    """Play, and show on the page, that there will be no answer."""
    s.publish(page.ErrorShown(f"The reply failed ({why}).", "Ask again; the call goes on.", "no_reply"))
    play_clip(s, Clip.SORRY)


def play_clip(s: State, clip: Clip) -> None:
    """Play one of our recordings, unless the caller has the floor."""
    if not s.floor.may_speak:
        return
    s.floor.begin_playback()
    s.pass_floor(Floor.ASSISTANT)
    s.commands.append(do.PlayClip(clip))
    s.publish(page.TranscriptCompleted("assistant", f"clip-{clip}-{s.floor.turn}", do.CLIP_WORDS[clip]))


def close(s: State, reason: str) -> None:
    """Hang up, and cancel everything that is under way."""
    s.pass_floor(Floor.CLOSED)
    for words in s.pending.words:
        words.standing = Standing.OVER
    settle_words(s)
    s.replies.wanted.clear()
    s.calls.asked_for.clear()
    if s.replies.in_flight and s.replies.in_flight.wanted:
        s.commands.append(do.CancelReply(s.replies.in_flight.id))
    s.replies.in_flight = None
    s.commands.extend(do.CancelThinker(call.call) for call in s.calls.running())
    s.commands.append(do.FlushPlayback())
    s.commands.append(do.HangUp(reason))
