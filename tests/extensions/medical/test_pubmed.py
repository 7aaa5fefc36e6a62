"""PubMed against a server that speaks the E-utilities' JSON and XML, and against one that does not."""

from typing import Any

import httpx2
import pytest

from backend.citations import Citation
from backend.extensions.medical.pubmed_search import ABSTRACT_LIMIT, pubmed_search
from backend.extensions.medical.settings import MedicalSettings
from backend.extensions.medical.stand_in import ABSTRACTS, pubmed
from backend.settings.settings import load_settings
from backend.testing.services.server import ApiServer, Handler, Reply, Request, json_reply, serving, text_reply
from backend.tools.base import Result
from backend.tools.fetch import ServiceUnreachable


async def searched(handler: Handler = pubmed, **arguments: Any) -> tuple[Result, ApiServer]:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        given = {"ncbi_url": server.url, "ncbi_api_key": "k"}
        settings = load_settings(_env_file=None, medical=given).of(MedicalSettings)
        return await pubmed_search(http, settings, **{"query": "vitamin d", **arguments}), server


@pytest.mark.document("000", "eight tools")
async def test_articles_come_with_abstracts_and_citations() -> None:
    result, _ = await searched()
    first, second = result.data["articles"]
    assert first == {
        "pmid": "11",
        "title": "Vitamin D and colds",
        "journal": "Lancet",
        "year": "2023",
        "authors": "Smith J and others",
        "kinds": ["Journal Article", "Review"],
        "abstract": "Background: Colds are common. Results: Fewer colds.",
    }
    assert (second["year"], second["abstract"]) == ("2019", "")
    assert result.spoken == "Vitamin D and colds: Background: Colds are common. Results: Fewer colds."
    assert result.citations[0] == Citation("Vitamin D and colds. Lancet, 2023", "https://pubmed.ncbi.nlm.nih.gov/11/")


async def test_filters_enter_the_term() -> None:
    _, server = await searched(kind="meta_analysis", since_year=2020, count=2)
    query = server.requests[0].query
    assert query["term"] == "(vitamin d) AND meta-analysis[pt] AND 2020:3000[dp]"
    assert (query["retmax"], query["db"], query["api_key"]) == ("2", "pubmed", "k")


async def test_an_empty_search_gives_an_empty_list_and_no_second_request() -> None:
    result, server = await searched(query="nothing")
    assert result.data["articles"] == []
    assert result.empty
    assert len(server.requests) == 1


@pytest.mark.parametrize("abstracts", [text_reply("<broken"), json_reply({}, 500), text_reply("<a/>")])
async def test_without_abstracts_the_titles_still_come(abstracts: Reply) -> None:
    def handler(request: Request) -> Reply:
        return abstracts if request.path == "/efetch.fcgi" else pubmed(request)

    result, _ = await searched(handler)
    assert [one["abstract"] for one in result.data["articles"]] == ["", ""]


async def test_a_long_abstract_keeps_its_beginning_and_its_end() -> None:
    long = ABSTRACTS.replace("Fewer colds.", "word " * 1_000 + "Conclusion: it works.")

    def handler(request: Request) -> Reply:
        return text_reply(long) if request.path == "/efetch.fcgi" else pubmed(request)

    result, _ = await searched(handler)
    abstract = result.data["articles"][0]["abstract"]
    assert len(abstract) <= ABSTRACT_LIMIT + 3
    assert abstract.startswith("Background: Colds")
    assert abstract.endswith("it works.")


@pytest.mark.parametrize("where", ["/esearch.fcgi", "/esummary.fcgi"])
async def test_a_failure_is_an_error_and_no_finding_is_made_up(where: str) -> None:
    with pytest.raises(ServiceUnreachable):
        await searched(lambda request: Reply(503) if request.path == where else pubmed(request))
