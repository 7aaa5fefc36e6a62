"""Post-steps get each turn of a call once and completely."""

import asyncio

from backend.agent.context import Note
from backend.call.post_turn import PostTurnHook
from backend.middleware.base import Asked, WholeTurn, step
from backend.middleware.pipeline import Pipeline
from backend.page_events import ThinkerChanged, ThinkerStage, ThinkerWork
from backend.settings.settings import load_settings
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.thinkers.base import Manifest, Question
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.thinkers.registry import Thinker, ThinkerRegistry
from backend.thinkers.run import ThinkerDependencies, ThinkerRun
from backend.users.modes import Mode
from tests.middleware.world import pipeline
from tests.support.agents import agent, toolbox
from tests.support.waiting import until


def weather(stage: ThinkerStage) -> ThinkerChanged:
    """Return the event of the Thinker for the weather at a stage of its work."""
    return ThinkerChanged("c1", stage, ThinkerWork("weather", "Weather", "Will it rain?", 10, 1, 0))


class Log:
    """A post-step that keeps every turn."""

    def __init__(self) -> None:
        self.turns: list[WholeTurn] = []

        @step("keep", stage="post", detached=True)
        async def keep(turn: WholeTurn) -> None:
            self.turns.append(turn)

        self.pipeline = pipeline(keep)

    def over(self, quiet_s: float = 30.0) -> PostTurnHook:
        return PostTurnHook(self.pipeline, "ada", "c1", mode=Mode, quiet_s=quiet_s)

    async def seen(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return the question, the answer and the Thinkers of each turn."""
        await self.pipeline.close(2.0)
        return [(turn.asked.text, turn.answer, turn.thinkers) for turn in self.turns]


async def test_a_turn_ends_with_the_next_turn_or_with_the_call() -> None:
    log = Log()
    turns = log.over()
    turns.on_message("assistant", "Hello, this is a machine.", "m0")
    turns.on_message("user", "Will it rain?", "m1")
    turns.on_message("assistant", "Let me check.", "m2")
    turns.on_thinker(weather("routed"))
    turns.on_thinker(weather("complete"))
    turns.on_message("assistant", "It will.", "m3")
    turns.on_message("user", "Oh", "m4")
    turns.on_message("user", "no.", "m5")
    turns.on_message("assistant", "Sorry.", "m6")
    turns.close("disconnected")
    assert await log.seen() == [
        ("Will it rain?", "Let me check. It will.", ("weather",)),
        ("Oh no.", "Sorry.", ()),
    ]
    first = log.turns[0]
    assert (first.message_id, first.asked.source_mode, first.asked.user_id) == ("m3", "voice", "ada")


async def test_silence_ends_a_turn_unless_a_thinker_works() -> None:
    log = Log()
    turns = log.over(quiet_s=0.03)
    turns.on_message("user", "Will it rain?", "m1")
    turns.on_message("assistant", "Let me check.", "m2")
    turns.on_thinker(weather("routed"))
    await asyncio.sleep(0.06)
    assert log.turns == []
    turns.on_thinker(weather("complete"))
    turns.on_message("assistant", "It will.", "m3")
    await until(lambda: len(log.turns) == 1)
    turns.close("disconnected")
    assert await log.seen() == [("Will it rain?", "Let me check. It will.", ("weather",))]


async def test_a_question_without_an_answer_is_no_turn() -> None:
    log = Log()
    turns = log.over()
    turns.on_message("user", "Hello?", "m1")
    turns.close("network_lost")
    assert await log.seen() == []


async def test_post_steps_get_no_turn_of_a_deleted_call() -> None:
    log = Log()
    turns = log.over()
    turns.on_message("user", "A secret.", "m1")
    turns.on_message("assistant", "I see.", "m2")
    turns.close("deleted")
    assert await log.seen() == []


async def test_a_thinker_gets_the_notes_of_pre_steps_and_caches_personal_answers_per_user() -> None:
    @step("likes", stage="pre")
    async def likes(asked: Asked) -> Note | None:
        return Note("What they like", [f"{asked.user_id}'s tea"]) if asked.user_id == "ada" else None

    model = ScriptedModel(improvise=lambda messages, _: ["For all."])
    memory = FakeMemory()
    thinkers = tips(pipeline(likes), model, memory)

    async def ask(user: str) -> str:
        answer = await thinkers.answer(
            Question("tips", "What is good?", "s1", user, mode=Mode(name="work")), lambda _: None
        )
        return answer.source

    assert [await ask("ada"), await ask("ada")] == ["model", "cache"]
    assert "ada's tea" in model.requests[0]["messages"][0]["content"]
    assert [await ask("bo"), await ask("cy")] == [
        "model",
        "cache",
    ]  # an answer without personal notes is cached for all users
    assert "ada's tea" not in str(model.requests[1:])
    assert [key for key in await memory.export_user("ada") if "cache" in key]
    assert not [key for key in await memory.export_user("bo") if "cache" in key]


def tips(steps: Pipeline, model: ScriptedModel | None = None, memory: FakeMemory | None = None) -> ThinkerDispatcher:
    """Return one Thinker with these steps around it."""
    manifest = Manifest("tips", "Tips", "tips", "What is good?", "Give a tip.")
    dependencies = ThinkerDependencies(
        agent(model or ScriptedModel()), toolbox(), memory or FakeMemory(), load_settings(_env_file=None), steps
    )
    return ThinkerDispatcher(ThinkerRegistry([Thinker(manifest, ThinkerRun.answer)], dependencies))
