"""`openai-agents`: a spoken question, a tool of the client's, a long answer and an interruption."""

import asyncio
import contextlib

from agents import function_tool, set_tracing_disabled
from agents.realtime import RealtimeAgent, RealtimeSession
from snippet import open_session  # the how-to's lines
from speaking import Seen, speak

seen = Seen()


@function_tool
def look_outside(window: str) -> str:
    """Look out of the window."""
    seen.called.append(window)
    return "rain"


async def watch(session: RealtimeSession) -> None:
    async for event in session:
        if event.type == "audio":
            seen.audio_bytes += len(event.audio.data)
        elif event.type == "audio_interrupted":
            seen.interruptions += 1
        elif event.type == "error":
            seen.errors.append(str(event.error))
        elif event.type in ("history_updated", "history_added"):
            items = event.history if event.type == "history_updated" else [event.item]
            for item in items:
                for part in getattr(item, "content", ()):
                    words = getattr(part, "transcript", None)
                    said = seen.heard if getattr(item, "role", "") == "user" else seen.said
                    if words and words not in said:
                        said.append(words)


async def main() -> None:
    set_tracing_disabled(True)
    session = await open_session(RealtimeAgent(name="Weather", instructions="You look outside.", tools=[look_outside]))
    async with session:
        watching = asyncio.create_task(watch(session))
        await speak(session.send_audio, "question", seen, lambda: "It rains." in seen.said)
        await speak(session.send_audio, "story", seen, lambda: seen.audio_bytes > 170_000)
        await speak(session.send_audio, "stop", seen, lambda: "All right." in seen.said)
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    seen.tell()


asyncio.run(main())
