"""Search in the operator's own documents; `kb_store` keeps them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, tool
from backend.tools.kb_store import KnowledgeBase, Section


def kb_path(settings: Settings) -> Path:
    """Where the index lives."""
    return settings.data_dir / "kb.sqlite3"


@tool(
    "kb_search",
    "Searches the documents that the operator of this service has provided. Returns passages with their sources.",
    guidance="Documents: rely only on the passages returned, and name the document.",
    clients=OURS | {"copilot"},
)
async def kb_search(
    settings: Settings,
    query: Annotated[str, Field(min_length=1, max_length=500, description="Keywords or a question.")],
    count: Annotated[int, Field(ge=1, le=8, description="How many passages.")] = 4,
) -> Result:
    """No match is an empty list, with a note when there are no documents at all."""
    path = kb_path(settings)
    note = "" if path.exists() else "No documents have been added to this service."
    found = await asyncio.to_thread(KnowledgeBase(path).search, query, count)
    passages = [{"document": one.document, "section": one.heading, "text": one.text} for one in found]
    return Result({"passages": passages}, note=note, citations=tuple(dict.fromkeys(map(_citation, found))))


def _citation(section: Section) -> str:
    """The document and section; never the path, which is nobody's business."""
    return (
        f"{section.document}, {section.heading}" if section.heading not in ("", section.document) else section.document
    )
