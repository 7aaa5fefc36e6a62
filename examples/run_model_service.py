"""A model's basic answer, without tools: python examples/run_model_service.py [question]"""

import asyncio
import sys

from configured_model import TASK, configured_model

from backend.reasoning.generate import generate
from backend.tools.runner import Toolbox


async def main(question: str) -> None:
    async with configured_model() as (model, settings):
        asked = [{"role": "user", "content": question}]
        reply = await generate(model, settings.models.thinker_model, "Answer in one sentence.", asked, Toolbox((), {}))
    print(reply.text)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or TASK))
