"""Shows that an extension can be deleted: `python -m scripts.without NAME`, or `--by WORD` for one that a word chooses.

It makes a copy of the tree without the extension's folder and its tests. There it starts the server, and `/healthz`
must answer 200; then it runs the quick tests, or with `--briefly` those that look at the whole tree. The exit code is 0
if all of that succeeds. `--all` tries every extension in turn.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ("scripts.settings_table", "scripts.thinkers_table", "scripts.documents_table")
"""The scripts that write parts of documents for the present extensions; they run after one is deleted."""
ACROSS = ("tests/benchmarks",)
"""The tests of benchmarks that measure several extensions."""
OF_THE_TREE = ("tests/app", "tests/deploy", "tests/responders", "tests/thinkers")
"""The rooms with tests that look at every extension; so do the tests that belong to no room."""
QUICKLY = ("--quick", "-q", "--forks=4")
READY_WITHIN_S = 240.0
"""The most seconds for the server's start, which is slow beside a whole check."""
END_WITHIN_S = 30.0
AT_ONCE = 2
"""The extensions that are tried in parallel: the tests of one wait for a quarter of their time."""
ADDRESS = re.compile(r"http://localhost:\d+")


def names() -> list[str]:
    """Return the names of the extensions."""
    return sorted(path.parent.name for path in (ROOT / "backend" / "extensions").glob("*/extension.py"))


def chosen_by(word: str) -> str:
    """Return the extension that a word, such as a commit's hash, chooses."""
    every = names()
    return every[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % len(every)]


def copy_without(name: str, target: Path) -> None:
    """Copy all files that git knows, and new ones that it does not ignore, without the extension and its tests."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    gone = (f"backend/extensions/{name}/", f"tests/extensions/{name}/")
    for each in filter(None, found.split("\0")):
        if not each.startswith(gone) and (ROOT / each).is_file():
            (target / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / each, target / each)


def starts(tree: Path) -> bool:
    """Start the server of `tree`, and return whether it answers."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree), "DATA_DIR": str(tree / "var"), "COLUMNS": "200"}
    environment |= _path(tree) | {"REDIS_URL": "embedded"}
    command = [sys.executable, "-m", "backend.app.cli", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(READY_WITHIN_S, server.terminate)
    timer.start()
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if found := ADDRESS.search(line):
                threading.Thread(target=server.stdout.read, daemon=True).start()
                return _answers(found[0])
        return False
    finally:
        timer.cancel()
        server.terminate()
        server.wait(END_WITHIN_S)


def _answers(url: str) -> bool:
    ask, deadline = build_opener(ProxyHandler({})), time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            with ask.open(f"{url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.5)
    return False


def holds_without(name: str, briefly: bool, pytest_options: Sequence[str]) -> bool:
    """Return whether the server starts and the tests pass without an extension."""
    with tempfile.TemporaryDirectory(prefix=f"without-{name}-") as folder:
        tree = Path(folder)
        copy_without(name, tree)
        for page in WRITTEN:
            subprocess.run([sys.executable, "-m", page], cwd=tree, check=True, stdout=subprocess.DEVNULL)
        if not starts(tree):
            print(f"without {name}: the server does not start", file=sys.stderr)
            return False
        options = [*(f"--ignore={each}" for each in ACROSS), *pytest_options]
        if not briefly:
            return _passes(tree, [*QUICKLY, *options])
        files = [str(path) for path in (tree / "tests").glob("test_*.py")]
        rooms = [room for room in OF_THE_TREE if (tree / room).exists()]
        return _passes(tree, ["--collect-only", "-qq", *options], ["--quick", "-q", *options, *files, *rooms])


def _passes(tree: Path, *runs: list[str]) -> bool:
    """Run pytest once for each list of options, beside one another; return whether all of them passed."""
    commands = [[sys.executable, "-m", "pytest", *options] for options in runs]
    environment = os.environ | _path(tree)
    with tempfile.TemporaryFile("w+") as said:
        running = [subprocess.Popen(each, cwd=tree, env=environment, stdout=said, stderr=said) for each in commands]
        codes = [each.wait() for each in running]
        said.seek(0)
        print(f"{tree.name}:\n{said.read()}", flush=True)
    return not any(codes)


def _path(tree: Path) -> dict[str, str]:
    """Return the variable by which children that do not look in their working folder import from `tree`, too."""
    return {"PYTHONPATH": str(tree)}


def main(arguments: Sequence[str]) -> int:
    """Try what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m scripts.without", description="Try the server without extensions.")
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every extension in turn")
    parser.add_argument("--briefly", action="store_true", help="only the tests that look at the whole tree")
    parser.add_argument("--by", metavar="WORD", help="the one that this word chooses, such as a commit's hash")
    options, pytest_options = parser.parse_known_args(arguments)
    wanted = names() if options.all else options.names or ([chosen_by(options.by)] if options.by else [])
    if not wanted:
        parser.error("name an extension, or --all, or --by WORD")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        held = pool.map(lambda name: holds_without(name, options.briefly, pytest_options), wanted)
        failed = [name for name, holds in zip(wanted, held, strict=True) if not holds]
    if failed:
        print(f"The server does not do without {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
