"""The OpenAPI document is complete, and describes refusals as they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Browser, world
from tests.support.page import page_world


@pytest.fixture
async def document(tmp_path: Path) -> Any:
    async with world(tmp_path) as here, here.browser() as browser:
        return (await browser.get("/api/openapi.json")).json()


def references(part: Any) -> Iterator[str]:
    """Yield every `$ref` and every target of a discriminator within `part`."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        if isinstance(part.get("discriminator"), dict):
            yield from part["discriminator"].get("mapping", {}).values()
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def resolve(document: Any, reference: str) -> Any:
    """Return the target of a reference within the document. Raises `KeyError`."""
    assert reference.startswith("#/")
    for step in reference[2:].split("/"):
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def test_every_reference_leads_to_a_schema(document: Any) -> None:
    found = set(references(document))
    assert "#/components/schemas/SetPreference" in found
    assert all(resolve(document, reference) for reference in found)


def test_all_definitions_are_among_the_components(document: Any) -> None:
    assert "$defs" not in str(document)


def test_every_operation_documents_its_refusals(document: Any) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            assert "Error" in operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"]
    assert "HTTPValidationError" not in str(document)


async def test_a_refusal_has_the_documented_shape(browser: Browser, document: Any) -> None:
    refused = await browser.patch("/api/me", json={"changes": []})
    shown = document["paths"]["/api/me"]["patch"]["responses"]["default"]
    schema = resolve(document, shown["content"]["application/json"]["schema"]["$ref"])
    assert set(refused.json()) == set(schema["required"]) == set(schema["properties"])
    assert set(refused.json()["error"]) == set(schema["properties"]["error"]["properties"])


@pytest.mark.document("001", "offer and page")
async def test_the_openapi_document_is_also_at_the_usual_paths(tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, here.browser(follow_redirects=True) as browser:
        assert (await browser.get("/docs")).status_code == (await browser.get("/docs/main.js")).status_code == 200
        assert (await browser.get("/openapi.json")).json() == (await browser.get("/api/openapi.json")).json()
