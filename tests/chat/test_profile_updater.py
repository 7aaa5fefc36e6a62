"""Typed turns update the profile as calls do, and the messages of an erased user are dropped."""

from backend.chat.profile_updater import ChatProfileUpdater
from backend.chat.turn import ChatRequest
from backend.responders.base import PastMessage
from backend.settings.settings import load_settings
from backend.storage.memory import MemoryJob
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.users.profile import load_profile
from backend.users.profile_learner import SUMMARY_EVERY
from tests.support.chats import chat_over


class Requests:
    """Keeps the requests for summaries."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []

    def request(self, conversation_id: str, user_id: str, messages: tuple[PastMessage, ...]) -> None:
        self.asked.append((conversation_id, user_id, len(messages)))


async def test_a_summary_is_requested_every_few_turns_but_not_for_messages_of_an_erased_user() -> None:
    jobs: list[MemoryJob] = []
    memory, requests = FakeMemory(), Requests()
    updater = ChatProfileUpdater(jobs.append, requests)  # type: ignore[arg-type]
    model = ScriptedModel(improvise=lambda messages, _: ["Good."])
    chat = chat_over(load_settings(_env_file=None), memory, model, profiles=updater)

    async def say(text: str, times: int) -> None:
        for _ in range(times):
            await (await chat.begin(ChatRequest("ada", text, "c1"))).wait()

    try:
        await say("My name is Ada.", SUMMARY_EVERY - 1)
        assert requests.asked == []
        await chat.settle("ada")
        await say("Hello.", SUMMARY_EVERY - 1)
        assert requests.asked == [], "turns before the erasure still count"
        await say("Hello.", 1)
        assert requests.asked == [("c1", "ada", 2 * SUMMARY_EVERY)]
        for job in jobs[:1]:
            await job(memory)
        assert (await load_profile(memory, "ada")).preferences.name == "Ada"
    finally:
        await chat.close()
