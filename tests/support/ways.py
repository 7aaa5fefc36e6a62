"""The files of the server that a piece of work passes: those that the architecture page lists, and the real ones."""

import asyncio
import gc
import inspect
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

BACKEND = Path(__file__).resolve().parents[2] / "backend"
TIMES_SLOWER = 10
ARCHITECTURE = BACKEND.parent / "docs" / "architecture.md"


def documented(way: str) -> list[str]:
    """The files under the heading `### Way: {way}`, in their order, without the leading `backend/`."""
    text = ARCHITECTURE.read_text()
    section = re.search(rf"^### Way: {re.escape(way)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    assert section, f"docs/architecture.md has no heading '### Way: {way}'"
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section[1], re.M)


class Passed(set[str]):
    """The files that a way has passed."""

    hops = 0
    """How often a function of one file has called or resumed a function of another file."""

    def report(self, way: str) -> None:
        """Add the figures of that way to the file that WAYS_FILE names, for `scripts/structure.py`."""
        if name := os.environ.get("WAYS_FILE"):
            with Path(name).open("a") as file:
                file.write(f"{way}: {len(self)} files, {self.hops} hops\n")


@contextmanager
def files_passed() -> Iterator[Passed]:
    """Collect the files of `backend/` in which a function runs in this thread meanwhile, without the prefix `backend/`.

    Module bodies and class bodies do not count: an import is no step of a way.
    """
    passed = Passed()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (path := _file_of(frame.f_code)):
            passed.add(path)
            before = _file_of(frame.f_back.f_code) if frame.f_back else ""
            passed.hops += before not in ("", path)

    with slow_clock(), _profiled(note):
        yield passed


@contextmanager
def files_passed_within(*roots: Callable[..., object]) -> Iterator[list[set[str]]]:
    """Collect a set of files for each call of a function of `roots`: the files in which that call runs a function.

    For ways that run many times in parallel: exactly what one audio packet passes.
    """
    begun = {inspect.unwrap(root).__code__ for root in roots}
    passed: list[set[str]] = []
    depth = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth
        code = frame.f_code
        if event == "call":
            if code in begun:
                if not depth:
                    passed.append(set())
                depth += 1
            if depth and (path := _file_of(code)):
                passed[-1].add(path)
        elif event == "return" and code in begun and depth:
            depth -= 1

    with _profiled(note):
        yield passed


@contextmanager
def slow_clock() -> Iterator[None]:
    """Slow the running loop's clock, so that no timer of a machine that stalls becomes a step of the way."""
    try:
        loop: Any = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    if loop is None or "time" in vars(loop):
        yield
        return
    began = loop.time()
    loop.time = lambda: began + (time.monotonic() - began) / TIMES_SLOWER
    try:
        yield
    finally:
        del loop.time


@cache
def _file_of(code: CodeType) -> str:
    """The file of a function, without `backend/`; empty for doubles, other code, and bodies of modules and classes."""
    path = Path(code.co_filename)
    inside = (
        path.is_relative_to(BACKEND)
        and not path.is_relative_to(BACKEND / "testing")
        and code.co_name not in ("<module>", "__del__")
        and "__module__" not in code.co_names
    )
    return str(path.relative_to(BACKEND)) if inside else ""


@contextmanager
def _profiled(note: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    gc.collect()  # so that no object of an earlier test is destroyed on this way
    before = sys.getprofile()
    assert threading.current_thread() is threading.main_thread()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
