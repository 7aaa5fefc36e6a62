"""The prompts of the coordinator and the reasoners: files such as `backend/coordinator/prompts/system.md`."""

import re
from functools import cache
from pathlib import Path

_ROOMS = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"\{([a-z_]+)\}")


def prompt(name: str, **data: str) -> str:
    """Return the prompt of that name, such as `coordinator/system`, with `data` in it; braces in the data stay."""
    return _NAME.sub(lambda found: data.get(found[1], found[0]), _text(name))


@cache
def _text(name: str) -> str:
    room, _, file = name.partition("/")
    return (_ROOMS / room / "prompts" / f"{file}.md").read_text("utf-8").strip()
