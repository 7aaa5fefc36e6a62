"""The files of the server that a piece of work passes through: those the architecture page lists, and the real ones."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

BACKEND = Path(__file__).resolve().parents[2] / "backend"
ARCHITECTURE = BACKEND.parent / "docs" / "architecture.md"


def documented(way: str) -> list[str]:
    """The files listed under the heading `### Way: {way}`, in their order, without the leading `backend/`."""
    text = ARCHITECTURE.read_text()
    section = re.search(rf"^### Way: {re.escape(way)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    assert section, f"docs/architecture.md has no heading '### Way: {way}'"
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section[1], re.M)


@contextmanager
def files_passed() -> Iterator[set[str]]:
    """Fills with the files of `backend/` in which a function runs meanwhile, in this thread: path without `backend/`.

    Module bodies and class bodies do not count: an import is no step of a way.
    """
    passed: set[str] = set()
    known: dict[CodeType, str] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in known:
            path = Path(code.co_filename)
            inside = path.is_relative_to(BACKEND) and code.co_name != "<module>" and "__module__" not in code.co_names
            known[code] = str(path.relative_to(BACKEND)) if inside else ""
        if known[code]:
            passed.add(known[code])

    before = sys.getprofile()
    assert threading.current_thread() is threading.main_thread()
    sys.setprofile(note)
    try:
        yield passed
    finally:
        sys.setprofile(before)
