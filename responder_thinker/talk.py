"""`responder-thinker talk`: place a call without a microphone, play a sound file, print and save what comes back."""

from pathlib import Path

from rich.console import Console

from backend.errors import VoiceError
from backend.media.frame import BYTES_PER_MS
from backend.media.sound_file import read_audio, write_wav
from responder_thinker.narrator import Narrator
from responder_thinker.voice_call import ANSWER_WITHIN_S, QUIET_AFTER_S, Transport, place_call

LEAD_IN_MS = 300
"""Milliseconds of silence before the file, as before a caller's first word."""

HEARD_AN_ANSWER = 0
HEARD_NOTHING = 1
NOT_CONNECTED = 2


async def talk(
    file: Path,
    *,
    out: Path | None = None,
    url: str = "http://127.0.0.1:8000",
    transport: Transport = "webrtc",
    conversation: str | None = None,
    quiet_after_s: float = QUIET_AFTER_S,
    within_s: float = ANSWER_WITHIN_S,
    console: Console | None = None,
) -> int:
    """Play a sound file to the server at `url` and save what is heard to `out`; return 0 if an answer was heard.

    `conversation` continues an earlier conversation, typed or spoken, as the user of the last call.
    """
    narrator = Narrator(console or Console(highlight=False))
    try:
        speech = bytes(BYTES_PER_MS * LEAD_IN_MS) + read_audio(file)
        placing = place_call(
            url,
            transport=transport,
            conversation=conversation,
            on_event=lambda event: narrator.on_event(event.type, event.data),
        )
        async with placing as call:
            narrator.connected(call.session_id, transport)
            await call.say(speech)
            answered = await call.answered(within_s, quiet_after_s)
    except VoiceError as error:
        narrator.failed(error)
        return NOT_CONNECTED
    if out is not None:
        write_wav(out, call.received.pcm())
    narrator.finished(answered, out)
    return HEARD_AN_ANSWER if answered else HEARD_NOTHING
