"""The parts of Gemini's Live API messages that are read (ai.google.dev/api/live). Unknown fields are ignored."""

from typing import Any

from msgspec import Struct

from backend.turns.events import TokenUsage


class Blob(Struct):
    """Some media; base64 on the wire."""

    data: bytes = b""


class Part(Struct):
    """One part of what the model makes."""

    inlineData: Blob | None = None  # noqa: N815 - the wire's name


class GeminiTurn(Struct):
    """The parts of the model's turn that are new."""

    parts: list[Part] = []


class Transcription(Struct):
    """Words of the caller's speech or of the model's; they come in no guaranteed order."""

    text: str = ""


class ServerContent(Struct):
    """The model's words, and the state of its turn."""

    modelTurn: GeminiTurn | None = None  # noqa: N815
    inputTranscription: Transcription | None = None  # noqa: N815
    outputTranscription: Transcription | None = None  # noqa: N815
    interrupted: bool = False
    generationComplete: bool = False  # noqa: N815
    turnComplete: bool = False  # noqa: N815


class GeminiFunctionCall(Struct):
    """One call of a tool."""

    id: str
    name: str = ""
    args: dict[str, Any] = {}


class GeminiToolCall(Struct):
    """The tools to be called, all together."""

    functionCalls: list[GeminiFunctionCall] = []  # noqa: N815


class ToolCallCancellation(Struct):
    """The calls that the model no longer waits for."""

    ids: list[str] = []


class Modality(Struct):
    """The tokens of one kind: TEXT, AUDIO, IMAGE, VIDEO."""

    modality: str = ""
    tokenCount: int = 0  # noqa: N815


class Usage(Struct):
    """The tokens of a turn."""

    promptTokenCount: int = 0  # noqa: N815
    responseTokenCount: int = 0  # noqa: N815
    thoughtsTokenCount: int = 0  # noqa: N815
    promptTokensDetails: list[Modality] = []  # noqa: N815
    responseTokensDetails: list[Modality] = []  # noqa: N815

    def by_kind(self) -> TokenUsage:
        """Return the tokens by kind; tokens that the details leave out count as text."""
        audio_in, image_in = (_of(self.promptTokensDetails, kind) for kind in ("AUDIO", "IMAGE"))
        audio_out = _of(self.responseTokensDetails, "AUDIO")
        return TokenUsage(
            text_in=max(0, self.promptTokenCount - audio_in - image_in),
            audio_in=audio_in,
            image_in=image_in,
            text_out=max(0, self.responseTokenCount - audio_out) + self.thoughtsTokenCount,
            audio_out=audio_out,
        )


def _of(details: list[Modality], modality: str) -> int:
    return sum(each.tokenCount for each in details if each.modality == modality)


class GoAway(Struct):
    """The announcement that the connection ends after `timeLeft`, a duration such as '50s'."""

    timeLeft: str = "0s"  # noqa: N815

    @property
    def left_s(self) -> float:
        """Return the seconds left; 0 if `timeLeft` cannot be read."""
        try:
            return float(self.timeLeft.removesuffix("s"))
        except ValueError:
            return 0.0


class SessionResumptionUpdate(Struct):
    """The newest handle of the session, and whether the session could be resumed now."""

    newHandle: str = ""  # noqa: N815
    resumable: bool = False


class ServerMessage(Struct):
    """Any message of the server; it has one of these fields, and may have `usageMetadata` beside it."""

    setupComplete: dict[str, Any] | None = None  # noqa: N815
    serverContent: ServerContent | None = None  # noqa: N815
    toolCall: GeminiToolCall | None = None  # noqa: N815
    toolCallCancellation: ToolCallCancellation | None = None  # noqa: N815
    usageMetadata: Usage | None = None  # noqa: N815
    goAway: GoAway | None = None  # noqa: N815
    sessionResumptionUpdate: SessionResumptionUpdate | None = None  # noqa: N815
