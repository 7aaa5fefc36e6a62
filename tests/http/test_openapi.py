"""The OpenAPI document: complete in itself, and true about refusals."""

from __future__ import annotations

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
    """Every `$ref`, and every target of a discriminator, within `part`."""
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
    """What a reference within the document leads to. Raises `KeyError`."""
    assert reference.startswith("#/")
    for step in reference[2:].split("/"):
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def test_every_reference_leads_to_a_schema(document: Any) -> None:
    found = set(references(document))
    assert "#/components/schemas/SetOne" in found
    assert all(resolve(document, reference) for reference in found)


def test_no_definition_stands_where_openapi_does_not_look(document: Any) -> None:
    assert "$defs" not in str(document)


def test_every_operation_says_how_it_refuses(document: Any) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"401", "403", "404", "422", "429", "503"} <= set(operation["responses"])
    assert "HTTPValidationError" not in str(document)


async def test_a_refusal_has_the_documented_shape(browser: Browser, document: Any) -> None:
    refused = await browser.patch("/api/me", json={"changes": []})
    shown = document["paths"]["/api/me"]["patch"]["responses"][str(refused.status_code)]
    schema = resolve(document, shown["content"]["application/json"]["schema"]["$ref"])
    assert set(refused.json()) == set(schema["required"]) == set(schema["properties"])
    assert set(refused.json()["error"]) == set(schema["properties"]["error"]["properties"])


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/docs/", "/docs/index.html", "/docs/main.js"])
async def test_the_description_at_the_usual_paths_is_served_where_it_is_allowed(tmp_path: Path, path: str) -> None:
    for allowed, status in ((False, 404), (True, 200)):
        folder = tmp_path / str(allowed)
        folder.mkdir()
        async with page_world(folder, api_docs=allowed) as here, here.browser(follow_redirects=True) as browser:
            answer = await browser.get(path)
            assert answer.status_code == status
            if not allowed:
                assert (await browser.get("/api/openapi.json")).status_code == 200
                assert "API_DOCS=true" in answer.json()["error"]["hint"]
            elif path == "/openapi.json":
                assert answer.json() == (await browser.get("/api/openapi.json")).json()
