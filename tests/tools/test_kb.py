"""The operator's documents: how they are added, and how passages are found."""

import gc
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from backend.citations import Citation
from backend.errors import ToolFailed
from backend.settings.settings import load_settings
from backend.tools.base import Result
from backend.tools.kb_search import SECTION_LIMIT, KnowledgeBase, kb_search, sections_of

HANDBOOK = """# Handbook

Welcome.

## Holidays

Everybody has thirty days of holiday a year.

## Café

The café opens at nine.
"""


def base(folder: Path, **documents: str) -> KnowledgeBase:
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    for name, text in documents.items():
        (docs / f"{name}.md").write_text(text)
    kb = KnowledgeBase(folder / "var" / "kb.sqlite3")
    if documents:
        kb.add(docs)
    return kb


async def asked(folder: Path, query: str) -> Result:
    return await kb_search(load_settings(_env_file=None, data_dir=folder / "var"), query)


@pytest.mark.document("000", "eight tools")
async def test_a_passage_is_found_with_its_document_and_section(tmp_path: Path) -> None:
    base(tmp_path, handbook=HANDBOOK, other="# Other\n\nNothing here.")
    result = await asked(tmp_path, "how many holidays do I have?")
    passage = result.data["passages"][0]
    assert passage == {
        "document": "Handbook",
        "section": "Holidays",
        "text": "Everybody has thirty days of holiday a year.",
    }
    assert result.citations[0] == Citation("Handbook, Holidays")
    assert str(tmp_path) not in str(result)


@pytest.mark.document("002", "logs and databases")
async def test_questions_are_answered_while_documents_are_being_added(tmp_path: Path) -> None:
    base(tmp_path, handbook=HANDBOOK)
    with closing(sqlite3.connect(tmp_path / "var" / "kb.sqlite3")) as adding:
        adding.execute("BEGIN EXCLUSIVE")
        adding.execute("INSERT INTO sections VALUES ('New', 'Half', 'written holidays', 'new.md')")
        result = await asked(tmp_path, "how many holidays do I have?")
        adding.rollback()
    assert [passage["document"] for passage in result.data["passages"]] == ["Handbook"]


async def test_the_command_adds_documents_for_the_server_to_search(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    command = [sys.executable, "-c", "from backend.app.cli import main; main()", "kb", "add"]
    environment = {**os.environ, "DATA_DIR": str(tmp_path / "var")}

    def run(path: str) -> subprocess.CompletedProcess[str]:
        argv = [*command, str(tmp_path / path)]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert run("handbook.md").stdout == "1 document can be searched.\n"
    assert (await asked(tmp_path, "holidays")).data["passages"]
    missing = run("missing.md")
    assert missing.returncode == 2
    assert "Error: There is nothing at" in missing.stderr


@pytest.mark.parametrize(
    "query", ['"', "AND OR NOT", "NEAR(", "q* -b ^z", "document:x", "'; DROP TABLE sections", "🙂"]
)
async def test_no_query_breaks_the_search(tmp_path: Path, query: str) -> None:
    none = await asked(tmp_path, query)
    assert none.empty and "No documents" in none.note
    base(tmp_path, handbook=HANDBOOK)
    assert (await asked(tmp_path, query)).data["passages"] == []
    assert (await asked(tmp_path, "cafe")).data["passages"][0]["section"] == "Café", "without its accent"


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_an_unusable_connection_is_closed_immediately(tmp_path: Path) -> None:
    """From Python 3.13 on, a connection left open is also a warning. Before that, only its file shows it."""
    kb = KnowledgeBase(tmp_path / "kb.sqlite3")
    kb.path.write_text("this is no database, and it is long enough to look like one" * 10)
    (tmp_path / "one.md").write_text("# One")
    with pytest.raises(ToolFailed) as searched:
        kb.search("x", 1)
    with pytest.raises(sqlite3.DatabaseError) as added:
        kb.add(tmp_path / "one.md")
    assert searched.tb and added.tb, "the objects that the errors refer to still exist"
    assert kb.path.resolve() not in {each.resolve() for each in Path("/proc/self/fd").iterdir()}
    gc.collect()


def test_adding_again_replaces_documents_and_removes_deleted_files(tmp_path: Path) -> None:
    kb = base(tmp_path, one="# One\n\napples", two="# Two\n\npears")
    assert len(kb.search("apples", 9)) == 1
    (tmp_path / "docs" / "one.md").write_text("# One\n\nplums")
    (tmp_path / "docs" / "two.md").unlink()
    (tmp_path / "doc_").mkdir()
    (tmp_path / "doc_" / "three.md").write_text("figs")
    kb.add(tmp_path / "doc_")
    assert kb.add(tmp_path / "docs") == 1
    assert [len(kb.search(word, 9)) for word in ("apples", "pears", "plums", "figs")] == [0, 0, 1, 1]


def test_hidden_files_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    kb = base(tmp_path, one="apples")
    (tmp_path / "docs" / ".secret.md").write_text("apples")
    (tmp_path / "docs" / "image.png").write_bytes(b"apples")
    (tmp_path / "docs" / "plain.TXT").write_text("apples")
    assert kb.add(tmp_path / "docs") == 2
    assert len(kb.search("apples", 9)) == 2


def test_long_sections_are_cut_between_paragraphs(tmp_path: Path) -> None:
    file = tmp_path / "my_long-file.md"
    file.write_text("\n\n".join(["word " * 100] * 10) + "\n\n" + "x" * 3_000)
    sections = list(sections_of(file))
    assert all(len(section.text) <= SECTION_LIMIT for section in sections)
    assert sections[0].document == "my long file"
    assert sum(section.text.count("word") for section in sections) == 1_000
    assert sum(section.text.count("x") for section in sections) == 3_000
