"""The server's side of RTVI in one call: client messages act on the call, and its steps are reported.

The transport of messages (a WebSocket, a data channel) and audio is outside. It calls `receive` and `follow`, and gets
each message through `send`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backend.errors import VoiceError
from backend.extensions.rtvi import messages as said
from backend.extensions.rtvi.messages import MessageFault, RtviMessage, data_of, error, message
from backend.extensions.rtvi.translator import RtviTranslator
from backend.realtime.faults import Fault
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.sessions.session import LiveCall
from backend.transports.phone_line import KEYS
from backend.turns import commands as do
from backend.turns import events as ev

SESSION_FIELDS = ("instructions", "tools", "tool_choice", "thinkers")
"""The settings that a client may choose for its call: fields of the Realtime protocol's session."""
KEYS_LIMIT = 32
PRESSED = "(The caller pressed these keys: {keys})"


class RtviProtocol:
    """The protocol's side of one call."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send
        self._session = ClientSession("", "")
        self._control: LiveCall | None = None
        self._client_ready = self._call_started = self._greeted = False
        self._translator = RtviTranslator(lambda name: self._session.options.is_client_tool(name))

    def attach(self, control: LiveCall) -> None:
        """Act on the call from now on."""
        self._control = control

    def follow(self, event: ev.Event | None, commands: Sequence[do.Command]) -> None:
        """Report one step of the call to the client."""
        if isinstance(event, ev.CallStarted):
            self._call_started = True
            self._greet()
        for each in self._translator.step(event, commands):
            self._send(each)

    def receive(self, text: str | bytes) -> None:
        """Carry out a message. An `error-response` answers a wrong one, and the call goes on."""
        try:
            received = said.read_message(text)
        except MessageFault as fault:
            self._send(error(str(fault)))
            return
        if received is not None:
            self._carry_out(received)

    def _carry_out(self, received: RtviMessage) -> None:
        try:
            handle = HANDLERS.get(received.type)
            if handle is None:
                raise MessageFault(f"Messages of the type {received.type[:64]!r} are not supported.")
            handle(self, received)
        except (MessageFault, Fault) as fault:
            self._refuse(received, str(fault))
        except VoiceError as fault:
            self._refuse(received, f"{fault} {fault.hint}".strip())

    def _refuse(self, received: RtviMessage, words: str) -> None:
        self._send(message("error-response", {"error": words}, received.id))

    def _greet(self) -> None:
        """Send `bot-ready` once the client is ready and the call has begun."""
        if self._client_ready and self._call_started and not self._greeted:
            self._greeted = True
            about = {"library": "responder-thinker"}
            self._send(message("bot-ready", {"version": said.VERSION, "about": about}))

    @property
    def _call(self) -> LiveCall:
        if self._control is None:
            raise MessageFault("The call has not begun yet: wait for bot-ready.")
        return self._control

    # --- the client's messages ------------------------------------------------------------------------------

    def _on_ready(self, received: RtviMessage) -> None:
        version = data_of(received, said.ClientReady).version
        self._translator.legacy = version.partition(".")[0] in ("0", "1")
        self._client_ready = True
        self._greet()

    def _on_text(self, received: RtviMessage) -> None:
        text = data_of(received, said.ClientText)
        if not text.options.audio_response:
            raise MessageFault("Answers without sound are not supported: leave 'audio_response' out.")
        words = _checked(text.content)
        if text.options.run_immediately:
            self._call.type_text(words)
        else:
            self._call.submit(ev.MessageAdded("user", words))

    def _on_context(self, received: RtviMessage) -> None:
        given = data_of(received, said.AppendToContext)
        words = _checked(given.content)
        self._call.submit(ev.MessageAdded(given.role, words))
        if given.run_immediately:
            self._call.submit(ev.ReplyRequested())
        self._send(message("append-to-context-result", {"result": "added"}, received.id))

    def _on_keys(self, received: RtviMessage) -> None:
        given = data_of(received, said.Keys)
        keys = "".join(given.buttons) or given.button
        if not 0 < len(keys) <= KEYS_LIMIT or not set(keys) <= KEYS:
            raise MessageFault(f"'buttons' are digits, * and #, at most {KEYS_LIMIT}.")
        self._call.type_text(PRESSED.format(keys=" ".join(keys)))

    def _on_result(self, received: RtviMessage) -> None:
        given = data_of(received, said.FunctionResult)
        result = given.result
        output = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        self._call.submit(ev.ToolAnswered(given.tool_call_id, _checked(output or "null")))
        if not self._translator.awaits_client:
            self._call.submit(ev.ReplyRequested())

    def _on_disconnect(self, received: RtviMessage) -> None:
        self._call.hang_up("disconnected")

    def _on_request(self, received: RtviMessage) -> None:
        request = data_of(received, said.ClientRequest)
        handle = REQUESTS.get(request.t)
        if handle is None:
            known = ", ".join(sorted(REQUESTS))
            raise MessageFault(f"Requests of the kind {request.t[:64]!r} are unknown. Known are: {known}.")
        answer = handle(self, request.d)
        self._send(message("server-response", {"t": request.t, "d": answer}, received.id))

    # --- the kinds of client-message --------------------------------------------------------------------------

    def _update_session(self, chosen: Any) -> Json:
        """Take the client's own instructions and functions, and return the session as it is now."""
        if not isinstance(chosen, dict) or not chosen.keys() <= set(SESSION_FIELDS):
            raise MessageFault(f"A session has these fields: {', '.join(SESSION_FIELDS)}.")
        self._session.update({"type": "realtime", **chosen})
        self._call.choose(self._session.options)
        shown = self._session.shown()
        return {name: shown[name] for name in SESSION_FIELDS}

    def _interrupt(self, _: Any) -> None:
        self._call.submit(ev.ReplyCalledOff())


HANDLERS: Mapping[str, Callable[[RtviProtocol, RtviMessage], None]] = {
    "client-ready": RtviProtocol._on_ready,
    "send-text": RtviProtocol._on_text,
    "append-to-context": RtviProtocol._on_context,
    "dtmf": RtviProtocol._on_keys,
    "llm-function-call-result": RtviProtocol._on_result,
    "disconnect-bot": RtviProtocol._on_disconnect,
    "client-message": RtviProtocol._on_request,
}
"""The handler of each message of a client."""
REQUESTS: Mapping[str, Callable[[RtviProtocol, Any], Any]] = {
    "update-session": RtviProtocol._update_session,
    "interrupt": RtviProtocol._interrupt,
}
"""The handler of each kind of `client-message`."""


def _checked(text: str) -> str:
    """Return the text. Raises `MessageFault` if it is empty or too long."""
    if not text.strip():
        raise MessageFault("The text is empty.")
    if len(text) > said.TEXT_LIMIT:
        raise MessageFault(f"The text is longer than {said.TEXT_LIMIT} characters.")
    return text
