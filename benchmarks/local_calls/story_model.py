"""A chat model that tells the same long story, slowly: `python -m benchmarks.local_calls.story_model`.

For measuring how replies are interrupted: whatever is asked, the answer is long, and has no pause that could be taken
for silence. One JSON line says where it listens. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys

from backend.runtime import parent
from backend.testing.services.server import Reply, Request, json_reply, serving

SENTENCE = (
    "he walked on along the river over the hill and through the wood to the old mill and the road and the sea"
    " and then home again."
)
SENTENCES = 12
WORD_S = 0.04
"""25 words a second, as a quick model on a small machine."""


def answered(request: Request) -> Reply:
    """Stream the story, or say nothing of note where no stream is asked for."""
    if not request.body or not request.json().get("stream"):
        message = {"role": "assistant", "content": "{}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}
        return json_reply({"id": "1", "object": "chat.completion", "created": 1, "model": "story", "choices": [choice]})
    parts: list[bytes | float] = []
    for word in (SENTENCE + " ").split(" ")[:-1] * SENTENCES:
        parts += [_event({"content": word + " "}), WORD_S]
    return Reply(content_type="text/event-stream", parts=[*parts, _event({}, "stop"), b"data: [DONE]\n\n"])


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "story", "choices": [choice]}
    return f"data: {json.dumps(whole)}\n\n".encode()


async def main() -> None:
    """Serve."""
    async with serving(answered) as server:
        over, loop = asyncio.Event(), asyncio.get_running_loop()

        def gone() -> None:
            loop.call_soon_threadsafe(over.set)

        parent.when_gone(gone)
        sys.stdout.write(json.dumps({"listening": server.url}) + "\n")
        sys.stdout.flush()
        await over.wait()


if __name__ == "__main__":
    asyncio.run(main())
