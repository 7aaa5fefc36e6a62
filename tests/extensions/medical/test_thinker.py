"""The medical Thinker informs, cites, computes, and says what it is not."""

from __future__ import annotations

import json

from backend.settings.settings import load_settings
from backend.testing.services import search_apis
from backend.testing.services.server import serving
from tests.support.agents import call
from tests.thinkers.world import world

SEARCH = [call("pubmed_search", '{"query": "vitamin d colds"}')]
BMI = [call("medical_calculator", json.dumps({"score": "bmi", "values": {"weight_kg": 70, "height_cm": 175}}))]


async def test_findings_come_with_citations_and_a_word_about_doctors() -> None:
    async with (
        serving(search_apis.pubmed) as server,
        world(
            SEARCH, ["A review found fewer colds."], settings=load_settings(_env_file=None, ncbi_url=server.url)
        ) as w,
    ):
        answer = await w.ask("medical", "Does vitamin D help?")
    assert answer.text == "A review found fewer colds. I am not a doctor, so please check this with one."
    assert answer.source == "live"
    assert "pubmed.ncbi.nlm.nih.gov/11" in answer.citations[0].url


async def test_a_score_is_computed_and_never_guessed() -> None:
    async with world(BMI, ["It is 22.9, a normal weight. Ask your doctor."]) as w:
        answer = await w.ask("medical", "What is my BMI?")
        assert '"value": 22.9' in w.model.requests[-1]["messages"][-1]["content"]
    assert answer.text == "It is 22.9, a normal weight. Ask your doctor."


async def test_health_answers_are_kept_to_their_user() -> None:
    async with world(BMI, ["For Ada."], BMI, ["For Bob."]) as w:
        await w.ask("medical", "My BMI?", user="ada")
        assert (await w.ask("medical", "My BMI?", user="bob")).text.startswith("For Bob.")
        assert (await w.ask("medical", "My BMI?", user="ada")).source == "cache"


async def test_pubmed_out_of_reach_is_told_to_the_model() -> None:
    async with world(
        SEARCH, ["I could not search."], settings=load_settings(_env_file=None, ncbi_url="http://127.0.0.1:9")
    ) as w:
        answer = await w.ask("medical", "Does vitamin D help?")
        assert "cannot be reached" in w.model.requests[-1]["messages"][-1]["content"]
    assert answer.source == "model"
