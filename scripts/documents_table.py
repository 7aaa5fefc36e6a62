"""Write `docs/documents.md`: the five design documents, with the tests that hold each row and run each block of code.

Rows are in `tests/documents/rows.toml`, the documents' blocks of code in `tests/documents/blocks/`, with a table in
`blocks.toml`. Which tests hold them is read from the marks `document` and `block` in the source of the tests. A row
without a test, a mark without a row and a file that does not exist are errors.

`python -m scripts.documents_table` writes the page; `--check` only compares, and fails when it is out of date.
"""

import ast
import difflib
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "documents.md"
DATA = ROOT / "tests" / "documents"
OUTCOMES = {
    "run": "run as it stands",
    "adapted": "run with changes, which are shown",
    "compared": "a sketch, compared with ours by a test",
    "refused": "refused, with the reason",
}
"""Outcome of a block of code → what it means."""
UNTRIED = "not tried"
"""The outcome of a block that no test has in its mark, unless it is refused."""
INTRODUCTION = """# The documents, row by row

This server implements five design documents. Each row is a function that a document asks for, with the files where it
is and the tests that hold it. This page is generated from the marks of these tests (`scripts/documents_table.py`).
Where a row is otherwise here, it says so; [`architecture.md`](architecture.md#where-the-documents-say-otherwise) says
why. At the end stand the documents' blocks of code, and what became of each.
"""

Held = Mapping[tuple[str, str], list[str]]
"""The tests that hold each row of a document or run each block, as `path::function`."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code of a document."""

    name: str
    outcome: str
    text: str
    ours: str
    """The text with our changes; empty without any."""
    reason: str
    tests: tuple[str, ...]


class Astray(Exception):
    """The data or the marks claim what is not there."""


def held(root: Path = ROOT) -> Held:
    """Return the tests of each row and block, by the marks in the source; a file's mark counts for the whole file."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted((*(root / "tests").rglob("*.py"), *(root / "examples").rglob("test_*.py"))):
        text = path.read_text()
        if "mark.document(" in text or "mark.block(" in text:
            for key, function in _marks(ast.parse(text)):
                found[key].append(f"{path.relative_to(root)}{function and '::'}{function}")
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield each row and block that is marked in a module, with the name of the test, or "" for a mark of the file."""
    for node in tree.body:
        name, marked = "", list[ast.AST]()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, marked = node.name, [*node.decorator_list]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marked = [node]
        for call in (each for mark in marked for each in ast.walk(mark)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                yield from ((key, name) for key in _keys(call.func.attr, call.args))


def _keys(mark: str, arguments: list[ast.expr]) -> Iterator[tuple[str, str]]:
    if mark in ("document", "block"):
        values = [str(ast.literal_eval(each)) for each in arguments]
        yield from [(values[0], values[1])] if mark == "document" else (("block", each) for each in values)


def documents(root: Path = ROOT) -> dict[str, Any]:
    """Return the documents with their rows, as in the data file."""
    return tomllib.loads((root / "tests/documents/rows.toml").read_text())


def blocks(tests: Held) -> list[Block]:
    """Return the blocks of the table, in its order. Raises `Astray` for a block without a file or an outcome."""
    table = tomllib.loads((DATA / "blocks.toml").read_text())
    files = {str(path.relative_to(DATA / "blocks")): path.read_text() for path in (DATA / "blocks").rglob("*.txt")}
    if lost := files.keys() - {f"{name}{ending}" for name in table for ending in (".txt", ".ours.txt")}:
        raise Astray(f"{', '.join(sorted(lost))}: not in blocks.toml")
    return [_block(name, row, files, tests.get(("block", name), [])) for name, row in table.items()]


def _block(name: str, row: Mapping[str, str], files: Mapping[str, str], tests: list[str]) -> Block:
    text, ours = files.get(f"{name}.txt"), files.get(f"{name}.ours.txt", "")
    outcome, reason = row["outcome"], row.get("reason", "")
    if text is None or outcome not in OUTCOMES:
        raise Astray(f"{name}: there must be {name}.txt, and one of the outcomes {', '.join(OUTCOMES)}")
    if (tests and outcome == "adapted" and not ours) or (outcome == "refused" and not reason):
        raise Astray(f"{name}: an adapted block needs {name}.ours.txt, a refused one a reason")
    return Block(name, outcome if tests or outcome == "refused" else UNTRIED, text, ours, reason, tuple(tests))


def astray(wanted: Mapping[str, Any], tests: Held, root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each row without a test, mark without a row, and file that does not exist."""
    rows = {(document, name): row for document, each in wanted.items() for name, row in each["rows"].items()}
    rows |= {("block", name): {"where": []} for name in tomllib.loads((DATA / "blocks.toml").read_text())}
    yield from (f"{key}: a test names it, and there is no such row" for key in tests.keys() - rows.keys())
    for (document, name), row in rows.items():
        missing = [each for each in row["where"] if not _exists(each, root)]
        folders = {each: str(Path(each).parent) for each in missing if each.startswith("extensions/")}
        gone = [each for each, folder in folders.items() if not _exists(folder, root)]
        yield from (f"{document}, {name}: there is no {each}" for each in missing if each not in gone)
        if document != "block" and (document, name) not in tests and not gone:
            yield f"{document}, {name}: no test has this row in its mark"


def _exists(name: str, root: Path) -> bool:
    return (root / "backend" / name).exists() or (root / name).exists()


def page() -> str:
    """Return the page. Raises `Astray` if it would claim what is not there."""
    tests, wanted = held(), documents()
    if wrong := list(astray(wanted, tests)):
        raise Astray("\n".join(sorted(wrong)))
    parts = [INTRODUCTION]
    for document, each in wanted.items():
        rows = (_row(row, tests.get((document, name), [])) for name, row in each["rows"].items())
        parts.append(f"\n## {each['title']}\n\n| asked for | where | held by |\n|---|---|---|\n{''.join(rows)}")
    return "".join((*parts, *_code(blocks(tests), sum(len(each["rows"]) for each in wanted.values()))))


def _row(row: Mapping[str, Any], tests: Iterable[str]) -> str:
    differs = f" *Here:* {row['differs']}" if "differs" in row else ""
    return f"| {row['asks']}{differs} | {_listed(row['where'])} | {_listed(tests)} |\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def _code(every: list[Block], rows: int) -> Iterator[str]:
    yield "\n## Blocks of code\n\nDrawings and trees of files are no code and are left out.\n\n"
    yield "| block | outcome | why | test |\n|---|---|---|---|\n"
    for each in every:
        cells = (f"`{each.name}`", each.outcome, each.reason or "–", _listed(each.tests))
        yield f"| {' | '.join(cells)} |\n"
    for each in every:
        if each.ours:
            yield f"\n### {each.name}\n\n```diff\n{_changes(each)}```\n"
    counts = Counter(each.outcome for each in every)
    yield f"\n## Counts\n\n{rows} rows, each with a test. {len(every)} blocks of code:\n\n"
    yield "| blocks | outcome |\n|---:|---|\n"
    meanings = OUTCOMES | ({UNTRIED: "no test has it in its mark"} if counts[UNTRIED] else {})
    yield from (f"| {counts[outcome]} | {outcome}: {meaning} |\n" for outcome, meaning in meanings.items())


def _changes(block: Block) -> str:
    before, after = block.text.splitlines(), block.ours.splitlines()
    lines = difflib.unified_diff(before, after, "document", "here", lineterm="", n=1)
    return "".join(f"{line}\n" for line in lines)


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` report that it is out of date (exit code 1)."""
    try:
        text = page()
    except Astray as wrong:
        print(wrong)
        return 1
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    if "--check" in arguments:
        print("docs/documents.md is out of date: run python -m scripts.documents_table")
        return 1
    PAGE.write_text(text)
    print("wrote docs/documents.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
