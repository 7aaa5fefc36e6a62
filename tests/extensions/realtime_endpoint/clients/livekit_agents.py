"""`livekit-plugins-openai`: an `AgentSession` with the `RealtimeModel`. Our own audio takes the place of a room."""

import asyncio
import time

from livekit import rtc
from livekit.agents import Agent, AgentSession, function_tool
from livekit.agents.voice import io
from snippet import open_model  # the how-to's lines
from speaking import Seen, speak

RATE = 24_000
seen = Seen()


class Microphone(io.AudioInput):
    def __init__(self) -> None:
        super().__init__(label="microphone")
        self._frames: asyncio.Queue[rtc.AudioFrame] = asyncio.Queue()

    async def send(self, pcm: bytes) -> None:
        self._frames.put_nowait(rtc.AudioFrame(pcm, RATE, 1, len(pcm) // 2))

    async def __anext__(self) -> rtc.AudioFrame:
        return await self._frames.get()


class Speaker(io.AudioOutput):
    """Counts played sound in real time."""

    def __init__(self) -> None:
        super().__init__(label="speaker", capabilities=io.AudioOutputCapabilities(pause=False), sample_rate=RATE)
        self._began = 0.0
        self._queued_s = 0.0
        self._ending: asyncio.TimerHandle | None = None

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)
        if not self._queued_s:
            self._began = time.monotonic()
            self.on_playback_started(created_at=time.time())
        self._queued_s += frame.duration
        seen.audio_bytes += len(bytes(frame.data))

    def flush(self) -> None:
        super().flush()
        left_s = max(0.0, self._began + self._queued_s - time.monotonic())
        if self._queued_s and self._ending is None:
            self._ending = asyncio.get_running_loop().call_later(left_s, self._end, False)

    def clear_buffer(self) -> None:
        if self._queued_s:
            self._end(True)

    def _end(self, interrupted: bool) -> None:
        if self._ending:
            self._ending.cancel()
        played_s = min(self._queued_s, time.monotonic() - self._began)
        self._ending, self._queued_s = None, 0.0
        self.on_playback_finished(playback_position=played_s, interrupted=interrupted)


class Weather(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You look outside.")

    @function_tool
    async def look_outside(self, window: str) -> str:
        """Look out of the window."""
        seen.called.append(window)
        return "rain"


async def main() -> None:
    microphone = Microphone()
    model = open_model()
    session: AgentSession[None] = AgentSession(llm=model)
    session.input.audio, session.output.audio = microphone, Speaker()

    @session.on("user_input_transcribed")
    def on_heard(event: object) -> None:
        if event.is_final:  # type: ignore[attr-defined]
            seen.heard.append(event.transcript)  # type: ignore[attr-defined]

    @session.on("conversation_item_added")
    def on_item(event: object) -> None:
        item = event.item  # type: ignore[attr-defined]
        if getattr(item, "role", "") == "assistant":
            seen.said.append(item.text_content or "")
            seen.interruptions += item.interrupted

    @session.on("error")
    def on_error(event: object) -> None:
        seen.errors.append(str(event.error))  # type: ignore[attr-defined]

    await session.start(Weather())
    await speak(microphone.send, "question", seen, lambda: "It rains." in seen.said)
    before = seen.audio_bytes
    await speak(microphone.send, "story", seen, lambda: seen.audio_bytes > before + 3 * 48_000)
    await speak(microphone.send, "stop", seen, lambda: "All right." in seen.said)
    await session.aclose()
    await model.aclose()
    seen.tell()


asyncio.run(main())
