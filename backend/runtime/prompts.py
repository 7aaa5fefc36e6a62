"""The prompts of the coordinator and the reasoners: files of the server, which an operator's folder may replace.

    backend/coordinator/prompts/system.md     as shipped
    PROMPTS_FOLDER/coordinator/system.md      takes its place

All are read once, at the start. A replacement has the same `{names}` for data as the file it replaces; a file that
replaces nothing is refused, since its name is mistyped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from backend.errors import SettingsError

SHIPPED = Path(__file__).resolve().parent.parent
FILE_LIMIT = 64 * 1024
"""Bytes of a prompt."""
HINT = "Correct it, or unset PROMPTS_FOLDER."
_NAME = re.compile(r"\{([a-z_]+)\}")


class Prompts:
    """The prompts by name, such as `coordinator/system`. Raises `SettingsError`, which names the file."""

    def __init__(self, folder: Path | None = None) -> None:
        self._texts = dict(_shipped())
        self._replaced = 0 if folder is None else self._replace(folder)

    def __repr__(self) -> str:
        return f"Prompts({len(self._texts)}, {self._replaced} replaced)"

    def worded(self, name: str, **data: str) -> str:
        """Return a prompt with `data` in it; braces within the data mean nothing."""
        return _NAME.sub(lambda found: data.get(found[1], found[0]), self._texts[name])

    def _replace(self, folder: Path) -> int:
        if not folder.is_dir():
            raise SettingsError(f"PROMPTS_FOLDER is no folder: {folder}.", hint=HINT)
        files = sorted(folder.rglob("*.md"))
        for file in files:
            name = file.relative_to(folder).with_suffix("").as_posix()
            if name not in self._texts:
                known = ", ".join(f"{each}.md" for each in sorted(self._texts))
                raise _wrong(file, f"it replaces no prompt; there are {known}")
            text = _read(file)
            if missing := sorted(_names(self._texts[name]) - _names(text)):
                raise _wrong(file, f"{{{missing[0]}}} is missing, which stands for data")
            self._texts[name] = text
        return len(files)


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))


@cache
def _shipped() -> Mapping[str, str]:
    files = SHIPPED.glob("*/prompts/*.md")
    return MappingProxyType({f"{file.parent.parent.name}/{file.stem}": _read(file) for file in files})


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > FILE_LIMIT:
            raise _wrong(file, f"it is larger than {FILE_LIMIT // 1024} KB")
        text = file.read_text("utf-8").strip()
    except OSError as error:
        raise _wrong(file, f"it cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _wrong(file, "it is not UTF-8") from error
    if not text:
        raise _wrong(file, "it is empty")
    return text


def _wrong(file: Path, what: str) -> SettingsError:
    return SettingsError(f"The prompt {file} cannot be used: {what}.", hint=HINT)
