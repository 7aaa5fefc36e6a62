"""One conversation through every Thinker, against local stand-ins of every service."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from backend.citations import Citation
from backend.settings.settings import load_settings
from backend.storage.messages import Message
from backend.testing.model import Scene, ScriptedModel
from backend.testing.services.server import serving
from backend.testing.services.services import every_service, pointing_at
from backend.tools.discovery import package_modules
from backend.tools.kb_search import KnowledgeBase
from tests.support.agents import call
from tests.thinkers.world import world

CONVERSATION = {
    "weather": ("get_current_weather", {"location": "Seattle"}),
    "stocks": ("get_stock_price", {"symbol": "Apple"}),
    "news": ("get_news_headlines", {"topic": "space"}),
    "assistant": ("remember_preference", {"name": "time_zone", "value": "Europe/Oslo"}),
    "reason": ("calculate", {"expression": "6 * 7"}),
    "tasks": ("background_tasks", {"action": "list"}),
    "memory": ("manage_prompt", {"action": "list"}),
    "research": (None, {}),
    "knowledge": (None, {}),
}


def scene(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Scene:
    """A model that calls the tool named in the question, plans for research, and answers."""
    if "Reply with JSON only" in messages[0]["content"]:
        searches = [{"query": "holidays", "sources": ["web_search", "get_news_headlines", "kb_search"]}]
        return [json.dumps({"searches": [] if "Findings" in messages[-1]["content"] else searches})]
    name, arguments = json.loads(messages[-1]["content"]) if messages[-1]["role"] == "user" and tools else (None, {})
    return [call(name, json.dumps(arguments))] if name else ["An answer."]


def _is_thinker(module: ModuleType) -> bool:
    return hasattr(module, "MANIFEST")


async def test_every_thinker_of_the_core_answers_from_its_services(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text("# Handbook\n\n## Holidays\n\nThirty days.")
    KnowledgeBase(tmp_path / "kb.sqlite3").add(tmp_path / "handbook.md")
    async with serving(every_service) as server:
        settings = load_settings(_env_file=None, data_dir=tmp_path, **pointing_at(server.url))
        async with world(model=ScriptedModel(improvise=scene), settings=settings) as w:
            core = {module.MANIFEST.domain for module in package_modules("backend.thinkers") if _is_thinker(module)}
            assert core == set(CONVERSATION)
            answers = {domain: await w.ask(domain, json.dumps(step)) for domain, step in CONVERSATION.items()}
    assert answers.pop("knowledge").source == "model"
    assert {domain: answer.source for domain, answer in answers.items()} == dict.fromkeys(answers, "live")
    assert answers.pop("reason").citations == ()  # a sum needs no source
    for own in ("assistant", "memory", "tasks"):
        assert answers.pop(own).citations == ()  # nor do the user's own affairs
    assert all(answer.citations for answer in answers.values())
    assert Citation("Handbook, Holidays") in answers["research"].citations
    assert answers["research"].tool_calls == 3


@pytest.mark.document("001", "conversation history")
async def test_a_thinker_sees_ten_turns_unless_its_manifest_says_otherwise() -> None:
    async with world(["Yes."], ["Because."], [call("get_current_weather", "{}")], ["Which?"]) as w:
        said = [
            Message(role, f"{role} {turn}.", float(turn)) for turn in range(1, 13) for role in ("user", "assistant")
        ]
        await w.memory.append_messages("ada", "s1", *said)
        shown: dict[str, bool] = {}
        for domain, first in (("assistant", 3), ("knowledge", 9)):
            await w.ask(domain, "And that?")
            shown[domain] = f"user {first}." in w.system() and f"assistant {first - 1}." not in w.system()
        await w.ask("weather", "And there?")
    assert shown == {"assistant": True, "knowledge": True}
    assert "user 12." not in w.system(), "an answer that other users may get uses no conversation"
