"""The medical Thinker informs, cites, computes, and says what it is not."""

import json

from backend.extensions.medical.stand_in import pubmed
from backend.settings.settings import Settings, load_settings
from backend.testing.services.server import serving
from tests.support.agents import call
from tests.thinkers.world import world

SEARCH = [call("pubmed_search", '{"query": "vitamin d colds"}')]
BMI = [call("medical_calculator", json.dumps({"score": "bmi", "values": {"weight_kg": 70, "height_cm": 175}}))]


def settings_for(url: str) -> Settings:
    return load_settings(_env_file=None, medical={"ncbi_url": url})


async def test_findings_come_with_citations_and_a_word_about_doctors() -> None:
    found = ["A review found fewer colds."]
    async with serving(pubmed) as server, world(SEARCH, found, settings=settings_for(server.url)) as w:
        answer = await w.ask("medical", "Does vitamin D help?")
    assert answer.text == "A review found fewer colds. I am not a doctor, so please check this with one."
    assert answer.source == "live"
    assert "pubmed.ncbi.nlm.nih.gov/11" in answer.citations[0].url


async def test_a_score_is_computed_and_never_guessed() -> None:
    async with world(BMI, ["It is 22.9, a normal weight. Ask your doctor."]) as w:
        answer = await w.ask("medical", "What is my BMI?")
        assert '"value": 22.9' in w.model.requests[-1]["messages"][-1]["content"]
    assert answer.text == "It is 22.9, a normal weight. Ask your doctor."


async def test_health_answers_are_for_their_user_only() -> None:
    async with world(BMI, ["For Ada."], BMI, ["For Bob."]) as w:
        await w.ask("medical", "My BMI?", user="ada")
        assert (await w.ask("medical", "My BMI?", user="bob")).text.startswith("For Bob.")
        assert (await w.ask("medical", "My BMI?", user="ada")).source == "cache"


async def test_research_searches_medical_articles_too() -> None:
    plan = [json.dumps({"searches": [{"query": "vitamin d", "sources": ["pubmed_search"]}]})]
    async with serving(pubmed) as server, world(plan, ["[]"], ["Fewer colds."], settings=settings_for(server.url)) as w:
        answer = await w.ask("research", "Does vitamin D help?")
    assert (answer.source, w.progress[1]) == ("live", "searched medical research (1 of 1)")
    assert "pubmed.ncbi.nlm.nih.gov/11" in answer.citations[0].url
