"""The recorder of one call records received and played sound from the caller's consent on.

It gives frames and events their time on the recording's clock, and puts them into the queue of
`extensions/recordings/writer.py`. That takes a few microseconds each, and nothing while no recording runs.
"""

from collections.abc import Callable

from backend import page_events as page
from backend.errors import Forbidden
from backend.extensions.recordings.journal import EndReason, JournalLine
from backend.extensions.recordings.side_clock import SideClock
from backend.extensions.recordings.store import RecordingStore
from backend.extensions.recordings.utterances import UtteranceTimes
from backend.extensions.recordings.writer import ASSISTANT, CALLER, ActiveRecording, in_ms
from backend.media.frame import Frame
from backend.media.playout import OnPlayed
from backend.media.vad import level
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns import events as ev

QUIET_DBFS = -55.0
"""The level (dBFS) below which a frame may be left out if the caller's frames come faster than time passes."""


class CallRecorder:
    """One call's `Recorder`. Not thread-safe: everything happens on the event loop."""

    def __init__(
        self,
        store: RecordingStore,
        notice: str,
        session: Session,
        transport: Transport,
        on_played: OnPlayed,
        publish: Callable[[page.PageEvent], None],
        dispatch: Callable[[ev.Event], None],
    ) -> None:
        """`on_played` is called for each played frame, too; `notice` is spoken first in a recording, unless empty."""
        self._store = store
        self._session = session
        self._transport = transport
        self._pass_on = on_played
        self._publish = publish
        self._dispatch = dispatch
        self._notice = notice
        self.is_recording = False
        """True while the call is being recorded."""
        self._recording: ActiveRecording | None = None
        self._times = UtteranceTimes()
        self._received, self._played = SideClock(), SideClock()

    @property
    def is_possible(self) -> bool:
        """Return whether this call may be recorded, once its caller agrees."""
        return not self._session.shared

    def start(self) -> str:
        """Record from now on; return the recording's id. Raises `Forbidden` if others take part in the call."""
        session = self._session
        if session.shared:
            raise Forbidden("Only the caller may have the call recorded.")
        if self._recording is not None:
            return self._recording.begin.id

        def ended(reason: EndReason) -> None:
            self._on_end(recording, reason)

        recording = self._store.begin(session.owner, session.conversation_id, session.id, ended)
        self._recording, self.is_recording = recording, True
        self._times = UtteranceTimes()
        self._received = SideClock(self._transport.inbox_frames + 1)
        self._played = SideClock()
        self._transport.watch_played(self._on_played)
        self._publish(page.RecordingChanged(recording.begin.id, on=True))
        if self._notice:
            self._dispatch(ev.NoticeArrived(f"recording-{recording.begin.id}", self._notice))
        return recording.begin.id

    def stop(self, reason: EndReason = "stopped") -> None:
        """Stop recording; the recording so far stays. Does nothing when nothing is recorded."""
        if self._recording is not None:
            self._recording.end(reason)
            self._on_end(self._recording, reason)

    def on_frame(self, frame: Frame) -> None:
        """Add a frame of the caller's."""
        if (recording := self._recording) is not None:
            position = self._received.place(recording.now())
            if self._received.too_many and level(frame) < QUIET_DBFS:
                self._received.leave_out()
            else:
                recording.add_frame(CALLER, position, frame)

    def on_event(self, event: ev.Event) -> None:
        """Note when a speaker begins or ends."""
        if (recording := self._recording) is not None:
            self._times.on_event(event, in_ms(recording.now()))

    def on_page_event(self, event: page.PageEvent) -> None:
        """Write down an utterance once its words are final."""
        if (recording := self._recording) is not None:
            utterance = self._times.settled(event, in_ms(recording.now()))
            if utterance is not None:
                recording.add_line(JournalLine(utterance=utterance))

    async def close(self, reason: str) -> None:
        """End the recording with its call."""
        self.stop("call_ended")

    def _on_played(self, frame: Frame | None) -> None:
        self._pass_on(frame)
        if (recording := self._recording) is not None:
            position = self._played.place(recording.now())
            if frame is not None:
                recording.add_frame(ASSISTANT, position, frame)
                self._times.on_played(in_ms(position))
            elif self._played.too_many:
                self._played.leave_out()

    def _on_end(self, recording: ActiveRecording, reason: EndReason) -> None:
        """Show that the recording has stopped."""
        if recording is self._recording:
            self._recording, self.is_recording = None, False
            self._transport.watch_played(self._pass_on)
            self._publish(page.RecordingChanged(recording.begin.id, on=False, reason=reason))
