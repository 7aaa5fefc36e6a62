"""`pipecat-ai`: a pipeline with the OpenAI Realtime service. Our own frames take the place of its transport."""

import asyncio

from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMRunFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineParams, PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import FunctionCallParams
from snippet import open_service  # the how-to's lines
from speaking import Seen, speak

RATE = 24_000
seen = Seen()


class Speaker(FrameProcessor):
    """Records the sound for the user."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            seen.audio_bytes += len(frame.audio)
        elif isinstance(frame, TTSTextFrame):
            seen.said.append(frame.text)
        elif isinstance(frame, InterruptionFrame):
            seen.interruptions += 1
        elif isinstance(frame, ErrorFrame):
            seen.errors.append(frame.error)
        await self.push_frame(frame, direction)


class Listener(FrameProcessor):
    """Records the transcripts, which travel upstream."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame) and frame.text not in seen.heard:
            seen.heard.append(frame.text)
        elif isinstance(frame, ErrorFrame):
            seen.errors.append(frame.error)
        await self.push_frame(frame, direction)


async def look_outside(params: FunctionCallParams, window: str) -> None:
    """Look out of the window.

    Args:
        window: Which one.
    """
    seen.called.append(window)
    await params.result_callback({"sky": "rain"})


async def main() -> None:
    context = LLMContext([{"role": "user", "content": "Greet me."}], tools=[look_outside])
    aggregators = LLMContextAggregatorPair(context)
    task = PipelineTask(
        Pipeline([aggregators.user(), Listener(), open_service(), Speaker(), aggregators.assistant()]),
        params=PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE),
        cancel_on_idle_timeout=False,
    )
    running = asyncio.create_task(PipelineRunner(handle_sigint=False).run(task))

    async def send(pcm: bytes) -> None:
        await task.queue_frame(InputAudioRawFrame(pcm, RATE, 1))

    def said(words: str) -> bool:
        return words in "".join(seen.said)

    await task.queue_frame(LLMRunFrame())
    await seen.until(lambda: said("Hello."), "the greeting")
    await speak(send, "question", seen, lambda: said("It rains."))
    before = seen.audio_bytes
    await speak(send, "story", seen, lambda: seen.audio_bytes > before + 3 * 48_000)
    await speak(send, "stop", seen, lambda: said("All right."))
    await task.cancel()
    await asyncio.wait([running], timeout=5)
    seen.tell()


asyncio.run(main())
