"""A small model of everything around the turn machine: transport, provider, Thinkers and time.

It carries out commands as the real shells do, and checks the rules at every one of them. The random actors are in
`world`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from backend.page_events import ThinkerChanged
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Clip, Purpose
from backend.turns.limits import TurnLimits
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.thinkers import WAITING
from backend.turns.notices import HEARD_SHARE
from backend.turns.turn import TurnMachine

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
    """The provider's state of a reply."""

    request: str | None
    id: str
    state: str = "requested"
    items: int = 0
    cancelled: bool = False
    calls: int = 0
    tells: tuple[str, ...] = ()
    """The ids of its notices."""


@dataclass
class Surroundings:
    """Carries out the commands of a machine, and lets time go by."""

    limits: TurnLimits = field(default_factory=TurnLimits)

    def __post_init__(self) -> None:
        self.machine = TurnMachine(self.limits)
        self.now = 100.0
        self.queue: list[Queued] = []
        self.dropped: list[Queued] = []
        """The items that the last flush dropped."""
        self.held = False
        self.ducked = False
        self.hinted = False
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
        self.heard: list[str] = []
        self.readings = 0
        self.estimates: list[str] = []
        self.deleted: set[str] = set()
        self.commits = 0
        """Committed segments without an item of the provider so far."""
        self.uncommitted_items: list[str] = []
        self.withdrawn: set[str] = set()
        self.sent_ms: Counter[str] = Counter()
        self.played_ms: Counter[str] = Counter()
        self.heard_anything = False
        self.tell(ev.CallStarted())

    # --- the machine's commands, carried out ----------------------------------------------------------

    def tell(self, event: ev.Event) -> None:
        """Give the machine an event and carry out its commands."""
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
            self._obey_for_replies(command)
            self._obey_for_thinkers(command)
            self._obey_for_the_turn(command)
            caused += self._obey_for_playback(command)
        for event in caused:
            self.tell(event)
        self.check()

    def _obey_for_replies(self, command: do.Command) -> None:
        match command:
            case do.CreateReply(purpose, request):
                assert not self.handed_in or purpose is Purpose.RESULT, "a late answer was handed in for nothing"
                self.handed_in = False
                self._create(purpose, request)
            case do.AddNote(text) if text in self.stale:
                assert self.online, "a late answer was sent over a lost connection"
                self.late.pop(text, None)
                self.stale.discard(text)
                self.handed_in = True
            case do.CancelReply(reply):
                self._cancel(reply)
            case do.DeleteItem(item):
                self.deleted.add(item)
            case do.TruncateItem(_, heard_ms):
                assert heard_ms > 0
            case do.NoticeDelivered(notice):
                self._note_told(notice)

    def _obey_for_playback(self, command: do.Command) -> list[ev.Event]:
        """Carry out commands for the transport's queue; returns the resulting events."""
        match command:
            case do.Play(item, pcm):
                self._enqueue(item, len(pcm) // MS)
            case do.PlayClip(clip):
                self.saying_goodbye |= clip in (Clip.GOODBYE, Clip.LIMIT, Clip.LOST)
                self._enqueue(f"clip:{clip}", 1500)
            case do.HoldPlayback():
                self.held = True
            case do.ResumePlayback():
                assert self.held, "playback was resumed that was not held"
                self.held = False
            case do.DuckPlayback():
                assert self.queue, "playback was turned down with an empty queue"
                self.ducked = True
            case do.UnduckPlayback():
                assert self.ducked, "playback was turned up that was not turned down"
                self.ducked = False
            case do.FlushPlayback():
                self.dropped = list(self.queue)
                self.queue.clear()
                self.held = self.ducked = False
                return [ev.PlaybackFlushed(tuple(ev.Heard(q.item, q.played_ms) for q in self.dropped))]
            case do.RestorePlayback(item, played_ms):
                return self._restore(item, played_ms)
        return []

    def _restore(self, item: str, played_ms: int) -> list[ev.Event]:
        assert not self.queue, "an item was restored in front of another"
        is_free = not self.speaking or self.paused
        assert self.machine.floor is Floor.ASSISTANT and is_free, "an item was restored over the caller"
        self.queue, self.dropped = self.dropped, []
        return [] if self.queue else [ev.PlaybackDrained(item, played_ms)]

    def _obey_for_thinkers(self, command: do.Command) -> None:
        match command:
            case do.Publish(ThinkerChanged(call, "stale")):
                self.stale.add(call)
                asked_in = self.late.pop(call, None)
                assert asked_in is None or asked_in < self.machine.turn, (
                    "an answer went stale in the turn that asked for it"
                )
            case do.SubmitResult(call, output):
                if output == WAITING:
                    self.owed_since = None
                assert self.online, "a result was sent over a lost connection"
                assert call in self.called, "an unknown call was answered"
                assert call not in self.orphans, "a call of a lost connection was answered"
                assert call not in self.answered, "a call was answered twice"
                self.answered.append(call)
            case do.RunThinker(call, _, _):
                assert call not in self.thinkers
                floors = (Floor.USER, Floor.PAUSING)
                assert self.machine.floor not in floors, "a Thinker was started though the caller may go on"
                self.thinkers[call] = self.machine.turn
            case do.CancelThinker(call):
                self.thought_until = self.now
                self.thinkers.pop(call, None)

    def _obey_for_the_turn(self, command: do.Command) -> None:
        match command:
            case do.ReadUtterance(partial):
                assert self.speaking and (self.paused or partial), "an unfinished utterance was read"
                self.readings += 1
            case do.EstimateSentenceEnd(words):
                self.estimates.append(words)
            case do.CommitInput() | do.AddUserText(_):
                assert self.online, "the caller's turn was sent over a lost connection"
                self.owed_since = None if self.speaking else self.now
                self.commits += isinstance(command, do.CommitInput)
            case do.HangUp(reason):
                assert self.closed is None, "the call was hung up twice"
                self.closed = reason

    def check(self) -> None:
        """Check the rules that hold after every step."""
        assert not self.handed_in, "a late answer was handed in without a request for a reply"
        if self.machine.floor is not Floor.HELD:
            assert not self.held, f"playback stays held with the floor {self.machine.floor}"
            assert not self.ducked or self.hinted, f"playback stays turned down with the floor {self.machine.floor}"
        if self.machine.floor is Floor.PAUSING:
            assert not self.queue, "something sounds though the caller may go on"
        if self.machine.floor is Floor.CLOSED:
            assert self.closed
        assert self.closed is None or self.machine.deadline() is None, "a closed call still has deadlines"

    def _create(self, purpose: Purpose, request: str) -> None:
        assert self.online, "a reply was requested over a lost connection"
        if self.machine.floor is Floor.PAUSING:
            assert purpose is Purpose.ANSWER, "a reply other than the answer was prepared"
            assert not self.speaking or self.paused, "a reply was prepared while the caller speaks"
        else:
            assert self.machine.floor in (Floor.LISTENING, Floor.ASSISTANT), "a reply was requested over the caller"
        live = [r for r in self.replies if r.request and r.state != "done" and not r.cancelled]
        assert not live, f"two replies overlap: {live}"
        if purpose is Purpose.NOTICE:
            self._check_unasked()
        self.made += 1
        tells = self._being_told() if purpose is Purpose.NOTICE else ()
        self.replies.append(ProviderReply(request, f"resp-{self.made}", tells=tells))

    def _check_unasked(self) -> None:
        """Check that a notice comes after everything else, and only while the caller is silent."""
        assert self.machine.floor is Floor.LISTENING and not self.queue, "a notice was spoken over something else"
        assert not self.speaking or self.paused, "a notice was spoken over the caller"
        assert self.owed_since is None, "a notice was spoken before an answer"
        assert self.machine.turn not in self.thinkers.values(), "a notice was spoken while a Thinker worked"
        assert self.machine.turn or self.heard_anything, "a notice was spoken before anything else"
        named = self._being_told()
        assert named, "a reply for notices has none"
        assert not set(named) & {*self.heard, *self.withdrawn}, "a notice was repeated, or spoken after its withdrawal"

    def _being_told(self) -> tuple[str, ...]:
        reply = self.machine.notices.reply
        return tuple(pending.notice for pending in reply.notices) if reply else ()

    def _note_told(self, notice: str) -> None:
        assert notice not in self.heard, "a notice was delivered twice"
        reply = next(reply for reply in reversed(self.replies) if notice in reply.tells)
        items = [item for item in self.sent_ms if item.startswith(f"{reply.id}-item")]
        sent = sum(self.sent_ms[item] for item in items)
        assert sum(self.played_ms[item] for item in items) >= HEARD_SHARE * sent > 0, (
            "a notice was delivered without being heard"
        )
        self.heard.append(notice)
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
        """Let time go by in the order of due times: the machine's deadlines and the end of playback."""
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
                assert again is None or again > self.now, "a deadline is never met"
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
