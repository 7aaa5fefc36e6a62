"""The few things the local Responder knows by heart. Everything else it honestly does not."""

from __future__ import annotations

import tomllib
from pathlib import Path

from backend.extensions.local.dialogue.routing import words_of

_KNOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ANSWERS: dict[str, str] = {
    **{f"capital {land}": f"The capital of {land} is {city}." for land, city in _KNOWN["capitals"].items()},
    **_KNOWN["answers"],
}
UNKNOWN = (
    "I know only a few things by heart, and this is not one of them. You can ask me for the weather, the news or your "
    "calendar, for example; with LOCAL_MODEL_URL or OPENAI_API_KEY set, a language model would answer."
)


def recall(sentence: str) -> str:
    """The answer to a general question, or the honest statement that there is none.

    Only the first line counts: what follows it is material, not the question.
    """
    asked = words_of(sentence.strip().partition("\n")[0])
    return next((answer for key, answer in _ANSWERS.items() if words_of(key) <= asked), UNKNOWN)
