"""A local stand-in for NCBI's E-utilities, which answers with the documented JSON and XML."""

from typing import Any

from backend.testing.services.server import Reply, Request, json_reply, text_reply
from backend.testing.services.services import StandIn


def summary(title: str, **fields: Any) -> dict[str, Any]:
    """Return an article in the form of `esummary`."""
    return {
        "title": title,
        "source": "Lancet",
        "pubdate": "2023 Jan 5",
        "authors": [{"name": "Smith J", "authtype": "Author"}, {"name": "Doe A", "authtype": "Author"}],
        "pubtype": ["Journal Article", "Review"],
        **fields,
    }


ABSTRACTS = """<?xml version="1.0"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">11</PMID><Article><Abstract>
<AbstractText Label="BACKGROUND">Colds are <i>common</i>.</AbstractText>
<AbstractText Label="RESULTS">Fewer colds.</AbstractText>
</Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""


def pubmed(request: Request) -> Reply:
    """Answer a request as the E-utilities do, from two articles."""
    match request.path:
        case "/esearch.fcgi":
            ids = [] if "nothing" in request.query["term"] else ["11", "12"]
            return json_reply({"header": {"type": "esearch"}, "esearchresult": {"count": "2", "idlist": ids}})
        case "/esummary.fcgi":
            articles = {"11": summary("Vitamin D and colds."), "12": summary("Zinc.", authors=[], pubdate="2019")}
            return json_reply({"header": {"type": "esummary"}, "result": {"uids": ["11", "12"], **articles}})
        case "/efetch.fcgi":
            return text_reply(ABSTRACTS, content_type="text/xml")
    return json_reply({}, 404)


def as_service() -> StandIn:
    """Return PubMed as one of the services of tests and demonstrations."""
    return StandIn("medical", pubmed, lambda url: {"medical__ncbi_url": url})
