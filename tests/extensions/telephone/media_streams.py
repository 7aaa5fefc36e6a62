"""Media streams as Twilio, Telnyx and Plivo open them, each with its documented messages."""

from dataclasses import dataclass
from typing import Any

from backend.media import g711
from tests.extensions.telephone.stream import MediaStream, Understood

CALL = "CA0123456789abcdef0123456789abcdef"
STREAM = "MZ0123456789abcdef0123456789abcdef"
ACCOUNT = "AC0123456789abcdef0123456789abcdef"
TELNYX_CALL = "v3:9X2vxPDFY2RHSJ1EdMS0RHRksMTg7ldNxdjWbVr9zBjbGjGsSe-aiQ"
TELNYX_STREAM = "32DE0DEA-53CB-4B21-89A4-9E1819C043BC"
TELNYX_ACCOUNT = "f5586561-8ff0-4291-a51b-c7dfe4139ff9"
PLIVO_CALL = "12345678-1234-1234-1234-123456789abc"
PLIVO_STREAM = "87654321-4321-4321-4321-cba987654321"


@dataclass
class TwilioStream(MediaStream):
    """One stream that Twilio opens."""

    call: str = CALL

    def _opening(self, parameters: dict[str, str]) -> list[dict[str, Any]]:
        encoding = "audio/x-mulaw" if self.law is g711.Law.MU else "audio/x-alaw"
        start = {
            "accountSid": ACCOUNT,
            "streamSid": STREAM,
            "callSid": self.call,
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": encoding, "sampleRate": 8000, "channels": 1},
            "customParameters": parameters,
        }
        return [{"event": "connected", "protocol": "Call", "version": "1.0.0"}, {"event": "start", "start": start}]

    def _understand(self, message: dict[str, Any]) -> Understood:
        assert message["streamSid"] == STREAM
        match message["event"]:
            case "media":
                return "audio", message["media"]["payload"]
            case "mark":
                return "mark", message["mark"]["name"]
        assert message["event"] == "clear", message
        return "clear", None

    def _chunk(self, number: int) -> str | int:
        return str(number)

    def _envelope(self) -> dict[str, Any]:
        return {"sequenceNumber": str(self._sequence), "streamSid": STREAM}


@dataclass
class TelnyxStream(MediaStream):
    """One stream that Telnyx opens."""

    call: str = TELNYX_CALL

    def _opening(self, parameters: dict[str, str]) -> list[dict[str, Any]]:
        start = {
            "user_id": TELNYX_ACCOUNT,
            "call_control_id": self.call,
            "call_session_id": "ff55a038-6f5d-11ef-9692-02420aeffb1f",
            "from": "+13122010094",
            "to": "+13122123456",
            "media_format": {"encoding": self.law.value, "sample_rate": 8000, "channels": 1},
            "custom_parameters": parameters,
        }
        return [{"event": "connected", "version": "1.0.0"}, {"event": "start", "start": start}]

    def _understand(self, message: dict[str, Any]) -> Understood:
        match message:
            case {"event": "media", "media": {"payload": payload}}:
                return "audio", payload
            case {"event": "mark", "mark": {"name": name}}:
                return "mark", name
        assert message == {"event": "clear"}, message
        return "clear", None

    def _envelope(self) -> dict[str, Any]:
        return {"sequence_number": str(self._sequence), "stream_id": TELNYX_STREAM}


@dataclass
class PlivoStream(MediaStream):
    """One stream that Plivo opens. A cleared checkpoint is not answered, nor is the end of the stream."""

    call: str = PLIVO_CALL
    stops: bool = False

    def _opening(self, parameters: dict[str, str]) -> list[dict[str, Any]]:
        start = {
            "callId": self.call,
            "streamId": PLIVO_STREAM,
            "accountId": "MAXXXXXXXXXXXXXXXXXX",
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000},
        }
        return [{"event": "start", "start": start, "extra_headers": parameters.get("extraHeaders", "")}]

    def _understand(self, message: dict[str, Any]) -> Understood:
        assert message["streamId"] == PLIVO_STREAM
        match message:
            case {
                "event": "playAudio",
                "media": {"contentType": "audio/x-mulaw", "sampleRate": 8000, "payload": payload},
            }:
                return "audio", payload
            case {"event": "checkpoint", "name": name}:
                return "mark", name
        assert message["event"] == "clearAudio", message
        return "clear", None

    async def _mark(self, name: str) -> None:
        await self._send({"event": "playedStream", "name": name})

    async def _cleared(self, name: str) -> None:
        pass

    def _envelope(self) -> dict[str, Any]:
        return {"sequenceNumber": self._sequence, "streamId": PLIVO_STREAM}
