"""Stand-ins for self-hosted servers of the Realtime protocol, after their source code (docs/howto/providers.md).

Each takes only events of the `openai` package's types that the server carries out. It refuses events that the server
would ignore or misread, so that no test passes because of them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from backend.realtime.faults import Fault, error_event
from backend.realtime.serving.effects import Effect, Send
from backend.realtime.serving.parts import End
from backend.testing.offline.schema_checked import STRICT
from backend.testing.offline.strict import StrictRealtime

Event = dict[str, Any]
UNKNOWN = "unknown_or_invalid_event"
NOT_IMPLEMENTED = "not_implemented"
REFUSALS = frozenset({STRICT, UNKNOWN, NOT_IMPLEMENTED})
"""The codes or types of errors for client events that the server does not support."""
TRANSCRIBING: Event = {"type": "realtime", "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
"""The session's transcription: the server always transcribes the caller's words with its own model."""
ACTIVE = "conversation_already_has_active_response"


class SelfHostedRealtime(StrictRealtime):
    """The common part of the stand-ins, each with a dialect of the server events."""

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event, or refuse it as the server does."""
        try:
            self.check(event if isinstance(event, dict) else {})
        except Fault as fault:
            return self._stamped([Send(fault.event(event))])
        return super().receive(event)

    def check(self, event: Event) -> None:
        """Raise `Fault` for an event that this server refuses."""

    def theirs(self, event: Event) -> Iterator[Event]:
        """Yield a server event in this server's form, if it has one."""
        yield event

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        return super()._stamped(_all_theirs(self, effects))

    def _handle(self, event: Any) -> Iterator[Effect]:
        """Carry out an event. A requested reply takes the place of the one under way."""
        if event.get("type") == "response.create" and (active := self._active):
            yield from self._cancel(active, "client_cancelled")
            yield from self._said(active, End())
        yield from super()._handle(event)


class SpeechToSpeechRealtime(SelfHostedRealtime):
    """huggingface/speech-to-speech: it finds turns, answers them, and gives no reply while a tool call is open."""

    KNOWN = frozenset(
        (
            *("session.update", "input_audio_buffer.append", "input_audio_buffer.commit", "conversation.item.create"),
            *("conversation.item.truncate", "response.create", "response.cancel"),
        )
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.session.update(TRANSCRIBING)
        self._open_calls: set[str] = set()

    def check(self, event: Event) -> None:
        kind, wanted = event.get("type"), event.get("response") or {}
        if kind not in self.KNOWN:
            raise Fault(f"Unknown or invalid event: {kind}", code=UNKNOWN)
        if kind in ("input_audio_buffer.commit", "conversation.item.truncate"):
            raise Fault(f"{kind}: taken without any effect", code=STRICT)
        if kind == "response.create":
            if not isinstance(wanted.get("tool_choice", ""), str):
                raise Fault("Only string tool_choice values are supported.", code="tool_choice_not_supported")
            if self._active:
                raise Fault("Cannot create response while another response is in progress or pending.", code=ACTIVE)
            if self._open_calls:
                message = "Cannot create a response while function call outputs are pending."
                raise Fault(message, code="function_call_output_pending")
        item = event.get("item") or {}
        if kind == "conversation.item.create" and item.get("type") == "function_call_output":
            self._open_calls.discard(str(item.get("call_id")))

    def theirs(self, event: Event) -> Iterator[Event]:
        match event:
            case {"type": "conversation.item.done" | "response.output_audio_transcript.delta"}:
                return
            case {"type": "conversation.item.added"}:
                yield event | {"type": "conversation.item.created"}
            case {"type": "error", "error": error}:
                yield event | {"error": error | {"type": error["code"] or error["type"], "code": None}}
            case {"type": "response.done", "response": response}:
                self._open_calls |= _calls(response)
                yield event | {"response": response | _plain_details(response) | {"usage": _text_usage(response)}}
            case _:
                yield event


class LocalAiRealtime(SelfHostedRealtime):
    """LocalAI: it finds turns, answers them, names no request, and reports calls beside the end of a reply."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.session.update(TRANSCRIBING)

    def check(self, event: Event) -> None:
        match event:
            case {"type": "input_audio_buffer.commit"} if self.session.turn_detection:
                raise Fault("input_audio_buffer.commit in conjunction with VAD", code=NOT_IMPLEMENTED)
            case {"type": "conversation.item.delete"}:
                raise Fault("Deleting items not implemented", code=NOT_IMPLEMENTED)
            case {"type": "input_audio_buffer.clear" | "conversation.item.truncate" as kind}:
                raise Fault(f"{kind}: taken without any effect by older versions", code=STRICT)
            case {"type": "session.update", "session": {"audio": {"input": hearing}}}:
                if (found := hearing.get("turn_detection")) and "silence_duration_ms" not in found:
                    raise Fault("turn_detection: silence_duration_ms would be 0", code=STRICT)
                if (hearing.get("transcription") or {}).get("model"):
                    raise Fault("transcription: the model of the pipeline would be replaced", code=STRICT)

    def theirs(self, event: Event) -> Iterator[Event]:
        match event:
            case {"type": "conversation.item.done"}:
                return
            case {"type": "response.done", "response": {"status": "failed"}}:
                yield error_event("backend error: it failed", code="inference_failed")
            case {"type": "response.created" | "response.done", "response": response}:
                yield event | {"response": {name: response[name] for name in ("id", "object", "status")}}
            case _:
                yield event


class VllmOmniRealtime(SelfHostedRealtime):
    """vLLM-Omni: the client commits turns, there are no transcripts, and nothing is out of band."""

    def check(self, event: Event) -> None:
        match event:
            case {"type": "session.update", "session": {"audio": {"input": {"turn_detection": {"type": found}}}}}:
                if found != "server_vad":
                    raise Fault("Only server_vad turn detection is supported", code="unsupported_turn_detection")
            case {"type": "session.update", "session": {"audio": {"input": {"transcription": {}}}}}:
                raise Fault("transcription: taken without any effect", code=STRICT)
            case {"type": "response.create", "response": {"conversation": "none"}}:
                raise Fault("Out-of-band responses are not supported", code="invalid_request_error")
            case {"type": "input_audio_buffer.commit"} if not len(self._buffer):
                raise Fault("Input audio buffer is empty", code="invalid_request_error")

    def theirs(self, event: Event) -> Iterator[Event]:
        match event:
            case {"type": "session.created"}:
                yield event
                yield {
                    "type": "conversation.created",
                    "conversation": {"id": "conv", "object": "realtime.conversation"},
                }
            case {"type": "response.done", "response": {"status": "failed"} as response}:
                error = {"type": "server_error", "code": None}
                yield event | {"response": response | {"status_details": {"type": "failed", "error": error}}}
            case {"type": "response.done", "response": response}:
                yield event | {"response": response | {"usage": _text_usage(response)}}
            case _:
                yield event


PEERS: dict[str, type[SelfHostedRealtime]] = {
    "speech_to_speech": SpeechToSpeechRealtime,
    "localai": LocalAiRealtime,
    "vllm_omni": VllmOmniRealtime,
}


def _all_theirs(server: SelfHostedRealtime, effects: Iterable[Effect]) -> Iterator[Effect]:
    for effect in effects:
        if isinstance(effect, Send):
            yield from map(Send, server.theirs(effect.event))
        else:
            yield effect


def _calls(response: Event) -> set[str]:
    """Return the calls of a reply that are to be answered."""
    whole = response["status"] == "completed"
    return {item["call_id"] for item in response["output"] if whole and item["type"] == "function_call"}


def _plain_details(response: Event) -> Event:
    """Return the details of a reply's status; of an error, only its type."""
    details = response["status_details"]
    error = (details or {}).get("error")
    if not error:
        return {}
    return {"status_details": details | {"error": {"type": error.get("code") or error.get("type")}}}


def _text_usage(response: Event) -> Event | None:
    """Return the usage of a reply with all tokens counted as text."""
    usage = response["usage"]
    if not usage:
        return None
    return {name: usage[name] for name in ("total_tokens", "input_tokens", "output_tokens")}
