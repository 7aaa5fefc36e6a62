"""The tour: a whole server on stand-ins, every Thinker asked by text, several by voice, and failures named."""

import io

import pytest
from rich.console import Console

from backend.errors import BadRequest
from backend.extensions.tour import questions
from backend.extensions.tour.asking import Outcome
from backend.extensions.tour.questions import Step, steps
from backend.extensions.tour.run import tour
from backend.tools.discovery import package_modules

LABELS = [module.MANIFEST.label for module in package_modules("backend.thinkers") if hasattr(module, "MANIFEST")]


async def toured(*, voice: bool = False, only: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code, and the output."""
    console = Console(file=io.StringIO(), width=200)
    status = await tour(console, voice=voice, only=only)
    assert isinstance(console.file, io.StringIO)
    return status, console.file.getvalue()


async def test_every_thinker_answers_typed_questions() -> None:
    status, printed = await toured()
    assert status == 0, printed
    assert all(f"✓ {label}: " in printed for label in LABELS), printed
    assert "local stand-ins" in printed
    assert "In Seattle it is 52 degrees Fahrenheit" in printed
    assert "From the documents: Handbook of the tour" in printed


@pytest.mark.long
async def test_thinkers_answer_spoken_questions_in_a_call() -> None:
    status, printed = await toured(voice=True, only=("stocks", "weather"))
    assert status == 0, printed
    _, _, by_voice = printed.partition("Spoken, in a call")
    assert "Apple Inc is at 261.74 dollars" in by_voice


async def test_a_thinker_that_does_not_answer_is_named_and_fails_the_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(questions.TYPED, "weather", ("Who wrote Hamlet?",))
    status, printed = await toured(only=("weather",))
    assert status == 1
    assert "✗ Weather: Who wrote Hamlet?" in printed
    assert "knowledge answered instead of weather" in printed


async def test_an_unknown_thinker_is_an_error() -> None:
    with pytest.raises(BadRequest, match="cheese"):
        await toured(only=("cheese",))


def test_a_new_thinker_is_asked_its_own_example() -> None:
    moon = {"domain": "moon", "label": "Moon", "example": "Is the moon full?"}
    for by_voice in (False, True):
        assert steps([moon], (), by_voice=by_voice) == [Step("moon", "Moon", "Is the moon full?")]


@pytest.mark.parametrize(
    ("domains", "answer", "answered"),
    [
        (("weather",), "It rains.", True),
        (("knowledge",), "It rains.", False),
        (("weather",), "", False),
        (("weather",), "I could not find that out.", False),
    ],
)
def test_only_the_right_thinkers_answer_counts(domains: tuple[str, ...], answer: str, answered: bool) -> None:
    assert (Outcome(Step("weather", "Weather", "?"), "?", domains, answer, 1).problem == "") is answered
