"""Reasoning without tools: python examples/run_reasoner_without_func_calling.py [mono or dual] [task]"""

import asyncio
import sys

from configured_model import TASK, configured_reasoner

from backend.reasoning.model_reasoners import DualModelReasoner, MonoModelReasoner

KINDS = {"mono": MonoModelReasoner, "dual": DualModelReasoner}


async def main(kind: str, task: str) -> None:
    async with configured_reasoner() as reasoner:
        print(await KINDS[kind](reasoner).infer(task))


if __name__ == "__main__":
    chosen, *words = sys.argv[1:] or ["mono"]
    if chosen not in KINDS:
        raise SystemExit(__doc__)
    asyncio.run(main(chosen, " ".join(words) or TASK))
