"""A server without a provider: the page says which ears, voice and mind are at work, in the page's quiet colors."""

from __future__ import annotations

import pytest

from backend.testing.services.server import serving
from tests.support.browser import chromium
from tests.support.chat_api import ended, stream, words
from tests.support.real_server import real_server

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

COLORS = """() => {
  const { color, backgroundColor } = getComputedStyle(document.querySelector("[data-testid=offline-banner]"));
  const probe = document.body.appendChild(document.createElement("i"));
  const loud = ["--alarm", "--alarm-ground", "--warm", "--warm-ground"].map((name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return { shown: [color, backgroundColor], loud };
}"""
"""The banner's colors, and those of the page that mean an error or a warning."""


async def test_ears_voice_and_rules_are_named_without_an_alarm_color() -> None:
    async with real_server() as url, chromium() as tab:
        for scheme in ("dark", "light"):
            await tab.page.emulate_media(color_scheme=scheme)
            await tab.open(url)
            for part in ("Moonshine", "heart", "no language model"):
                await tab.sees("offline-banner", part)
            colors = await tab.page.evaluate(COLORS)
            assert len(set(colors["loud"])) == 4
            assert not {*colors["shown"]} & {*colors["loud"]}


async def test_a_model_of_ones_own_is_named_in_the_place_of_the_rules() -> None:
    answer = stream(words("Hello."), ended())
    async with serving(lambda _: answer) as model:
        settings = {"LOCAL_MODEL_URL": model.url, "LOCAL_MODEL": "llama3.2"}
        async with real_server(**settings) as url, chromium() as tab:
            await tab.open(url)
            await tab.sees("offline-banner", "llama3.2")
            banner = await tab.text("offline-banner")
    assert "Moonshine" in banner and "no language model" not in banner
