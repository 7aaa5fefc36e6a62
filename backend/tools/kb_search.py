"""The search in the operator's own documents: Markdown and text files in one SQLite file with a full-text index.

A document is cut at its headings into sections of up to 1,200 characters; a search returns sections, best first by
BM25. Adding a file again replaces it; adding a folder also drops what was deleted from it since.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.access.principal import ToolScope
from backend.citations import Citation
from backend.errors import SetupError, ToolFailed
from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, first_page, tool

SECTION_LIMIT = 1_200
"""Characters of a section; longer ones are cut between paragraphs."""
FILE_LIMIT = 5_000_000
"""Bytes of a file; larger ones are refused."""
SUFFIXES = frozenset({".md", ".markdown", ".txt"})
BUSY_S = 2.0
"""Seconds to wait while another process writes."""


@tool(
    "kb_search",
    "Searches the documents that the operator of this service has provided. Returns passages with their sources.",
    guidance="Documents: rely only on the passages returned, and name the document.",
    clients=OURS | {"copilot"},
    scope=ToolScope.OPERATOR,
    untrusted=True,
    searches="the documents",
)
async def kb_search(
    settings: Settings,
    query: Annotated[str, Field(min_length=1, max_length=500, description="Keywords or a question.")],
    count: Annotated[int, Field(ge=1, le=8, description="How many passages.")] = 4,
) -> Result:
    """Return an empty list when nothing matches, with a note when there are no documents at all."""
    path = kb_path(settings)
    note = "" if path.exists() else "No documents have been added to this service."
    found = await asyncio.to_thread(KnowledgeBase(path).search, query, count)
    passages = [{"document": one.document, "section": one.heading, "text": one.text} for one in found]
    citations = tuple(dict.fromkeys(map(_citation, found)))
    spoken = first_page([(one.document, one.text) for one in found])
    return Result({"passages": passages}, note=note, citations=citations, empty=not found, spoken=spoken)


def _citation(section: Section) -> Citation:
    """Return the document and section; never the path, which stays private."""
    heading = "" if section.heading in ("", section.document) else f", {section.heading}"
    return Citation(f"{section.document}{heading}")


def kb_path(settings: Settings) -> Path:
    """Return the path of the index."""
    return settings.memory.data_dir / "kb.sqlite3"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document."""

    document: str
    """The document's title: its first heading, else its file's name."""
    heading: str
    text: str
    path: str


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """The index at `path`. Methods block; each opens a connection of its own, so any thread may call them."""

    path: Path

    def add(self, source: Path) -> int:
        """Index a file, or all of a folder; return the number of documents. Raise `SetupError`."""
        source = source.resolve()
        if not source.exists():
            raise SetupError(f"There is nothing at {source}.", hint="Name a Markdown or text file, or a folder.")
        files = sorted(_documents(source))
        if not files:
            raise SetupError(f"{source} contains no document.", hint=f"Documents end in {', '.join(sorted(SUFFIXES))}.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as database, database:
            inside = f"{source}/"
            database.execute(
                "DELETE FROM sections WHERE path = ? OR substr(path, 1, ?) = ?", (str(source), len(inside), inside)
            )
            for file in files:
                database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?)", map(astuple, sections_of(file)))
        return len(files)

    def search(self, query: str, limit: int) -> list[Section]:
        """Return the best sections for any of the query's words; none without an index. Raise `ToolFailed`."""
        words = list(dict.fromkeys(re.findall(r"\w+", query)))[:32]
        if not words or not self.path.exists():
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        try:
            with closing(self._open()) as database:
                rows = database.execute(
                    "SELECT document, heading, text, path FROM sections WHERE sections MATCH ? "
                    "ORDER BY bm25(sections, 4.0, 3.0, 1.0) LIMIT ?",
                    (match, limit),
                ).fetchall()
        except sqlite3.Error as error:
            raise ToolFailed("The document index cannot be read.") from error
        return [Section(*row) for row in rows]

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=BUSY_S)
        try:
            database.execute("PRAGMA journal_mode=WAL")  # questions are answered while documents are being added
            database.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS sections USING fts5("
                "document, heading, text, path UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.Error:
            database.close()
            raise
        return database


def sections_of(file: Path) -> Iterator[Section]:
    """Yield the sections of one document, in order."""
    text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    title = heading = ""
    for block in re.split(r"^(?=#{1,6} )", text, flags=re.MULTILINE):
        first, _, rest = block.partition("\n")
        if marked := re.match(r"#{1,6} +(.+?)[ #]*$", first):
            heading, block = marked[1], rest
            title = title or heading
        for part in _parts(block.strip()):
            yield Section(title or file.stem.replace("-", " ").replace("_", " "), heading, part, str(file))


def _parts(text: str) -> Iterator[str]:
    """Yield `text` in pieces within the limit, cut between paragraphs where possible."""
    piece = ""
    for paragraph in re.split(r"\n\s*\n", text):
        while len(paragraph) > SECTION_LIMIT:
            cut = paragraph.rfind(" ", 1, SECTION_LIMIT)
            cut = cut if cut > 0 else SECTION_LIMIT
            yield from filter(None, [piece, paragraph[:cut].strip()])
            piece, paragraph = "", paragraph[cut:].strip()
        if piece and len(piece) + len(paragraph) + 2 > SECTION_LIMIT:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}".strip()
    if piece:
        yield piece


def _documents(source: Path) -> Iterator[Path]:
    """Yield the documents at `source`, without hidden ones and other kinds of file. Raise `SetupError`."""
    for file in source.rglob("*") if source.is_dir() else [source]:
        relative = file.relative_to(source) if source.is_dir() else Path(file.name)
        if any(part.startswith(".") for part in relative.parts) or file.suffix.lower() not in SUFFIXES:
            continue
        if file.is_file():
            if file.stat().st_size > FILE_LIMIT:
                raise SetupError(f"{file} is over {FILE_LIMIT // 1_000_000} MB.", hint="Split it, or leave it out.")
            yield file
