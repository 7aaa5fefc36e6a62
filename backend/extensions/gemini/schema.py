"""The messages that a client may send to Gemini's Live API, after ai.google.dev/api/live; other fields are refused.

The fields that a voice call may need are here; other fields of the API are refused as well.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from backend.runtime.json_objects import Json

FIELDS: Mapping[str, tuple[str, ...]] = {
    "": ("setup", "clientContent", "realtimeInput", "toolResponse"),
    "setup": (
        *("model", "generationConfig", "systemInstruction", "tools", "realtimeInputConfig", "sessionResumption"),
        *("inputAudioTranscription", "outputAudioTranscription", "contextWindowCompression"),
    ),
    "generationConfig": ("responseModalities", "speechConfig"),
    "speechConfig": ("voiceConfig",),
    "voiceConfig": ("prebuiltVoiceConfig",),
    "prebuiltVoiceConfig": ("voiceName",),
    "systemInstruction": ("parts",),
    "tools": ("functionDeclarations",),
    "functionDeclarations": ("name", "description", "parametersJsonSchema", "behavior"),
    "realtimeInputConfig": ("automaticActivityDetection",),
    "automaticActivityDetection": ("disabled",),
    "sessionResumption": ("handle",),
    "contextWindowCompression": ("slidingWindow",),
    "clientContent": ("turns", "turnComplete"),
    "turns": ("role", "parts"),
    "parts": ("text", "inlineData"),
    "inlineData": ("mimeType", "data"),
    "realtimeInput": ("audio", "activityStart", "activityEnd"),
    "audio": ("mimeType", "data"),
    "toolResponse": ("functionResponses",),
    "functionResponses": ("id", "name", "response", "scheduling"),
}
"""The fields of each object, by the object's name; an object without an entry has none."""
OPEN = ("parametersJsonSchema", "response")
"""The objects that may have any fields."""
VALUES: Mapping[str, tuple[object, ...]] = {
    "responseModalities": ("AUDIO",),
    "role": ("user", "model"),
    "mimeType": ("audio/pcm;rate=16000", "image/jpeg", "image/png"),
    "behavior": ("BLOCKING", "NON_BLOCKING"),
    "scheduling": ("SILENT", "WHEN_IDLE", "INTERRUPT"),
}


class WrongMessage(ValueError):
    """The API does not accept the message; `str(error)` says why."""


def parse(text: str | bytes) -> Json:
    """Return the message, which has exactly one field. Raises `WrongMessage`."""
    try:
        message: Json = json.loads(text)
    except ValueError as error:
        raise WrongMessage(str(error)) from None
    if len(message) != 1:
        raise WrongMessage("A message has exactly one of its fields")
    for fault in _faults("", message):
        raise WrongMessage(fault)
    return message


def _faults(name: str, value: Any) -> Iterator[str]:
    match value:
        case dict():
            for field, inner in value.items():
                if field not in FIELDS.get(name, ()):
                    yield f"{name} has no {field}"
                elif field not in OPEN:
                    yield from _faults(field, inner)
                elif not isinstance(inner, dict):
                    yield f"{field} is an object"
        case list():
            for each in value:
                yield from _faults(name, each)
        case _ if value not in VALUES.get(name, (value,)):
            yield f"{name} has another value"
