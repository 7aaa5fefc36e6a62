"""Reasoning with a tool, by two models: python examples/run_dual_reasoner_with_func_calling.py [task]"""

import asyncio
import sys

from configured_model import TASK, configured_reasoner

from backend.reasoning.model_reasoners import DualModelReasoner
from backend.tools import calculate
from backend.tools.registry import tools_of


async def main(task: str) -> None:
    async with configured_reasoner(*tools_of(calculate)) as reasoner:
        print(await DualModelReasoner(reasoner).infer(task))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or TASK))
