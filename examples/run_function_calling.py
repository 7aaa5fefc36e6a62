"""A model that calls tools by tags in its text: python examples/run_function_calling.py [question]"""

from __future__ import annotations

import asyncio
import sys

from configured_model import TASK, configured_model

from backend.models.base import TextDelta
from backend.models.tagged import as_text
from backend.reasoning.generate import call_function
from backend.tools import calculate
from backend.tools.registry import tools_of
from backend.tools.runner import Toolbox


async def main(question: str) -> None:
    tools = Toolbox(tools_of(calculate), {})
    messages = as_text([{"role": "user", "content": question}], tools.schemas())  # with the tools described in words
    async with configured_model() as (model, settings):
        deltas = [delta async for delta in model.stream(messages, model=settings.models.thinker_model)]
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    print(f"the model: {text}")
    results = await call_function(tools, text)
    if results is None:
        print("It has called nothing.")
    for result in results or ():
        print(f"{result.name}: {result.content}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or TASK))
