"""The codec of GPT-Live turns commands into its events, and its events into Responder events. Pure.

Written against the types in `openai.types.live` and OpenAI's guides "Managing GPT-Live sessions", "WebSockets" and
"Delegation and tools". What differs from the Realtime API:

    turns        The model hears and speaks at the same time, and finds turns by itself. So a request for an answer is
                 not sent, but matched with the model's speech: speech before the request is held, and speech without
                 a request is reported as `unasked`.
    replies      There are none: an *utterance* is sound between two silences, which are sent as sound, too. If no
                 sound comes at all, the utterance has stalled.
    cancelling   Nothing can be cancelled or truncated. The rest of a cancelled utterance is dropped here.
    words        The words are fragments without turns; see `words`.
    tools        There are none. `session.delegation.created` has an id and no task; the task is made of the words. A
                 repeated id is the same delegation.
    answers      `session.commentary.append` is spoken, `thinking` is not, `instructions` asks the model to speak.
                 Each holds some 500 tokens. An answer is sent right before the reply that speaks it.
    briefing     The instructions are fixed at the start: new parts of later ones are appended, silently.
"""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field
from itertools import count

import msgspec

from backend.errors import ResponderRejected, ResponderUnavailable
from backend.extensions.gpt_live.clock import InputClock
from backend.extensions.gpt_live.messages import Delegation, LiveError, LiveEvent, answer_of, parts_of, session_of
from backend.extensions.gpt_live.words import LiveWords
from backend.media.frame import milliseconds
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.codec import FATAL, sound_of, sound_to_json, words_of
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose, ResponderCommand
from backend.turns.events import ReplyStatus, ResponderEvent

CAPABILITIES = Capabilities(
    endpointers=frozenset({"local"}),
    delegates=True,
    session_s=7200.0,
)
REFUSED = FATAL | {"model_not_found", "credit_balance_exhausted"}
LOUD = 200
"""The sample value from which sound is not silence: 1/160 of the loudest."""
ENDS_AFTER_S = 0.6
"""Seconds of silence that end an utterance: more than there is between two sentences."""
NEXT_AFTER_S = 0.25
"""Seconds of silence that end a cancelled utterance if the caller has spoken since: the answer follows."""
HELD_S = 3.0
"""Seconds after the caller's last sound during which the model's speech is held as the coming answer."""
HELD_EVENTS = 1_200
"""The most events that are held of that speech: two minutes."""
SILENT_AFTER_S = 2.8
"""Seconds within which an answer begins; a model that is silent for longer has chosen not to answer."""
ALIVE_S = 1.0
"""Seconds after the model's last sound, silence included, during which its clock runs."""
DELEGATIONS_KEPT = 256
"""The most ids of delegations that are remembered."""
APPEND = b'{"type":"session.input_audio.append","audio":%b}'

ANSWER_NOW = "The caller waits for your answer to what was said last. Give it in a sentence or two."
TYPED = "The caller has typed this instead of saying it: {text}"
TYPED_NOW = "The caller has typed what the note before this one holds. Answer it as if it had been said."
RESULT_NOW = "Tell the caller briefly what the latest context brings."
SAY_NOW = "Say it now."
NOTE = "(A note from the system, not said by the caller.) {text}"
WENT_ON = "(The caller went on before this could be told. Tell it if it fits what was said last.) {text}"
CHANGED = "This takes the place of what your instructions said about it before. Say nothing of it. {text}"


@dataclass(slots=True)
class _Utterance:
    """The model's words between two silences, or the work it hands over in silence."""

    reply: str
    item: str
    sent: bool = False
    """The call knows of it."""
    dropped: bool = False
    """The call has cancelled it."""
    words_since: bool = False
    """The caller has spoken since the cancellation."""
    loud_at: float = 0.0
    ended_at: float | None = None
    quiet: bytearray = field(default_factory=bytearray)
    """The silence after its last sound."""
    received_bytes: int = 0
    held: list[ResponderEvent] = field(default_factory=list)


class LiveCodec:
    """The translator of one session. Times are seconds of one monotonic clock."""

    def __init__(self, model: str, voice: str) -> None:
        self._model = model
        self._voice = voice
        self._briefing = Briefing("")
        self._numbers = count(1)
        self._parse = msgspec.json.Decoder(LiveEvent).decode
        self._clock = InputClock()
        self._words = LiveWords()
        self._speaking: _Utterance | None = None  # the present utterance
        self._kept: _Utterance | None = None  # an utterance that began before its request
        self._early_words = ""
        self._request = ""  # the request that the next utterance answers
        self._asked_at = 0.0
        self._heard_at: float | None = None  # the caller's last sound in a turn without a request yet
        self._committed = False  # a turn was committed since the last request
        self._typed = False
        self._sounded_at = float("-inf")
        self._sends_silence = False  # between two utterances
        self._waiting: list[tuple[str, float]] = []  # delegations without all their words
        self._seen: dict[str, None] = {}
        self._results: dict[str, str] = {}
        self._sent_bytes = 0

    # --- ours to theirs --------------------------------------------------------------------------------

    def start(self, briefing: Briefing, history: list[PastMessage]) -> bytes:
        """Return the first message of a session."""
        self._briefing = briefing
        session = session_of(self._model, self._voice, briefing.delegating or briefing.instructions, history)
        return self._event("session.start", session=session)

    def brief(self, briefing: Briefing) -> list[bytes]:
        """Return messages with the paragraphs of the instructions that are new."""
        former, self._briefing = self._briefing, briefing
        known = set(former.delegating.split("\n\n"))
        fresh = [part for part in briefing.delegating.split("\n\n") if part not in known]
        return self._context("thinking", CHANGED.format(text="\n".join(fresh))) if fresh else []

    def append(self, pcm: bytes, now: float) -> list[bytes]:
        """Take the caller's 24 kHz speech; return the messages that are to be sent now."""
        if _is_loud(pcm):
            self._heard_at = now
        self._sent_bytes += len(pcm)
        return [APPEND % sound_to_json(chunk) for chunk in self._clock.push(pcm, now)]

    def keep_time(self, now: float) -> list[bytes]:
        """Return the messages with the silence that is due."""
        return [APPEND % sound_to_json(chunk) for chunk in self._clock.tick(now)]

    def encode(self, command: ResponderCommand, now: float) -> tuple[list[bytes], list[ResponderEvent]]:
        """Return a command as messages, and the events that the provider does not report itself."""
        match command:
            case do.CommitInput():
                self._committed = True
                return [], self._words.commit(f"user-{next(self._numbers)}", now)
            case do.ClearInput():
                self._heard_at = None
                self._words.clear()
                return [], self._offered(self._kept) if self._kept else []
            case do.AddUserText(text):
                self._typed = True
                self._words.type_(text)
                return self._context("thinking", TYPED.format(text=json.dumps(text, ensure_ascii=False))), []
            case do.AddNote(text):
                return self._context("thinking", NOTE.format(text=text)), []
            case do.SubmitResult(call, output, silent):
                if silent:
                    return self._context("thinking", answer_of(output), call), []
                self._results[call] = output
            case do.CancelReply(reply):
                return [], self._cancel(reply, now)
            case do.CreateReply():
                return self._ask(command, now)
        return [], []

    def _ask(self, command: do.CreateReply, now: float) -> tuple[list[bytes], list[ResponderEvent]]:
        kept, self._kept = self._kept, None
        heard_at = self._heard_at
        if command.purpose is Purpose.ANSWER:
            self._heard_at = None
            by_itself, self._committed = self._committed and not self._typed, False  # it never answers a typed turn
            # A reply that had ended before the caller was heard answers an earlier turn.
            is_answer = kept and not (kept.ended_at is not None and heard_at is not None and kept.ended_at < heard_at)
            if kept and is_answer and by_itself:  # the answer came before its request
                return [], self._released(kept, ev.ReplyStarted(kept.reply, command.request))
        else:
            by_itself = False
        if kept and kept is self._speaking:
            kept.dropped = True
        self._request, self._asked_at = command.request, now
        return self._urge(command, by_itself=by_itself), []

    def _urge(self, command: do.CreateReply, *, by_itself: bool) -> list[bytes]:
        """Return the messages that make the model speak; none if it answers by itself."""
        results, self._results = self._results, {}
        typed, self._typed = self._typed, False
        if command.purpose is Purpose.RESULT and results:
            contexts = [self._context("commentary", answer_of(output), call) for call, output in results.items()]
            return [message for messages in contexts for message in messages]
        went_on = [self._context("thinking", WENT_ON.format(text=answer_of(o)), call) for call, o in results.items()]
        messages = [message for part in went_on for message in part]
        if by_itself:
            return messages
        default = {Purpose.ANSWER: TYPED_NOW if typed else ANSWER_NOW, Purpose.RESULT: RESULT_NOW}
        said = self._briefing.purposes.get(command.purpose) or default.get(command.purpose, RESULT_NOW)
        return messages + self._context("instructions", " ".join(filter(None, (said, command.hint, SAY_NOW))))

    def _context(self, kind: str, text: str, call: str | None = None) -> list[bytes]:
        known = call if call in self._seen else None
        type_ = f"session.{kind}.append"
        return [self._event(type_, content=part, delegation_id=known) for part in parts_of(text)]

    def _event(self, type_: str, **fields: object) -> bytes:
        return msgspec.json.encode({"type": type_, "event_id": f"e{next(self._numbers)}", **fields})

    def _cancel(self, reply: str | None, now: float) -> list[ResponderEvent]:
        speaking = self._speaking
        if speaking and speaking.sent and not speaking.dropped and reply in (None, speaking.reply):  # it is heard
            speaking.dropped, speaking.words_since = True, False
            if speaking.loud_at + ENDS_AFTER_S <= now:  # it has stalled: what comes next is another one
                self._speaking = None
            return [self._finished(speaking, "cancelled")]
        if reply is not None or not self._request:
            return []
        request, self._request = self._request, ""
        unsaid = self._new()
        return [ev.ReplyStarted(unsaid.reply, request), ev.ReplyFinished(unsaid.reply, "cancelled")]

    # --- theirs to ours --------------------------------------------------------------------------------

    def type_of(self, text: bytes | bytearray | memoryview) -> str:
        """Return the type of a message before the session has started. Raises `ResponderRejected` or
        `ResponderUnavailable` if the message says that there will be no session."""
        event = self._parse(text)
        if event.type == "error":
            error = event.error or LiveError()
            kind = ResponderRejected if error.code in REFUSED else ResponderUnavailable
            raise kind(f"GPT-Live has not started a session ({error.code or 'no code'}).")
        return event.type

    def decode(self, text: bytes | bytearray | memoryview, now: float) -> list[ResponderEvent]:
        """Return a server event as Responder events. Raises `ResponderUnavailable` if the session has ended."""
        try:
            event = self._parse(text)
            match event.type:
                case "session.output_audio.delta":
                    return self._on_sound(bytes(sound_of(event.delta)), now)
                case "session.output_transcript.delta":
                    return self._on_words(words_of(event.delta))
                case "session.input_transcript.delta":
                    if self._speaking:
                        self._speaking.words_since = True
                    return self._words.add_said(words_of(event.delta), event.start_ms, event.end_ms, now)
        except (msgspec.MsgspecError, ValueError) as error:
            complaint = f"A message could not be read ({type(error).__name__})."
            return [ev.ProviderComplained("unreadable_event", complaint)]
        match event.type:
            case "session.delegation.created" if event.delegation:
                return self._on_delegated(event.delegation, now)
            case "session.closed":
                raise ResponderUnavailable(f"GPT-Live has ended the session ({event.reason or 'no reason'}).")
            case "error":
                return _complained(event.error or LiveError())
        return []

    def lost(self) -> list[ResponderEvent]:
        """Return the events of a broken connection: no more of the caller's words will come."""
        return self._words.close_as_far()

    def deadline(self) -> float | None:
        """Return the time at which `expire` has something to do; None if there is none."""
        due = [self._words.whole_at()]
        due += [self._words.task_whole_at(at) for _, at in self._waiting]
        if self._speaking and self._ends_by_time(self._speaking):
            due.append(self._speaking.loud_at + ENDS_AFTER_S)
        if self._kept and self._heard_at is not None:
            due.append(self._heard_at + HELD_S)
        if self._request.startswith(Purpose.ANSWER):
            due.append(self._asked_at + SILENT_AFTER_S)
        return min((at for at in due if at is not None), default=None)

    def expire(self, now: float) -> list[ResponderEvent]:
        """Return the events that the passing of time causes."""
        events: list[ResponderEvent] = []
        if (whole_at := self._words.whole_at()) is not None and whole_at <= now:
            events += self._words.close()
        for delegation, at in [*self._waiting]:
            if self._words.task_whole_at(at) <= now:
                events += self._called(delegation, now)
        speaking = self._speaking
        if speaking and self._ends_by_time(speaking) and speaking.loud_at + ENDS_AFTER_S <= now:  # it has stalled
            events += self._ended(speaking, now)
        if self._kept and not self._in_turn(now):
            events += self._offered(self._kept)
        if self._request.startswith(Purpose.ANSWER) and self._asked_at + SILENT_AFTER_S <= now:
            events += self._silent(now)
        return events

    def _on_sound(self, pcm: bytes, now: float) -> list[ResponderEvent]:
        self._sounded_at = now
        speaking = self._speaking
        if not _is_loud(pcm):
            if speaking is None:
                self._sends_silence = True
                return []
            speaking.quiet += pcm
            over = milliseconds(len(speaking.quiet)) >= ENDS_AFTER_S * 1000 and not self._waiting
            return self._ended(speaking, now) if over else []
        events: list[ResponderEvent] = []
        if speaking and speaking.dropped and speaking.words_since and self._paused(speaking, now):  # the answer begins
            events += self._ended(speaking, now)
        if self._speaking is None:
            events += self._begun(now)
        speaking = self._speaking
        assert speaking is not None
        sound = bytes(speaking.quiet) + pcm
        speaking.quiet.clear()
        speaking.loud_at = now
        speaking.received_bytes += len(sound)
        return events + self._report(speaking, ev.ReplyAudio(speaking.reply, speaking.item, sound))

    def _ends_by_time(self, speaking: _Utterance) -> bool:
        return not self._waiting and (speaking.dropped or not self._sends_silence)  # otherwise silence ends it

    def _paused(self, speaking: _Utterance, now: float) -> bool:
        return max(now - speaking.loud_at, milliseconds(len(speaking.quiet)) / 1000) >= NEXT_AFTER_S

    def _on_words(self, words: str) -> list[ResponderEvent]:
        speaking = self._speaking
        if speaking and speaking.dropped:
            return []
        self._words.add_announced(words)
        if speaking is None:
            self._early_words += words
            return []
        return self._report(speaking, ev.ReplyText(speaking.reply, speaking.item, words))

    def _on_delegated(self, delegation: Delegation, now: float) -> list[ResponderEvent]:
        if delegation.id in self._seen:
            return []
        self._seen[delegation.id] = None
        if len(self._seen) > DELEGATIONS_KEPT:
            del self._seen[next(iter(self._seen))]
        if delegation.target != "client":
            return [ev.ProviderComplained("delegated_elsewhere", f"Work was delegated to {delegation.target}.")]
        events: list[ResponderEvent] = []
        if self._speaking and self._speaking.dropped and self._speaking.words_since:  # this is about the newer words
            events += self._ended(self._speaking, now)
        if self._speaking is None:
            events += self._begun(now)
        self._waiting.append((delegation.id, now))
        if self._words.task_whole_at(now) <= now:
            events += self._called(delegation.id, now)
        return events

    def _called(self, delegation: str, now: float) -> list[ResponderEvent]:
        self._waiting = [(waiting, at) for waiting, at in self._waiting if waiting != delegation]
        events = [] if self._speaking else self._begun(now)
        speaking = self._speaking
        assert speaking is not None
        speaking.loud_at = now
        called = ev.ToolCalled(speaking.reply, delegation, do.DELEGATE, self._words.task)
        return [*events, *([called] if speaking.dropped else self._report(speaking, called))]

    # --- utterances ------------------------------------------------------------------------------------

    def _in_turn(self, now: float) -> bool:
        """Return whether the caller has spoken and may want an answer."""
        return self._heard_at is not None and now - self._heard_at < HELD_S

    def _new(self) -> _Utterance:
        number = next(self._numbers)
        return _Utterance(f"reply-{number}", f"item-{number}")

    def _begun(self, now: float) -> list[ResponderEvent]:
        """Begin an utterance, or continue the kept one."""
        if self._kept and not self._request:
            self._speaking, self._kept.ended_at, self._kept.loud_at = self._kept, None, now
            return []
        speaking = self._speaking = self._new()
        speaking.loud_at = now
        events: list[ResponderEvent] = []
        if self._request:
            request, self._request = self._request, ""
            events = self._released(speaking, ev.ReplyStarted(speaking.reply, request))
        elif self._in_turn(now):
            self._kept = speaking
        else:
            events = self._released(speaking, ev.ReplyStarted(speaking.reply, unasked=True))
        words, self._early_words = self._early_words, ""
        return (
            [*events, *self._report(speaking, ev.ReplyText(speaking.reply, speaking.item, words))] if words else events
        )

    def _report(self, speaking: _Utterance, event: ResponderEvent) -> list[ResponderEvent]:
        if speaking.dropped:
            return []
        if speaking.sent:
            return [event]
        if len(speaking.held) < HELD_EVENTS:
            speaking.held.append(event)
        return []

    def _released(self, speaking: _Utterance, started: ev.ReplyStarted) -> list[ResponderEvent]:
        """Report an utterance to the call, with the events that were held of it."""
        speaking.sent = True
        held, speaking.held = speaking.held, []
        return [started, *held, *(self._completed(speaking) if speaking.ended_at is not None else ())]

    def _offered(self, kept: _Utterance) -> list[ResponderEvent]:
        """Report speech without a request to the call; drop a murmur into the caller's words."""
        self._kept = None
        heard_at, self._heard_at = self._heard_at, None
        if kept.ended_at is not None and heard_at is not None and kept.ended_at < heard_at:  # the caller spoke on
            return []
        return self._released(kept, ev.ReplyStarted(kept.reply, unasked=True))

    def _ended(self, speaking: _Utterance, now: float) -> list[ResponderEvent]:
        self._speaking = None
        speaking.ended_at = now
        speaking.quiet.clear()
        return self._completed(speaking) if speaking.sent and not speaking.dropped else []

    def _completed(self, speaking: _Utterance) -> list[ResponderEvent]:
        whole = [ev.MessageFinished(speaking.reply, speaking.item)] if speaking.received_bytes else []
        return [*whole, self._finished(speaking, "completed")]

    def _finished(self, speaking: _Utterance, status: ReplyStatus) -> ev.ReplyFinished:
        sent_ms, self._sent_bytes = milliseconds(self._sent_bytes), 0
        received_ms = milliseconds(speaking.received_bytes)
        return ev.ReplyFinished(speaking.reply, status, audio_sent_ms=sent_ms, audio_received_ms=received_ms)

    def _silent(self, now: float) -> list[ResponderEvent]:
        """End the request with a call of `wait_for_user`: the model has had time to answer, and is silent."""
        self._asked_at = float("inf")
        if now - self._sounded_at > ALIVE_S:
            return []
        request, self._request = self._request, ""
        unsaid = self._new()
        return [
            ev.ReplyStarted(unsaid.reply, request),
            ev.ToolCalled(unsaid.reply, f"silence-{unsaid.reply}", do.WAIT_FOR_USER, "{}"),
            ev.ReplyFinished(unsaid.reply, "completed"),
        ]


def _complained(error: LiveError) -> list[ResponderEvent]:
    if error.code in REFUSED:
        raise ResponderRejected(f"GPT-Live refuses us ({error.code}).", hint="Check OPENAI_API_KEY and its account.")
    return [ev.ProviderComplained(error.code or "error", error.message[:200])]


def _is_loud(pcm: bytes) -> bool:
    samples = array("h", pcm[: len(pcm) & ~1])
    return bool(samples) and max(max(samples), -min(samples)) >= LOUD
