"""A call's steps as server events of the Realtime protocol. Pure: events and commands in, JSON objects out.

The client sees what happens, not what is prepared. A response is created with its first content. A reply that was
prepared in a pause of the caller's and then dropped is never shown. An item is done once its audio was sent, and a
response once its items are. `speech_started` comes when the caller has the floor, since clients fall silent on it: a
cough or "mm-hmm" over a reply does not cause it.

    in the call                             to the client
    --------------------------------------  ------------------------------------------------------------
    FloorChanged to user, from user         input_audio_buffer.speech_started, .speech_stopped
    InputCommitted                          input_audio_buffer.committed, conversation.item.added, .done
    InputCommitWanted, and nothing was said the same, without words
    UserTranscriptGrew, UserTranscribed     conversation.item.input_audio_transcription.*
    TranscriptDelta, Play, PlayClip         response.created, .output_item.added, .content_part.added, …
    RunThinker of a client's tool           response.function_call_arguments.*, .output_item.done
    ReplyWorded, PlaybackDrained            response.output_audio.done, …, .output_item.done
    ReplyFinished                           response.done
    CancelReply, FlushPlayback              the same, incomplete and cancelled
    TruncateItem, DeleteItem                conversation.item.truncated, .deleted
    PlaybackStarted, the end of a response  output_audio_buffer.started, .stopped, .cleared (where we play the audio)
    ProviderComplained                      error
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from backend import page_events as page
from backend.extensions.realtime_endpoint.responses import ClientResponse, OutputItem, status_details, usage_shown
from backend.realtime.conversation import Conversation
from backend.realtime.events import audio_committed, heard_for, transcription, truncated
from backend.realtime.faults import error_event
from backend.realtime.ids import random_id
from backend.realtime.items import Item
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose

ASKED_FOR = (Purpose.ANSWER, Purpose.RESULT)
NAMES_LIMIT = 500
"""The most items that are remembered with both ids, ours and the client's."""
SPEECH_STARTED = "input_audio_buffer.speech_started"
SPEECH_STOPPED = "input_audio_buffer.speech_stopped"
REMEMBERED = 64
"""The most deleted items that are remembered, in case a client's event about one crossed its deletion."""


class CallTranslator:
    """Translates the steps of one call, in order."""

    def __init__(
        self, session: ClientSession, items: Conversation, heard_ms: Callable[[], int], *, buffers: bool
    ) -> None:
        """`heard_ms` returns the milliseconds of audio that have come from the client.

        `buffers`: audio is not sent in events, so `output_audio_buffer` events say when it plays.
        """
        self._session = session
        self._items = items
        self._buffers = buffers
        self.metadata: Json | None = None
        """The metadata of the next reply that was requested."""
        self.cut_by = "turn_detected"
        """The reason that responses show when they are cut."""
        self._conversation = random_id("conv")
        self._heard_ms = heard_ms
        self._floor = "listening"
        self._speaking = False
        self._asked: Purpose | None = None
        self._asked_metadata: Json | None = None
        self._begun: ClientResponse | None = None  # the reply that the provider is giving
        self._deferred: ev.ReplyFinished | None = None
        self._open: list[ClientResponse] = []
        self._shown_as: OrderedDict[str, str] = OrderedDict()  # our name of an item → the client's
        self._reserved = ""  # the id that the user's current speech gets as an item
        self._spoken_from_ms = 0
        self._starts = self._sounds = ""  # the response that begins to play in this step, and the one that plays
        self._out: list[Json] = []
        self.deleted: deque[str] = deque(maxlen=REMEMBERED)
        """The ids of the items that interruptions deleted last."""

    @property
    def is_replying(self) -> bool:
        """Return whether a requested reply is still coming from the provider."""
        return self._asked in ASKED_FOR

    @property
    def is_busy(self) -> bool:
        """Return whether there is a response to cancel."""
        return bool(self._open) or self._asked is not None

    def step(self, event: ev.Event | None, commands: Sequence[do.Command]) -> list[Json]:
        """Return the server events for one step of the call."""
        self._out = []
        match event:
            case ev.ReplyStarted(reply) if do.CancelReply(reply) not in commands:
                self._begun = self._new_response(reply, self._asked_metadata)
            case ev.ReplyRefused():
                self._asked = None
            case ev.InputCommitted(item):
                self._on_committed(item)
            case ev.InputCommitWanted() if do.CommitInput() not in commands:
                self._on_nothing_said()
            case ev.UserTranscriptGrew(item, delta) if self._session.transcribes:
                self._transcription("delta", item, delta=delta)
            case ev.UserTranscribed():
                self._on_transcribed(event)
            case ev.PlaybackStarted(item):
                self._on_playback(item, started=True)
            case ev.PlaybackDrained(item):
                self._on_playback(item, started=False)
            case ev.ProviderComplained(code, message):
                self._out.append(error_event(message, code=code))
        floor = self._floor
        for command in commands:
            self._on_command(command)
        if isinstance(event, ev.ReplyFinished):
            if floor == self._floor == "pausing":
                self._deferred = event
            else:
                self._on_finished(event)
        elif self._deferred and self._floor != "pausing":
            deferred, self._deferred = self._deferred, None
            if self._floor in ("listening", "assistant"):
                self._on_finished(deferred)
        self._settle()
        self._announce_speech_first()
        if self._starts:
            self._sounds, self._starts = self._starts, ""
            self._say("output_audio_buffer.started", response_id=self._sounds)
        return self._out

    def sound(self, name: str, audio: str | bytes) -> Json | None:
        """Return the event with audio of the item that the call names `name`; None if that item is not shown."""
        response = self._response_of(name)
        if response is None:
            return None
        item = response.items[name]
        return response.sound(item.id, response.place(item), audio)

    def provider_id(self, item_id: str) -> str:
        """Return our id of the item with the client's id `item_id`."""
        return next((ours for ours, shown in self._shown_as.items() if shown == item_id), item_id)

    # --- what the caller says ---------------------------------------------------------------------------

    def _on_floor(self, floor: str) -> None:
        before, self._floor = self._floor, floor
        if floor == "user" and not self._speaking:
            self._speaking = True
            self._reserved = self._reserved or random_id("item")
            self._spoken_from_ms = self._heard_ms()
            self._say(SPEECH_STARTED, audio_start_ms=self._spoken_from_ms, item_id=self._reserved)
        elif before == "user" and floor != "user":
            self._speaking = False
            item = self._reserved or random_id("item")
            self._say(SPEECH_STOPPED, audio_end_ms=self._heard_ms(), item_id=item)

    def _announce_speech_first(self) -> None:
        """Put the start of speech before the end of the response that it cuts, as the Realtime API does.

        A client that sees the end first may count the response as heard in full.
        """
        first = next((each for each in self._out if each["type"] in (SPEECH_STARTED, SPEECH_STOPPED)), None)
        if first and first["type"] == SPEECH_STARTED:
            self._out.remove(first)
            self._out.insert(0, first)

    def _on_committed(self, name: str) -> None:
        item_id, self._reserved = self._reserved or random_id("item"), ""
        self._rename(name, item_id)
        self._commit(item_id)

    def _commit(self, item_id: str) -> Item:
        """Show an item of the client's audio."""
        item = Item(item_id, "message", role="user", kind="input_audio")
        self._out += audio_committed(item, self._put(item))
        return item

    def _on_nothing_said(self) -> None:
        """Show an item without words, for committed audio in which the Responder found no speech."""
        item = self._commit(random_id("item"))
        item.transcribed = True
        if self._session.transcribes:
            self._out.append(transcription("completed", item.id, transcript="", usage=heard_for(0)))

    def _on_silence(self, idle_ms: int) -> None:
        """Show that the caller was silent for `idle_ms`, and is asked whether they are still there."""
        item_id, end_ms = random_id("item"), self._heard_ms()
        spoken = {"audio_start_ms": max(0, end_ms - idle_ms), "audio_end_ms": end_ms}
        self._say("input_audio_buffer.timeout_triggered", item_id=item_id, **spoken)
        self._commit(item_id)

    def _on_transcribed(self, event: ev.UserTranscribed) -> None:
        if item := self._items.get(self._shown_as.get(event.item, event.item)):
            item.words, item.transcribed = event.text, True
        if not self._session.transcribes:
            return
        if event.failed:
            error = {"type": "server_error", "code": "transcription_failed", "message": "It could not be transcribed."}
            self._transcription("failed", event.item, error=error)
            return
        usage = heard_for(round(max(0, self._heard_ms() - self._spoken_from_ms) / 1000, 2))
        self._transcription("completed", event.item, transcript=event.text, usage=usage)

    def _transcription(self, what: str, name: str, **fields: object) -> None:
        self._out.append(transcription(what, self._shown_as.get(name, name), **fields))

    # --- what is said to them -----------------------------------------------------------------------------

    def _on_command(self, command: do.Command) -> None:
        match command:
            case do.Publish(page.FloorChanged(floor)):
                self._on_floor(floor)
            case do.Publish(page.IdleNudged(idle_s)):
                self._on_silence(idle_s * 1000)
            case do.CreateReply(purpose):
                self._asked, self._asked_metadata = purpose, None
                if purpose in ASKED_FOR:
                    self._asked_metadata, self.metadata = self.metadata, None
            case do.Publish(page.TranscriptDelta("assistant", name, delta)):
                self._on_words(name, delta)
            case do.Publish(page.ReplyWorded(name, content)):
                self._on_worded(name, content)
            case do.Play(name):
                response = self._created()
                self._item(response, name).drained = False
            case do.PlayClip(clip):
                self._on_clip(command.item, do.CLIP_WORDS[clip])
            case do.RestorePlayback(name):
                self._on_restored(name)
            case do.RunThinker(call, name, arguments) if self._session.options.is_client_tool(name):
                self._on_client_call(call, name, arguments)
            case do.CancelReply(reply) if self._begun is None or reply in (None, self._begun.id):
                self._on_cancelled()
            case do.FlushPlayback():
                self._cut(self._open)
            case do.TruncateItem(name, heard_ms):
                item = self._items.get(self._shown_as.get(name, name))
                if item and shorten(item, heard_ms):
                    self._out.append(truncated(item.id, heard_ms))
            case do.DeleteItem(name):
                if item := self._items.get(self._shown_as.get(name, name)):
                    self._items.remove(item)
                    self.deleted.append(item.id)
                    self._say("conversation.item.deleted", item_id=item.id)

    def _new_response(self, response_id: str = "", metadata: Json | None = None) -> ClientResponse:
        response_id = response_id or random_id("resp")
        session = self._session
        return ClientResponse(response_id, session.modality, session.output_audio, self._conversation, metadata)

    def _created(self) -> ClientResponse:
        """Return the response of the provider's current reply; create it first if necessary."""
        response = self._begun
        if response is None:
            response = self._begun = self._new_response()
        if not response.begun:
            self._create(response)
        return response

    def _create(self, response: ClientResponse) -> None:
        response.begun = True
        self._open.append(response)
        self._out.append(response.created())

    def _item(self, response: ClientResponse, name: str, item_id: str = "") -> OutputItem:
        item = response.items.get(name)
        if item is None:
            item = OutputItem(item_id or name, "message", role="assistant", status="in_progress")
            response.items[name] = item
            self._out += response.open(item, self._put(item))
        return item

    def _on_words(self, name: str, delta: str) -> None:
        response = self._created()
        self._out.append(response.words(self._item(response, name), delta))

    def _on_worded(self, name: str, content: str) -> None:
        for response in self._open:
            if item := response.items.get(name):
                item.words, item.worded = content or item.words, True

    def _on_clip(self, name: str, words: str) -> None:
        """Show one of the server's own clips as a separate response."""
        response = self._new_response()
        self._create(response)
        item = self._item(response, name, random_id("item"))
        self._out.append(response.words(item, words))
        item.worded = True
        response.finished = ev.ReplyFinished("", "completed")

    def _on_restored(self, name: str) -> None:
        """Show the rest of a reply that was cut and then restored as another response."""
        response = self._new_response()
        self._create(response)
        item_id = random_id("item")
        self._rename(name, item_id)
        self._item(response, name, item_id).worded = True
        response.finished = ev.ReplyFinished("", "completed")

    def _on_client_call(self, call: str, name: str, arguments: str) -> None:
        response = self._created()
        item = OutputItem(random_id("item"), "function_call", status="in_progress", name=name, call_id=call, done=True)
        response.items[call] = item
        self._out += response.call(item, self._put(item), arguments, max(1, len(arguments)))

    def _on_playback(self, name: str, *, started: bool) -> None:
        """Note that the items before `name` were sent; unless it has only `started`, `name` was sent as well."""
        if started and self._buffers and (sounding := self._response_of(name)) and sounding.id != self._sounds:
            self._starts = sounding.id  # its first sound
        for response in self._open:
            for each, item in response.items.items():
                if started and each == name:
                    return
                if started or each == name:
                    item.drained = True

    def _on_finished(self, event: ev.ReplyFinished) -> None:
        begun = self._begun
        if begun is None or begun.id != event.reply:
            return
        self._begun = self._asked = None
        begun.finished = event
        for item in begun.items.values():
            item.worded = True

    def _on_cancelled(self) -> None:
        """Cut the response of a reply that the provider is asked to stop, if the client knows it."""
        begun, self._begun, self._asked = self._begun, None, None
        if begun is not None and begun.begun:
            self._cut([begun])

    def _cut(self, responses: Sequence[ClientResponse]) -> None:
        for response in list(responses):
            for item in response.items.values():
                if not item.done:
                    self._close(response, item, "incomplete")
            self._end(response, self.cut_by)

    def _settle(self) -> None:
        """End the items that were sent in full, and each response that has only such items."""
        for response in list(self._open):
            waits = response.modality == "audio"
            for item in response.items.values():
                if not item.done and item.worded and (item.drained or not waits):  # sent in full
                    self._close(response, item, "completed")
            if response.complete:
                self._end(response, "")

    def _close(self, response: ClientResponse, item: OutputItem, status: str) -> None:
        item.done = True
        self._out += response.close(item, self._items.before(item), status)

    def _end(self, response: ClientResponse, cut_by: str) -> None:
        self._open.remove(response)
        if self._begun is response:
            self._begun = None
        status, details = status_details(response.finished, cut_by)
        self._out.append(response.done(status, details, usage_shown(response.finished)))
        if response.id == self._sounds:
            self._sounds = ""
            self._say(f"output_audio_buffer.{'cleared' if cut_by else 'stopped'}", response_id=response.id)

    # --- items and events------------------------------------------------------------------------------------

    def _response_of(self, name: str) -> ClientResponse | None:
        """Return the newest open response with an item of that name."""
        return next((each for each in reversed(self._open) if name in each.items), None)

    def _put(self, item: Item) -> str | None:
        """Put an item last, and replace one of the same id; return the id of the one before it."""
        if known := self._items.get(item.id):
            self._items.remove(known)
        return self._items.append(item)

    def _rename(self, name: str, item_id: str) -> None:
        self._shown_as[name] = item_id
        if len(self._shown_as) > NAMES_LIMIT:
            self._shown_as.popitem(last=False)

    def _say(self, type_: str, **fields: object) -> None:
        self._out.append({"type": type_, **fields})


def shorten(item: Item, heard_ms: int) -> bool:
    """Note how much of an item was heard; return False if less was noted before."""
    if item.heard_ms is not None and item.heard_ms <= heard_ms:
        return False
    item.heard_ms = heard_ms
    return True
