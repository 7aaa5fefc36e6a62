"""Prompts are files that an operator's folder may replace, and nothing else in it is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.runtime.prompts import FILE_LIMIT, Prompts


def replaced(folder: Path, text: str | bytes, name: str = "coordinator/injection.md") -> Prompts:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return Prompts(folder)


def test_a_file_takes_the_place_of_the_prompt_of_its_name_alone(tmp_path: Path) -> None:
    prompts = replaced(tmp_path, 'Now: {digest} {"a": {b}}\n')
    assert prompts.worded("coordinator/injection", digest="{digest} {x}") == 'Now: {digest} {x} {"a": {b}}'
    assert prompts.worded("coordinator/system") == Prompts().worded("coordinator/system")
    assert repr(prompts).endswith("1 replaced)")
    assert Prompts().worded("coordinator/injection", digest="[]") == "[]"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("coordinator/sytem.md", "Hello.", "replaces no prompt; there are .*coordinator/system.md"),
        ("coordinator/injection.md", "Hello.", "{digest} is missing"),
        ("coordinator/system.md", " \n", "empty"),
        ("coordinator/system.md", b"\xff", "not UTF-8"),
        ("coordinator/system.md", "x" * (FILE_LIMIT + 1), "larger than 64 KB"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(tmp_path: Path, name: str, text: str | bytes, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        replaced(tmp_path, text, name)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no folder"):
        Prompts(tmp_path / "absent")
