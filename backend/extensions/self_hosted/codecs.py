"""The codecs of self-hosted servers of the Realtime protocol handle their differences from OpenAI. Pure.

The table in docs/howto/providers.md lists the differences and their sources.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from backend.responders.base import Briefing, Capabilities
from backend.responders.codec import RealtimeCodec, ServerEvent, Voice
from backend.responders.self_answering import SelfAnsweringCodec
from backend.runtime.json_objects import Json
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import ResponderCommand
from backend.turns.events import ResponderEvent

PCM = {"type": "audio/pcm", "rate": 24000}
SPEECH_TO_SPEECH = Capabilities(
    endpointers=frozenset({"provider"}),
    parallel_calls=True,
    session_s=float("inf"),
)
"""The abilities of speech-to-speech and LocalAI. The former's answers may have several messages with calls between."""
VLLM_OMNI = replace(SPEECH_TO_SPEECH, endpointers=frozenset({"local"}), truncates=True, transcribes=False)
FAILED = frozenset({"inference_failed", "prediction_failed", "tts_error", "transcription_failed"})
"""LocalAI's errors that end a reply."""
NOTHING_TO_COMMIT = "Input audio buffer is empty"
"""The beginning of a vLLM-Omni error that counts as a harmless race, like OpenAI's."""
WORKING = '{"status": "still being worked on; the result will follow as a message"}'
RESULT = "The result of {name} has come: {output}"


class SelfHostedEvent(ServerEvent):
    """A server event, with the fields of a tool call that is an event by itself."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""


class SelfHostedCodec(RealtimeCodec):
    """The common part of the codecs. It reports a reply's tool calls and words once, from any event that has them."""

    def __init__(self, voice: Voice, capabilities: Capabilities) -> None:
        super().__init__(voice, capabilities)
        self._parse = msgspec.json.Decoder(SelfHostedEvent).decode
        self._calls: dict[str, dict[str, Json]] = {}
        """The tool calls of replies under way: reply → call → item."""
        self._worded: set[str] = set()
        """The items of replies under way with words that came in parts."""

    def brief(self, briefing: Briefing, *, first: bool) -> bytes:
        """Return a `session.update`; after the first, only the instructions and tools."""
        self.briefing = briefing
        tools = msgspec.to_builtins(briefing.tools)
        session: Json = {"type": "realtime", "instructions": briefing.instructions, "tools": tools}
        session["tool_choice"] = briefing.tool_choice if tools else "none"
        if first:
            voice = {"voice": self._voice.name} if self._voice.name else {}
            hearing = {"format": PCM, "turn_detection": self._turn_detection()}
            session |= {"output_modalities": ["audio"], "audio": {"input": hearing, "output": {"format": PCM, **voice}}}
        return self._event("session.update", session=session)

    def _turn_detection(self) -> Json | None:
        """Return the turn detection; fields left out would be zero in LocalAI."""
        return {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        assert isinstance(event, SelfHostedEvent)
        match event.type:
            case "response.output_item.done" if (event.item or {}).get("type") == "function_call":
                self._gather(event.response_id, event.item or {})
            case "response.function_call_arguments.done" if event.name:
                call = {"type": "function_call", "name": event.name, "arguments": event.arguments}
                self._gather(event.response_id, call | {"call_id": event.call_id})
            case "response.output_audio_transcript.delta":
                self._worded.add(event.item_id)
            case "response.output_audio_transcript.done" if event.transcript and event.item_id not in self._worded:
                words = msgspec.Raw(msgspec.json.encode(event.transcript))
                event = msgspec.structs.replace(event, type="response.output_audio_transcript.delta", delta=words)
        return super()._translate(event)

    def _gather(self, reply: str, call: Json) -> None:
        self._calls.setdefault(reply, {})[str(call.get("call_id"))] = call

    def _on_done(self, response: Json) -> list[ResponderEvent]:
        gathered = self._calls.pop(response.get("id", ""), {})
        self._worded.clear()
        output = response.get("output") or []
        known = {item.get("call_id") for item in output}
        if response.get("status", "completed") == "completed":
            output = [*output, *(call for name, call in gathered.items() if name not in known)]
        return super()._on_done(response | {"output": output})


class SpeechToSpeechCodec(SelfHostedCodec, SelfAnsweringCodec):
    """Translates for one connection with speech-to-speech."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, SPEECH_TO_SPEECH)
        self._unanswered: dict[str, str] = {}
        """The tool calls that block every reply until they are answered: call → name."""
        self._answered_early: dict[str, str] = {}

    def messages(self, command: ResponderCommand) -> Sequence[bytes]:
        """Return a command as client events; a reply requested while a tool works answers the tool's call first."""
        match command:
            case do.ClearInput():
                return ()
            case do.SubmitResult(call, output) if name := self._answered_early.pop(call, ""):
                return (self._message("system", RESULT.format(name=name, output=output)),)
            case do.SubmitResult(call):
                self._unanswered.pop(call, None)
            case do.CreateReply() if sent := super().messages(command):
                early = [super(SpeechToSpeechCodec, self).encode(do.SubmitResult(c, WORKING)) for c in self._unanswered]
                self._answered_early |= self._unanswered
                self._unanswered = {}
                return (*early, *sent)
            case do.CreateReply():
                return ()
        return super().messages(command)

    def _on_done(self, response: Json) -> list[ResponderEvent]:
        events = super()._on_done(response)
        self._unanswered |= {each.call: each.name for each in events if isinstance(each, ev.ToolCalled)}
        return events


class LocalAiCodec(SelfHostedCodec, SelfAnsweringCodec):
    """Translates for one connection with LocalAI."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, SPEECH_TO_SPEECH)

    def messages(self, command: ResponderCommand) -> Sequence[bytes]:
        """Return a command as client events. Replies name no request, so the next reply belongs to the last one."""
        if isinstance(command, do.ClearInput):
            return ()
        sent = super().messages(command)
        if isinstance(command, do.CreateReply) and sent:
            self._wish = command.request
        return sent

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        if (code := error.get("code")) in FAILED and (reply := self._open or self._held_id):
            return self._on_done({"id": reply, "status": "failed", "status_details": {"error": {"code": code}}})
        return super()._on_error(error)


class VllmOmniCodec(SelfHostedCodec):
    """Translates for one connection with vLLM-Omni."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, VLLM_OMNI)

    def _turn_detection(self) -> Json | None:
        return None

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        events = super()._translate(event)
        if event.type == "input_audio_buffer.committed":  # no transcript comes, so nothing may wait for one
            events.append(ev.UserTranscribed(event.item_id, "", failed=True))
        return events

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        if str(error.get("message")).startswith(NOTHING_TO_COMMIT):
            return []
        return super()._on_error(error)


CODECS: dict[str, Callable[[Voice], RealtimeCodec]] = {
    "speech_to_speech": SpeechToSpeechCodec,
    "localai": LocalAiCodec,
    "vllm_omni": VllmOmniCodec,
}
"""The codec of each server, by its name in SELF_HOSTED__SERVER."""
