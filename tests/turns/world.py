"""Random actors on the turn machine: an unsteady caller, a faulty provider, Thinkers, a connection that breaks.

The rules of `surroundings` have to hold for all their actions, in any order.
"""

from __future__ import annotations

from collections.abc import Callable

from backend.page_events import ThinkerChanged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.pending_turn.waiting import HINTED_S
from backend.turns.utterances import UtteranceKind
from tests.turns.surroundings import MS, ProviderReply, Surroundings

WORDS = ("", "hello", "what is the weather in", "in Seattle", "um", "yes", "I want to", "five five five", "no, I mean")


class World(Surroundings):
    """Runs a machine against random actions."""

    def act(self, choice: int, amount: int) -> None:
        """Take one action; an impossible one does nothing."""
        if not self.closed:
            ACTIONS[choice % len(ACTIONS)](self, amount)

    def wait(self, amount: int) -> None:
        self.pass_time((0.02, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 16.0)[amount % 8])

    def speak(self, amount: int) -> None:
        if not self.speaking:
            self.speaking, self.paused, self.voiced_ms, self.onset = True, False, 0, self.now
            self.owed_since = None
            self.tell(ev.SpeechStarted())
            self.hint(1)
        elif amount % 4 == 0:  # the caller's program commits the unfinished input
            self.tell(ev.InputCommitWanted())

    def hint(self, amount: int) -> None:
        """A voice may be beginning, or the hint was wrong; an onset decides it."""
        hinted = amount % 2 == 0 and not self.speaking
        if hinted is not self.hinted and not self.closed:
            self.hinted = True  # the machine may still be turned down while it hears of the end
            before = self.machine.deadline()
            self.tell(ev.OnsetHinted(hinted))
            self.hinted = hinted
            after = self.machine.deadline()
            if before is not None and after is not None:
                longer = HINTED_S if hinted else 0.0
                assert after <= before + longer + 1e-9, "a hint delayed something for too long"

    def pause(self, amount: int) -> None:
        """Fall silent for a moment; in silence, a sound resembles the beginning of a voice."""
        if not self.speaking:
            self.hint(amount)
        elif not self.paused:
            self.voiced_ms += round((self.now - self.onset) * 1000)
            self.paused = True
            self.tell(ev.SpeechPaused(self.voiced_ms))

    def go_on(self, amount: int) -> None:
        if self.speaking and self.paused:
            self.paused, self.onset = False, self.now
            self.tell(ev.SpeechResumed(self.voiced_ms))

    def fall_silent(self, amount: int) -> None:
        if self.speaking:
            self.pause(amount)
            self.pass_time(0.3)
            if not self.closed:
                self.speaking = False
                self.tell(ev.SpeechStopped(self.voiced_ms, 300))

    def type_text(self, amount: int) -> None:
        self.owed_since = None if self.speaking else self.now
        self.tell(ev.TextTyped("and tomorrow?"))

    def transcribe(self, amount: int) -> None:
        """The provider makes items of the segments, and transcribes one; now and then it makes one unasked."""
        if not self.online:
            return
        if self.commits:
            self.commits -= 1
            self.uncommitted_items.append(f"user-{len(self.said)}")
            self.tell(ev.InputCommitted(self.uncommitted_items[-1]))
        if self.uncommitted_items and amount % 5:
            item, failed = self.uncommitted_items.pop(0), amount % 13 == 0
            self.tell(ev.UserTranscribed(item, "" if failed else WORDS[amount % len(WORDS)], failed))
        elif not amount % 11:
            self.tell(ev.InputCommitted(f"user-{amount}"))
            self.tell(ev.UserTranscribed(f"user-{amount}", "hello" if amount % 3 else ""))

    def read(self, amount: int) -> None:
        """The classifier answers, perhaps late or with nothing; or a model rates the end of a sentence."""
        if self.readings:
            self.readings -= 1
            kind = (*UtteranceKind, None)[amount % 6]
            self.tell(ev.UtteranceRead(kind, "yeah" if kind else "", partial=amount % 4 == 0))
        elif self.estimates:
            self.tell(ev.SentenceEndEstimated(self.estimates.pop(), -0.5 - amount % 3))

    def muffle(self, amount: int) -> None:
        if self.speaking:
            self.tell(ev.VoiceOffAxis(bool(amount % 3)))

    def switch_interruptions(self, amount: int) -> None:
        if amount % 4 == 0:
            self.tell(ev.InterruptionsSwitched(bool(amount % 8)))

    def stay_silent(self, amount: int) -> None:
        reply = self._streaming()
        if reply:
            reply.calls += 1
            call = f"call-{reply.id}-{reply.calls}"
            self.called.add(call)
            self.tell(ev.ToolCalled(reply.id, call, do.WAIT_FOR_USER, "{}"))

    def start_reply(self, amount: int) -> None:
        for reply in self.replies:
            if reply.state == "requested" and self.online:
                only = sum(r.state == "requested" for r in self.replies) == 1
                reply.state = "streaming"
                self.tell(ev.ReplyStarted(reply.id, None if only and not amount % 4 else reply.request))
                return

    def send_audio(self, amount: int) -> None:
        reply = self._streaming()
        if reply:
            reply.items = max(reply.items, amount % 2)  # a provider does not go back to an item before
            item = f"{reply.id}-item-{reply.items}"
            played_before = len(self.said)
            self.tell(ev.ReplyText(reply.id, item, "some words "))
            self.tell(ev.ReplyAudio(reply.id, item, b"\0" * MS * (20 + 40 * (amount % 60))))
            if reply.cancelled:
                late = [c for c in self.said[played_before:] if isinstance(c, do.Play)]
                assert not late, "late audio of a cancelled reply was played"

    def call_tool(self, amount: int) -> None:
        reply = self._streaming()
        if reply:
            reply.calls += 1
            call = f"call-{reply.id}-{reply.calls if amount % 5 else 1}"
            self.called.add(call)
            self.tell(ev.ToolCalled(reply.id, call, "route_to_thinker", "{}"))

    def finish_reply(self, amount: int) -> None:
        reply = self._streaming()
        if reply:
            reply.state = "done"
            statuses: tuple[ev.ReplyStatus, ...] = ("completed", "completed", "failed", "incomplete")
            self.tell(ev.ReplyFinished(reply.id, "cancelled" if reply.cancelled else statuses[amount % 4]))

    def refuse(self, amount: int) -> None:
        for reply in self.replies:
            if reply.state == "requested" and reply.request and self.online:
                reply.state = "done"
                code = "conversation_already_has_active_response" if amount % 2 else "server_error"
                self.tell(ev.ReplyRefused(reply.request, code))
                return

    def speak_unasked(self, amount: int) -> None:
        if self.online:
            self.made += 1
            self.replies.append(ProviderReply(None, f"resp-{self.made}", "streaming"))
            self.tell(ev.ReplyStarted(f"resp-{self.made}", "somebody-else"))

    def think(self, amount: int) -> None:
        if self.thinkers:
            call = list(self.thinkers)[amount % len(self.thinkers)]
            asked_in = self.thinkers.pop(call)
            self.thought_until = self.now
            self.tell(ev.ThinkerFinished(call, "{}") if amount % 3 else ev.ThinkerFailed(call, "no answer"))
            if not amount % 7:
                self.tell(ev.ThinkerFinished(call, "{}"))
            assert asked_in <= self.machine.turn

    def dismiss(self, amount: int) -> None:
        call = [*sorted(self.called), "call-nobody-made"][amount % (len(self.called) + 1)]
        was_at_work = call in self.thinkers
        self.tell(ev.ThinkerDismissed(call))
        assert call not in self.thinkers, "a dismissed Thinker works on"
        assert not was_at_work or call in self.answered or call in self.orphans, "a dismissed call was left open"

    def want_late_answer(self, amount: int) -> None:
        call = [*sorted(self.stale), "call-nobody-made"][amount % (len(self.stale) + 1)]
        before = len(self.said)
        turn = self.machine.turn
        self.tell(ev.LateAnswerWanted(call, call))
        taken = do.Publish(ThinkerChanged(call, "complete")) in self.said[before:]
        assert not taken or call in self.called, "an unknown call is answered"
        if taken and call in self.stale:
            self.late[call] = turn

    def lose_line(self, amount: int) -> None:
        if self.online and amount % 3 == 0:
            self.online = False
            self.orphans |= self.called - set(self.answered)
            for reply in self.replies:
                reply.state = "done"
            self.tell(ev.ResponderLost("gone"))

    def restore_line(self, amount: int) -> None:
        if not self.online:
            self.online = True
            self.tell(ev.ResponderRestored())

    def give_up_line(self, amount: int) -> None:
        if not self.online and amount % 8 == 0:
            self.tell(ev.ResponderGone("gone"))

    def notice(self, amount: int) -> None:
        name = (
            f"notice-{len(self.noticed)}"
            if amount % 5 or not self.noticed
            else self.noticed[amount % len(self.noticed)]
        )
        if name not in self.noticed:
            self.noticed.append(name)
        self.withdrawn.discard(name)
        self.tell(ev.NoticeArrived(name, "It is done." * (1 + amount % 40)))

    def withdraw(self, amount: int) -> None:
        if self.noticed and amount % 3 == 0:
            name = self.noticed[amount % len(self.noticed)]
            if name not in self.heard:
                self.withdrawn.add(name)
            self.tell(ev.NoticeWithdrawn(name))

    def close(self, amount: int) -> None:
        if amount % 16 == 0:
            self.tell(ev.TransportClosed("disconnected"))
        elif amount % 16 == 1:
            self.tell(ev.HangUpRequested("shutdown"))
        elif amount % 16 == 2:
            self.tell(ev.HangUpRequested("max_minutes"))

    def _streaming(self) -> ProviderReply | None:
        return next((r for r in self.replies if r.state == "streaming"), None) if self.online else None

    # --- the end ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """All actors behave from here on: nothing may stay open."""
        self.fall_silent(0)
        self.restore_line(0)
        for _ in range(20):
            at_rest = self.machine.floor is Floor.LISTENING and not self.called - set(self.answered)
            if self.closed or (at_rest and not self.late):
                self.settle_notices()
                return
            self.start_reply(1)
            self.send_audio(1)
            self.finish_reply(0)
            while self.thinkers and not self.closed:
                self.think(1)
            self.pass_time(3.0)
        still_open = self.called - set(self.answered) - self.orphans
        assert self.closed or not still_open, f"calls never answered: {still_open}"
        assert self.closed or not self.late, f"requested and never spoken: {self.late}"
        assert self.closed or self.machine.floor is Floor.LISTENING

    def begin_with_news(self, amount: int) -> None:
        """The caller has been answered, and a notice is being spoken: random actions rarely lead there."""
        self.type_text(0)
        self.start_reply(1)
        self.send_audio(1)
        self.finish_reply(0)
        for number in range(1 + amount % 4):
            self.notice(6 + 5 * number)
        self.pass_time(2.0)
        self.start_reply(1)
        self.send_audio(1 + amount)
        if amount % 3:
            self.finish_reply(0)

    def settle_notices(self) -> None:
        """Let all remaining notices be spoken, after the caller has said something."""
        self.type_text(0)
        for _ in range(30):
            if self.closed or self.is_all_told():
                break
            self.start_reply(1)
            self.send_audio(1)
            self.finish_reply(0)
            while self.thinkers and not self.closed:
                self.think(1)
            self.pass_time(3.0)
        assert self.closed or self.is_all_told(), f"notices never spoken: {self.machine!r}"

    def is_all_told(self) -> bool:
        """Whether no notice is left, except those that failed twice and wait for the next call."""
        for_next_call = set(self.machine.notices.for_next_call)
        assert not for_next_call & {*self.heard, *self.withdrawn}
        return {*self.noticed} == {*self.heard, *self.withdrawn, *for_next_call}


ACTIONS: tuple[Callable[[World, int], None], ...] = (
    World.wait,
    World.speak,
    World.pause,
    World.go_on,
    World.fall_silent,
    World.wait,
    World.start_reply,
    World.send_audio,
    World.send_audio,
    World.finish_reply,
    World.call_tool,
    World.think,
    World.transcribe,
    World.type_text,
    World.refuse,
    World.lose_line,
    World.restore_line,
    World.give_up_line,
    World.speak_unasked,
    World.close,
    World.fall_silent,
    World.start_reply,
    World.wait,
    World.send_audio,
    World.dismiss,
    World.want_late_answer,
    World.think,
    World.want_late_answer,
    World.notice,
    World.withdraw,
    World.read,
    World.transcribe,
    World.stay_silent,
    World.switch_interruptions,
    World.pause,
    World.muffle,
)
