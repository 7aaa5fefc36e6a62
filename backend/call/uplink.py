"""The uplink of one call: it scores each frame of the microphone, and sends speech to the Responder.

It dispatches what a frame means for the turn as an event: speech begins, pauses or ends, a voice may be beginning, or
is off-axis. Nothing in here waits, since every 20 ms of every call pass through it.
"""

from collections.abc import Callable
from typing import Literal

from backend.call.dependencies import CallDependencies
from backend.call.responder_link import ResponderLink
from backend.call.utterance_tap import UtteranceTap
from backend.media.echo import EchoGuard
from backend.media.endpointing import Endpointing, LocalEndpointing, ProviderEndpointing
from backend.media.frame import Frame
from backend.responders.base import Endpointer
from backend.sessions.recorder import Recorder
from backend.sessions.session import Session
from backend.turns import events as ev
from backend.turns.machine.floor.state import Floor

DURING_REPLY = frozenset({Floor.ASSISTANT, Floor.HELD})
TurnFinder = Endpointer | Literal["client"]
"""Who detects where the caller's turns begin and end: the server, the Responder's provider, or the caller's program."""


class Uplink:
    """The uplink of one call. `session.levels` always holds the scores of the detector in use."""

    def __init__(
        self,
        dependencies: CallDependencies,
        session: Session,
        finder: TurnFinder,
        link: ResponderLink,
        dispatch: Callable[[ev.Event], None],
        echo: EchoGuard,
        recorder: Recorder | None,
        tap: UtteranceTap,
    ) -> None:
        self._open_local = dependencies.open_endpointing
        self._session = session
        self._link = link
        self._dispatch = dispatch
        self._echo = echo
        self._recorder = recorder
        self._tap = tap
        self.floor: str = Floor.LISTENING
        """The holder of the floor, one of `Floor`: over a reply it matters who is heard."""
        self._off_axis = False  # as the turn machine knows the present voice
        self._hinted = False  # as the turn machine knows the onset hint
        self._endpointing = self._open(finder)

    @property
    def hearing(self) -> str:
        """The name of the detector in use."""
        return self._endpointing.name

    def on_frame(self, frame: Frame) -> None:
        """Score one frame of the microphone; send it if it is speech, and dispatch what it means for the turn."""
        frame = self._echo.clean(frame)
        if self._recorder and self._recorder.is_recording:
            self._recorder.on_frame(frame)
        for result in self._endpointing.process(frame):
            if isinstance(result, bytes):
                self._on_voice(result)
            else:
                self._on_speech(result)
        if self._hints() is not self._hinted:
            self._hinted = not self._hinted
            self._dispatch(ev.OnsetHinted(self._hinted))

    def follow_line(self, *, stands: bool) -> None:
        """Note that the connection to the provider is lost, or stands again."""
        for spoken in self._endpointing.follow_line(stands=stands):
            self._on_speech(spoken)

    def follow_finder(self, finder: TurnFinder) -> bool:
        """Let `finder` detect turns; return whether that is a change. Speech in the server's own detector ends."""
        if finder == self._finder:
            return False
        if isinstance(self._endpointing, LocalEndpointing):
            for spoken in self._endpointing.finish():
                self._on_speech(spoken)
        self.change_finder(finder)
        return True

    def change_finder(self, finder: TurnFinder) -> None:
        """Let `finder` detect turns from the next frame on; nothing more is reported of the present speech."""
        self._endpointing = self._open(finder)

    def _open(self, finder: TurnFinder) -> Endpointing:
        self._finder = finder
        endpointing: Endpointing
        match finder:
            case "client":
                endpointing = ProviderEndpointing(name="client")
            case "provider":
                endpointing = ProviderEndpointing(self._open_local)
            case "local":
                endpointing = self._open_local()
        self._session.levels = endpointing.levels
        return endpointing

    def _hints(self) -> bool:
        """Return whether a voice may be beginning; in a pause any sound near the caller's level may be one."""
        if self.floor in DURING_REPLY:
            return self._endpointing.hinted
        return self.floor == Floor.PAUSING and self._endpointing.near_sound

    def _on_voice(self, frame: Frame) -> None:
        """Send a frame of speech, or of the silence around it."""
        if self._tap.recording:
            self._tap.on_frame(frame)
        if self.floor in DURING_REPLY and self._endpointing.off_axis is not self._off_axis:
            self._off_axis = not self._off_axis
            self._dispatch(ev.VoiceOffAxis(self._off_axis))
        if responder := self._link.connection:
            responder.send_audio(frame)

    def _on_speech(self, event: ev.SpeechEvent) -> None:
        """Dispatch an event of endpointing."""
        self._off_axis &= not isinstance(event, ev.SpeechStarted)
        self._tap.on_event(event)
        self._dispatch(event)
