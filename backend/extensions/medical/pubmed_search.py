"""The tool `pubmed_search` searches PubMed through NCBI's E-utilities (no key needed, three requests a second).

They are documented at ncbi.nlm.nih.gov/books/NBK25499. `esearch` finds ids, `esummary` describes articles, and
`efetch` returns abstracts, as XML only.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal
from xml.etree import ElementTree

from httpx2 import AsyncClient
from pydantic import AfterValidator, AliasPath, Field, PlainSerializer

from backend.citations import Citation
from backend.errors import ToolFailed
from backend.extensions.medical.settings import MedicalSettings
from backend.tools.base import EVERYONE, Result, first_page, tool
from backend.tools.fetch import A, ServiceAnswer, fetch_answer, fetch_text

SERVICE = "PubMed"
ABSTRACT_LIMIT = 900
"""Characters of an abstract shown to the model; the conclusion stands at the end, so the middle is left out."""
KINDS = {
    "review": "review[pt]",
    "meta_analysis": "meta-analysis[pt]",
    "clinical_trial": "clinical trial[pt]",
    "guideline": "guideline[pt]",
}


@tool(
    "pubmed_search",
    "Searches medical research articles. Returns titles, journals, years and abstracts.",
    guidance="PubMed: say what kind of study it is, from what year, and how sure it makes one.",
    deadline_s=12.0,
    clients=EVERYONE,
    untrusted=True,
    searches="medical research",
)
async def pubmed_search(
    http: AsyncClient,
    settings: MedicalSettings,
    query: Annotated[str, Field(min_length=1, max_length=300, description="Medical terms.")],
    kind: Annotated[
        Literal["any", "review", "meta_analysis", "clinical_trial", "guideline"], "Kind of article."
    ] = "any",
    since_year: Annotated[int | None, Field(ge=1900, le=2100, description="Published in this year or later.")] = None,
    count: Annotated[int, Field(ge=1, le=5, description="How many articles.")] = 3,
) -> Result:
    """Return matching articles, or an empty list. Raise `ServiceUnreachable` or `ToolFailed`."""
    pubmed = _Pubmed(http, settings)
    terms = (f"({query})", KINDS.get(kind), f"{since_year}:3000[dp]" if since_year else None)
    ids = await pubmed.ids(" AND ".join(filter(None, terms)), count)
    if not ids:
        return Result({"articles": []}, empty=True, spoken=first_page([]))
    summaries, abstracts = await asyncio.gather(pubmed.summaries(ids), pubmed.abstracts(ids))
    articles = [
        {"pmid": id_, **summary.model_dump(), "abstract": abstracts.get(id_, "")} for id_, summary in summaries.items()
    ]
    spoken = first_page([(summary.title, abstracts.get(id_, "")) for id_, summary in summaries.items()])
    citations = tuple(_citation(*found) for found in summaries.items())
    return Result({"articles": articles}, citations=citations, spoken=spoken)


class _Search(ServiceAnswer):
    ids: list[Annotated[str, Field(pattern=r"^\d+$")]] = Field(validation_alias=AliasPath("esearchresult", "idlist"))


class _Author(ServiceAnswer):
    name: str = ""


def _named(authors: Sequence[_Author]) -> str:
    return f"{authors[0].name} and others" if len(authors) > 1 else "".join(author.name for author in authors)


class _Summary(ServiceAnswer):
    title: Annotated[str, AfterValidator(lambda title: title.rstrip("."))] = ""
    journal: str = Field("", alias="source")
    year: Annotated[str, AfterValidator(lambda date: date[:4])] = Field("", alias="pubdate")
    authors: Annotated[tuple[_Author, ...], PlainSerializer(_named)] = ()
    kinds: list[str] = Field([], alias="pubtype")


class _Summaries(ServiceAnswer):
    result: dict[str, _Summary | list[str]]
    """Id → summary; the key `uids` lists the ids."""


class _Pubmed:
    """The three requests of NCBI's E-utilities."""

    def __init__(self, http: AsyncClient, settings: MedicalSettings) -> None:
        self._http = http
        self._url = settings.ncbi_url.rstrip("/")
        self._params = {"db": "pubmed", "tool": "responder-thinker"}
        if settings.ncbi_api_key:
            self._params["api_key"] = settings.ncbi_api_key.get_secret_value()

    async def ids(self, term: str, count: int) -> list[str]:
        return (await self._get("esearch", _Search, term=term, retmax=str(count), sort="relevance")).ids

    async def summaries(self, ids: list[str]) -> dict[str, _Summary]:
        result = (await self._get("esummary", _Summaries, id=",".join(ids))).result
        return {id_: found for id_ in ids if isinstance(found := result.get(id_), _Summary)}

    async def abstracts(self, ids: list[str]) -> dict[str, str]:
        """Return the abstracts by id. If the request fails, return none: titles alone are useful."""
        params = {**self._params, "id": ",".join(ids), "retmode": "xml"}
        try:
            text = await fetch_text(self._http, SERVICE, f"{self._url}/efetch.fcgi", params)
            return dict(map(_abstract, ElementTree.fromstring(text).iter("PubmedArticle")))
        except (ToolFailed, ElementTree.ParseError):
            return {}

    async def _get(self, utility: str, form: type[A], **params: str) -> A:
        params = {**self._params, **params, "retmode": "json"}
        return await fetch_answer(self._http, SERVICE, f"{self._url}/{utility}.fcgi", form, params)


def _abstract(article: ElementTree.Element) -> tuple[str, str]:
    paragraphs = []
    for part in article.iter("AbstractText"):
        label, text = part.get("Label"), "".join(part.itertext()).strip()
        paragraphs.append(f"{label.capitalize()}: {text}" if label else text)
    text = " ".join(paragraphs)
    if len(text) > ABSTRACT_LIMIT:
        text = f"{text[: ABSTRACT_LIMIT // 3]} … {text[-(2 * ABSTRACT_LIMIT) // 3 :]}"
    return article.findtext(".//PMID", ""), text


def _citation(id_: str, summary: _Summary) -> Citation:
    where = ", ".join(filter(None, (summary.journal, summary.year)))
    return Citation(f"{summary.title}. {where}", f"https://pubmed.ncbi.nlm.nih.gov/{id_}/")
