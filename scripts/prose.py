"""Holds documents and docstrings to `scripts/prose.toml`: words that are not used here, and checks of proselint.

`python -m scripts.prose` prints each finding as `file:line: message`, and fails if there is one. It reads the files and
folders that are named, or all. Code, links and what stands in quotation marks are left alone.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from proselint.checks import __register__ as checks_of_proselint
from proselint.registry.checks import Check, CheckResult
from proselint.registry.checks.types import PreferredFormsSimple

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "scripts" / "prose.toml"
CODE = re.compile(r"^ *```.*?^ *```|^(?: {4}|\t)[^\n]*|`[^`]*`|\]\([^)\s]*\)|<!--.*?-->|https?://\S+", re.S | re.M)
INLINE = re.compile(r"``?[^`]*``?|https?://\S+|\S*\{\S*")
QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the rule file."""

    documents: tuple[str, ...]
    """Patterns of the documents, from the root."""
    docstrings: tuple[str, ...]
    """Folders of Python with docstrings that are read."""
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """Some prose of a file."""

    file: Path
    line: int
    """The line at which the passage begins."""
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that must be reworded."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.message}"


def load_rules(file: Path = RULES) -> Rules:
    """Read the rule file."""
    read = tomllib.loads(file.read_text())
    wanted = tuple(read["proselint"])
    taken = (each for each in checks_of_proselint if any(each.matches_partial(name) for name in wanted))
    return Rules(
        tuple(read["documents"]),
        tuple(read["docstrings"]),
        (_unused(read["unused"]), *taken),
    )


def findings(rules: Rules, passages: Iterable[Passage]) -> Iterator[Finding]:
    """Yield the findings of the checks, passage by passage."""
    for _, group in groupby(passages, lambda each: each.file):
        parts = [*group]
        # A check takes as long with all of a file's passages as with one; in a file with no finding, once is enough.
        whole = "\n\n".join(["", *(part.text for part in parts), ""])
        if any(any(check.check(whole)) for check in rules.checks):
            for passage in parts:
                yield from _findings_in(passage, rules.checks)


def _findings_in(passage: Passage, checks: Iterable[Check]) -> Iterator[Finding]:
    text = f"\n{passage.text}\n"
    found: list[CheckResult] = [result for check in checks for result in check.check_with_flags(text)]
    for result in sorted(found, key=lambda each: each.span):
        begins = result.span[0] + len(text[result.span[0] :]) - len(text[result.span[0] :].lstrip())
        yield Finding(passage.file, passage.line + text.count("\n", 1, begins), result.message)


def passages_of(files: Iterable[Path]) -> Iterator[Passage]:
    """Yield the prose of documents, and of docstrings of Python files."""
    for file in files:
        if file.suffix == ".py":
            yield from docstrings_of(file)
        else:
            yield Passage(file, 1, blanked(CODE, file.read_text()))


def docstrings_of(file: Path) -> Iterator[Passage]:
    """Yield every string that stands by itself: docstrings of modules, classes, functions and attributes."""
    for node in _statements(ast.parse(file.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text), lineno=line)):
                yield Passage(file, line, blanked(INLINE, text))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in `node` at any depth, and what holds them; the expressions in them are passed over."""
    for within in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, within, ())
        for statement in below if isinstance(below, list) else ():
            yield statement
            yield from _statements(statement)


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return the text with everything but prose replaced by dots, so that lines and columns stay."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"\S", "·", found[0])

    return QUOTED.sub(blank, pattern.sub(blank, text))


def files_of(rules: Rules, root: Path = ROOT) -> Iterator[Path]:
    """Yield the files that the rules name."""
    for pattern in rules.documents:
        yield from sorted(root.glob(pattern))
    for folder in rules.docstrings:
        yield from sorted((root / folder).rglob("*.py"))


def _unused(items: dict[str, str]) -> Check:
    return Check(
        check_type=PreferredFormsSimple(items=items), path="prose.unused", message="'{1}' is not used here; {0}."
    )


def main(arguments: list[str]) -> int:
    """Print the findings; return 1 if there is one, otherwise 0."""
    rules = load_rules()
    named = [Path(each).resolve() for each in arguments]
    files = [file for path in named for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    found = list(findings(rules, passages_of(files or files_of(rules))))
    for each in found:
        print(each)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
