"""A small model of everything around the turn machine: caller, transport, provider, Thinkers and time.

It carries out commands as the real shells do, and checks the rules at every one of them. Random actions make
the caller fickle and the provider faulty; the rules have to hold all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import Clip, Purpose
from backend.conversation.limits import TurnLimits
from backend.conversation.machine.state import Floor
from backend.conversation.machine.thinkers import WAITING
from backend.conversation.notices import HEARD_SHARE
from backend.conversation.page_events import ThinkerChanged
from backend.conversation.turn import TurnMachine
from backend.conversation.utterances import UtteranceKind

WORDS = ("", "hello", "what is the weather in", "in Seattle", "um", "yes", "I want to", "five five five", "no, I mean")
MS = 48
"""Bytes of audio in a millisecond."""


@dataclass(slots=True)
class Queued:
    """One item in the transport's queue."""

    item: str
    left_ms: int
    played_ms: int = 0
    started: bool = False


@dataclass(slots=True)
class ProviderReply:
    """What the provider knows of a reply."""

    request: str | None
    id: str
    state: str = "requested"
    items: int = 0
    cancelled: bool = False
    calls: int = 0
    tells: tuple[str, ...] = ()
    """The notices it is about."""


@dataclass
class World:
    """Runs a machine against random actions."""

    limits: TurnLimits = field(default_factory=TurnLimits)

    def __post_init__(self) -> None:
        self.machine = TurnMachine(self.limits)
        self.now = 100.0
        self.queue: list[Queued] = []
        self.dropped: list[Queued] = []
        """What the last flush dropped."""
        self.held = False
        self.ducked = False
        self.speaking = False
        self.paused = False
        self.voiced_ms = 0
        self.onset = 0.0
        self.replies: list[ProviderReply] = []
        self.made = 0
        self.thinkers: dict[str, int] = {}
        self.thought_until = 0.0
        self.called: set[str] = set()
        self.orphans: set[str] = set()
        self.answered: list[str] = []
        self.stale: set[str] = set()
        self.late: dict[str, int] = {}
        self.handed_in = False
        self.online = True
        self.saying_goodbye = False
        self.closed: str | None = None
        self.owed_since: float | None = None
        self.spoken_results: list[int] = []
        self.said: list[do.Command] = []
        self.noticed: list[str] = []
        self.told: list[str] = []
        self.readings = 0
        self.estimates: list[str] = []
        self.deleted: set[str] = set()
        self.commits = 0
        """Pieces committed of which the provider has made no item yet."""
        self.uncommitted_items: list[str] = []
        self.withdrawn: set[str] = set()
        self.sent_ms: Counter[str] = Counter()
        self.played_ms: Counter[str] = Counter()
        self.heard_anything = False
        self.tell(ev.CallStarted())

    # --- the machine's commands, carried out ----------------------------------------------------------

    def tell(self, event: ev.Event) -> None:
        """Give the machine an event and do what it says."""
        if isinstance(event, ev.ReplyAudio):  # the engine does not set its alarm for it
            before = self.machine.deadline()
            commands = self.machine.receive(event, self.now)
            after = self.machine.deadline()
            assert after is None or (before is not None and after >= before), "sound moved a deadline forward"
        else:
            commands = self.machine.receive(event, self.now)
        self.obey(commands)

    def obey(self, commands: list[do.Command]) -> None:
        """Carry out commands in order; events they cause come after."""
        caused: list[ev.Event] = []
        for command in commands:
            self.said.append(command)
            match command:
                case do.CreateReply(purpose, request):
                    assert not self.handed_in or purpose is Purpose.RESULT, "a late answer was handed in for nothing"
                    self.handed_in = False
                    self._create(purpose, request)
                case do.AddNote(text) if text in self.stale:
                    assert self.online, "a late answer was sent down a broken line"
                    self.late.pop(text, None)
                    self.stale.discard(text)
                    self.handed_in = True
                case do.Publish(ThinkerChanged(call, "stale")):
                    self.stale.add(call)
                    asked_in = self.late.pop(call, None)
                    assert asked_in is None or asked_in < self.machine.turn, "asked for, and forgotten in the same turn"
                case do.CancelReply(reply):
                    self._cancel(reply)
                case do.Play(item, pcm):
                    self._enqueue(item, len(pcm) // MS)
                case do.PlayClip(clip):
                    self.saying_goodbye |= clip in (Clip.GOODBYE, Clip.LOST)
                    self._enqueue(f"clip:{clip}", 1500)
                case do.HoldPlayback():
                    self.held = True
                case do.ResumePlayback():
                    assert self.held, "resumed what was not held"
                    self.held = False
                case do.DuckPlayback():
                    assert self.queue, "turned down what is not playing"
                    self.ducked = True
                case do.UnduckPlayback():
                    assert self.ducked, "turned up what was not turned down"
                    self.ducked = False
                case do.FlushPlayback():
                    caused.append(ev.PlaybackFlushed(tuple(ev.Heard(q.item, q.played_ms) for q in self.queue)))
                    self.dropped = list(self.queue)
                    self.queue.clear()
                    self.held = self.ducked = False
                case do.RestorePlayback(item, played_ms):
                    assert not self.queue, "brought back in front of something else"
                    assert self.machine.floor is Floor.ASSISTANT and (not self.speaking or self.paused), (
                        "brought back over the caller"
                    )
                    self.queue, self.dropped = self.dropped, []
                    if not self.queue:
                        caused.append(ev.PlaybackDrained(item, played_ms))
                case do.ReadUtterance(partial):
                    assert self.speaking and (self.paused or partial), "read what is still being said"
                    self.readings += 1
                case do.EstimateSentenceEnd(words):
                    self.estimates.append(words)
                case do.DeleteItem(item):
                    self.deleted.add(item)
                case do.SubmitResult(call, output):
                    if output == WAITING:
                        self.owed_since = None
                    assert self.online, "a result was sent down a broken line"
                    assert call in self.called, "a call nobody made was answered"
                    assert call not in self.orphans, "a call of a lost connection was answered"
                    assert call not in self.answered, "a call was answered twice"
                    self.answered.append(call)
                case do.RunThinker(call, _, _):
                    assert call not in self.thinkers
                    floors = (Floor.USER, Floor.PAUSING)
                    assert self.machine.floor not in floors, "a Thinker was begun though the caller may go on"
                    self.thinkers[call] = self.machine.turn
                case do.CancelThinker(call):
                    self.thought_until = self.now
                    self.thinkers.pop(call, None)
                case do.CommitInput() | do.AddUserText(_):
                    assert self.online, "the caller's turn was sent down a broken line"
                    self.owed_since = None if self.speaking else self.now
                    self.commits += isinstance(command, do.CommitInput)
                case do.TruncateItem(_, heard_ms):
                    assert heard_ms > 0
                case do.NoticeDelivered(notice):
                    self._note_told(notice)
                case do.HangUp(reason):
                    assert self.closed is None, "hung up twice"
                    self.closed = reason
                case _:
                    pass
        for event in caused:
            self.tell(event)
        self.check()

    def check(self) -> None:
        """What must be true after every step."""
        assert not self.handed_in, "a late answer was handed in, and no reply was asked for"
        if self.machine.floor is not Floor.HELD:
            assert not self.held, f"left on hold with the floor {self.machine.floor}"
            assert not self.ducked, f"left turned down with the floor {self.machine.floor}"
        if self.machine.floor is Floor.PAUSING:
            assert not self.queue, "something sounds though the caller may go on"
        if self.machine.floor is Floor.CLOSED:
            assert self.closed
        assert self.closed is None or self.machine.deadline() is None, "a closed call still has deadlines"

    def _create(self, purpose: Purpose, request: str) -> None:
        assert self.online, "a reply was asked of a broken line"
        if self.machine.floor is Floor.PAUSING:
            assert purpose is Purpose.ANSWER, "something else than the answer was prepared"
            assert not self.speaking or self.paused, "a reply was prepared while the caller speaks"
        else:
            assert self.machine.floor in (Floor.LISTENING, Floor.ASSISTANT), "a reply was asked for over the caller"
        live = [r for r in self.replies if r.request and r.state != "done" and not r.cancelled]
        assert not live, f"two replies overlap: {live}"
        if purpose is Purpose.NOTICE:
            self._check_unasked()
        self.made += 1
        tells = self._being_told() if purpose is Purpose.NOTICE else ()
        self.replies.append(ProviderReply(request, f"resp-{self.made}", tells=tells))

    def _check_unasked(self) -> None:
        """What was not asked for comes after everything else, and only to an ear that is free."""
        assert self.machine.floor is Floor.LISTENING and not self.queue, "a notice was told over something else"
        assert not self.speaking or self.paused, "a notice was told over the caller"
        assert self.owed_since is None, "a notice was told before an answer"
        assert self.machine.turn not in self.thinkers.values(), "a notice was told while a Thinker worked"
        assert self.machine.turn or self.heard_anything, "a notice was told before anything else"
        told = self._being_told()
        assert told, "a reply that tells nothing"
        assert not set(told) & {*self.told, *self.withdrawn}, "told it twice, or what was taken back"

    def _being_told(self) -> tuple[str, ...]:
        reply = self.machine.notices.reply
        return tuple(pending.notice for pending in reply.notices) if reply else ()

    def _note_told(self, notice: str) -> None:
        assert notice not in self.told, "a notice was told twice"
        reply = next(reply for reply in reversed(self.replies) if notice in reply.tells)
        items = [item for item in self.sent_ms if item.startswith(f"{reply.id}-item")]
        sent = sum(self.sent_ms[item] for item in items)
        assert sum(self.played_ms[item] for item in items) >= HEARD_SHARE * sent > 0, "told, but not heard"
        self.told.append(notice)
        self.withdrawn.discard(notice)

    def _cancel(self, reply: str | None) -> None:
        for known in self.replies:
            if known.state != "done" and reply in (None, known.id):
                known.cancelled = True

    def _enqueue(self, item: str, ms: int) -> None:
        floors = (Floor.USER, Floor.PAUSING)
        assert self.machine.floor not in floors, "something was queued while the caller has the floor"
        self.sent_ms[item] += ms
        if self.queue and self.queue[-1].item == item:
            self.queue[-1].left_ms += ms
        else:
            self.queue.append(Queued(item, ms))

    # --- time ------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let time go by in the order things become due: the machine's deadlines and the end of playback."""
        until = self.now + seconds
        for _ in range(500):
            if self.closed:
                return
            due = self.machine.deadline()
            step_to = min(until, max(due, self.now) if due is not None else until, self._next_playback())
            self._play(step_to)
            self.now = step_to
            if due is not None and due <= self.now and not self.closed:
                self.obey(self.machine.expire(self.now))
                again = self.machine.deadline()
                assert again is None or again > self.now, "a deadline that is never met"
            self._check_owed()
            if self.now >= until:
                return
        raise AssertionError("time stands still")

    def _next_playback(self) -> float:
        if self.held or not self.queue:
            return float("inf")
        return self.now + (self.queue[0].left_ms / 1000 if self.queue[0].started else 0)

    def _play(self, until: float) -> None:
        if self.held or not self.queue:
            return
        head = self.queue[0]
        if not head.started:
            head.started = True
            self.owed_since = None
            self.heard_anything = True
            self.tell(ev.PlaybackStarted(head.item))
            return
        ms = round((until - self.now) * 1000)
        if self.owed_since is not None:
            self.owed_since = until  # what is heard meanwhile, "one moment" say, is no silence
        head.played_ms += ms
        head.left_ms -= ms
        self.played_ms[head.item] += ms
        if head.left_ms <= 0:
            self.queue.pop(0)
            if not self.queue:
                self.now = until
                self.tell(ev.PlaybackDrained(head.item, head.played_ms))

    def _check_owed(self) -> None:
        if self.owed_since is not None and not self.closed:
            thought = self.thinkers or self.thought_until >= self.owed_since  # fillers have their own times
            longest = 10.0 if thought or self.saying_goodbye else 4.0
            assert self.now - self.owed_since <= longest, f"a turn ended in silence: {self.machine!r}"

    # --- random actions --------------------------------------------------------------------------------

    def act(self, choice: int, amount: int) -> None:
        """One action; those that make no sense now do nothing."""
        if not self.closed:
            ACTIONS[choice % len(ACTIONS)](self, amount)

    def wait(self, amount: int) -> None:
        self.pass_time((0.02, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 16.0)[amount % 8])

    def speak(self, amount: int) -> None:
        if not self.speaking:
            self.speaking, self.paused, self.voiced_ms, self.onset = True, False, 0, self.now
            self.owed_since = None
            self.tell(ev.SpeechStarted())

    def pause(self, amount: int) -> None:
        if self.speaking and not self.paused:
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
        """The provider makes items of the pieces, and transcribes one; now and then it makes one unasked."""
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
        """The reader answers, perhaps too late or with nothing; or tells how likely a sentence ends."""
        if self.readings:
            self.readings -= 1
            kind = (*UtteranceKind, None)[amount % 6]
            self.tell(ev.UtteranceRead(kind, "yeah" if kind else "", partial=amount % 4 == 0))
        elif self.estimates:
            self.tell(ev.SentenceEndEstimated(self.estimates.pop(), -0.5 - amount % 3))

    def muffle(self, amount: int) -> None:
        if self.speaking:
            self.tell(ev.VoiceMuffled(bool(amount % 3)))

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
        assert not taken or call in self.called, "a call nobody made is answered"
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
            if name not in self.told:
                self.withdrawn.add(name)
            self.tell(ev.NoticeWithdrawn(name))

    def close(self, amount: int) -> None:
        if amount % 16 == 0:
            self.tell(ev.TransportClosed("disconnected"))
        elif amount % 16 == 1:
            self.tell(ev.HangUpRequested("shutdown"))

    def _streaming(self) -> ProviderReply | None:
        return next((r for r in self.replies if r.state == "streaming"), None) if self.online else None

    # --- the end ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Everybody behaves from here on: nothing may stay open."""
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
        assert self.closed or not self.late, f"asked for and never spoken: {self.late}"
        assert self.closed or self.machine.floor is Floor.LISTENING

    def begin_with_news(self, amount: int) -> None:
        """The caller has been answered, and something unasked is being told: what random actions seldom lead to."""
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
        """Whatever can still be told is told, once somebody has said something."""
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
        assert self.closed or self.is_all_told(), f"never told: {self.machine!r}"

    def is_all_told(self) -> bool:
        """Whether no notice is left, except those that were tried in vain and wait for the next call."""
        parked = set(self.machine.notices.parked)
        assert not parked & {*self.told, *self.withdrawn}
        return {*self.noticed} == {*self.told, *self.withdrawn, *parked}


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
