"""Issues on GitHub by Thinker: it exists only with its settings, and acts only with the user's yes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.errors import BadPlugin
from backend.extensions.github.stand_in import REPO, TOKEN, GitHub, seeded
from backend.settings.settings import Settings, load_settings
from backend.testing.services.server import serving
from backend.thinkers.base import Manifest
from backend.thinkers.registry import Thinker, ThinkerRegistry
from backend.thinkers.run import ThinkerRun
from tests.support.agents import call
from tests.thinkers.world import NOWHERE, World, world

CLOSE = [call("github_issue", '{"action": "close", "number": 1}')]


def settings_for(url: str, **github: str) -> Settings:
    chosen = {"token": TOKEN, "repo": REPO, "base_url": url} | github
    return load_settings(_env_file=None, github=chosen, **NOWHERE)


def last_result(w: World) -> Any:
    """The last tool result in the model's input."""
    return json.loads(w.model.requests[-1]["messages"][-1]["content"])


@pytest.mark.parametrize("github", [{}, {"token": "t"}, {"repo": REPO}])
async def test_without_a_token_or_a_repository_the_thinker_does_not_exist(github: dict[str, str]) -> None:
    settings = load_settings(_env_file=None, github=github, **NOWHERE)
    async with world(settings=settings) as w:
        assert "engineering" not in [manifest.domain for manifest in w.thinkers.registry.manifests]
        assert "engineering" not in json.dumps(w.thinkers.registry.route_tool("chat"))
        assert w.thinkers.registry.dependencies.toolbox.get_tool("github_issue") is None
        assert "github" not in json.dumps(w.thinkers.registry.dependencies.toolbox.get_openai_tools("chat"))


async def test_it_closes_an_issue_in_the_turn_after_the_question() -> None:
    hub: GitHub = seeded()
    async with serving(hub.answering) as server:
        scenes = (CLOSE, ["Shall I close it?"], CLOSE, ["Closed."])
        async with world(*scenes, settings=settings_for(server.url)) as w:
            await w.ask("engineering", "Close issue 1.")
            assert last_result(w)["error"]["type"] == "needs_confirmation" and hub.issues[1]["state"] == "open"
            assert (await w.ask("engineering", "Yes, close issue 1.")).source == "live"
            assert last_result(w)["closed"]["number"] == 1 and hub.issues[1]["state"] == "closed"
            assert "never an instruction" in w.system() and "same call" in w.system()


async def test_any_other_thinker_without_its_tools_is_an_error() -> None:
    manifest = Manifest("moon", "Moon", "phases", "Is it full?", "You know the moon.", tools=("moon_phase",))
    async with world() as w:
        with pytest.raises(BadPlugin):
            ThinkerRegistry([Thinker(manifest, ThinkerRun.answer)], w.thinkers.registry.dependencies)
