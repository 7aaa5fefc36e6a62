"""Figures about the structure of the code, as a table: of the working tree, or before and after a revision.

`python -m scripts.structure` measures the working tree, `python -m scripts.structure --before 43a7160` also that
revision, read with `git archive`. Ways are the lists of files in `docs/architecture.md`, which tests hold against the
code; a revision without such lists shows the numbers that were counted by hand when the lists were introduced.
"""

import argparse
import ast
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
HALF_SENTENCES = (
    *("And", "But", "It", "Or", "Same", "See", "So", "The same", "There", "They"),
    *("What", "Where", "Whether", "Which", "Who", "Whoever", "Whose"),
)
"""First words of docstrings that cannot stand alone in a hover."""
UNTYPED = re.compile(r"dict\[str, Any\]|\bJson\b")
WAYS_COUNTED_BY_HAND = {
    "microphone frame": 24,
    "reply audio": 23,
    "route_to_thinker": 33,
    "notice": 24,
}
"""Files each way passed at revision 43a7160, before the ways were listed."""


def figures_of(root: Path) -> dict[str, str]:
    """Return the figures of the checkout at `root`, by name."""
    paths = sorted((root / "backend").rglob("*.py"))
    texts = {path: path.read_text() for path in paths}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    production = {path: count for path, count in lines.items() if path.name not in {"__init__.py", "__main__.py"}}
    return {
        **sizes_of(root),
        "rooms (packages and files directly in backend/)": str(_rooms(root)),
        "files": str(len(paths)),
        "median lines of a file": f"{median(production.values()):g}",
        "files under 25 lines": str(sum(count < 25 for count in production.values())),
        "files with dict[str, Any]": str(sum("dict[str, Any]" in text for text in texts.values())),
        "files with dict[str, Any] or its alias Json": str(sum(bool(UNTYPED.search(text)) for text in texts.values())),
        "class names defined more than once": str(_repeated_classes(trees.values())),
        "docstrings that begin with half a sentence": str(_half_sentences(trees.values())),
        "largest JavaScript file of the page, lines": str(_largest_script(root)),
        "lines of the README": str(len((root / "README.md").read_text().splitlines())),
        **{f"files passed: {way}": count for way, count in _ways(root).items()},
    }


def sizes_of(root: Path) -> dict[str, str]:
    """Return the figures that `tests/test_sizes.py` bounds."""
    shipped = (path for folder in ("backend", "responder_thinker") for path in (root / folder).rglob("*.py"))
    return {
        **_lines(root),
        "required packages": str(_required_packages(root)),
        "words of the documents": f"{_words(root):,}",
        "fields of the largest class": str(max(_fields(ast.parse(path.read_text())) for path in shipped)),
    }


def _lines(root: Path) -> dict[str, str]:
    """Return the lines of Python of each part, also for revisions with the local Responder and the client apart."""
    parts = {
        "core": ("backend",),
        "extensions": ("backend/extensions",),
        "all that ships": ("backend", "responder_thinker", "client", "demo", "local_responder"),
        "the local Responder": ("backend/extensions/local", "local_responder"),
        "benchmarks": ("benchmarks",),
        "tests": ("tests",),
    }
    counted = {name: sum(map(_lines_below, (root / each for each in folders))) for name, folders in parts.items()}
    counted["core"] -= counted["extensions"]
    return {f"lines of Python: {name}": f"{count:,}" for name, count in counted.items()}


def _lines_below(folder: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in folder.rglob("*.py"))


def _required_packages(root: Path) -> int:
    """Return the number of required packages for any Python and machine; two lines for one package count once."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    return len({re.split(r"[\[><=;~ ]", each)[0] for each in wanted})


def _words(root: Path) -> int:
    """Return the words of the README and of all documents, without generated pages and records."""
    left_out = {"documents.md", "settings.md", "testing-record.md", "CHANGELOG.md"}
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return sum(len(page.read_text().split()) for page in pages if page.name not in left_out)


def _fields(tree: ast.Module) -> int:
    """Return the most annotated fields that a class of a module declares."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return max((sum(isinstance(each, ast.AnnAssign) for each in one.body) for one in classes), default=0)


def _rooms(root: Path) -> int:
    backend = root / "backend"
    packages = {path.parent.name for path in backend.glob("*/__init__.py")}
    files = {path.stem for path in backend.glob("*.py")} - {"__init__"}
    return len(packages | files)


def _repeated_classes(trees: Iterable[ast.Module]) -> int:
    names: Counter[str] = Counter()
    for tree in trees:
        names.update({node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)})
    return sum(count > 1 for name, count in names.items() if not name.startswith("_"))


def _half_sentences(trees: Iterable[ast.Module]) -> int:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = [
        ast.get_docstring(node) or "" for tree in trees for node in ast.walk(tree) if isinstance(node, documented)
    ]
    return sum(text.startswith(tuple(f"{word} " for word in HALF_SENTENCES)) for text in docstrings)


def _largest_script(root: Path) -> int:
    return max(len(path.read_text().splitlines()) for path in (root / "frontend").rglob("*.js"))


def _ways(root: Path) -> dict[str, str]:
    """Return the files that each way lists, and their rooms; for a revision without lists, those counted by hand."""
    sections = re.split(r"^### Way: (.*)$", (root / "docs" / "architecture.md").read_text(), flags=re.M)[1:]
    listed = {
        way: re.findall(r"^\d+\. `([\w/]+\.py)`", re.split(r"^#", text, maxsplit=1, flags=re.M)[0], re.M)
        for way, text in zip(sections[::2], sections[1::2], strict=True)
    }
    if not listed:
        return {way: f"{count} (counted by hand)" for way, count in WAYS_COUNTED_BY_HAND.items()}
    return {
        way: f"{len(files)} in {len({file.split('/')[0] for file in files})} rooms" for way, files in listed.items()
    }


def figures_of_revision(revision: str) -> dict[str, str]:
    """Return the figures of a revision, unpacked into a temporary folder. Raises `CalledProcessError`."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
        return figures_of(Path(folder))


def ways_run() -> dict[str, str]:
    """Run the ways once, and return all files that each passes, with the hops between them."""
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "ways"
        tests = ["tests/test_ways.py", "tests/thinkers/test_way.py"]
        command = [sys.executable, "-m", "pytest", "-n0", "-q", *tests]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"WAYS_FILE": str(counted)}, capture_output=True, check=True)
        pairs = (line.split(": ") for line in counted.read_text().splitlines())
        return {f"walked: {way}": figures for way, figures in pairs}


def table(columns: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table with a row for each figure and a column for each checkout."""
    names = dict.fromkeys(name for figures in columns.values() for name in figures)
    rows = [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    rows += [f"| {name} | {' | '.join(each.get(name, '–') for each in columns.values())} |" for name in names]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="REVISION", help="also measure this revision, in a first column")
    before = parser.parse_args().before
    columns = {before: figures_of_revision(before)} if before else {}
    print(table(columns | {"now": figures_of(ROOT) | ways_run()}))


if __name__ == "__main__":
    main()
