"""Writes down every setting from `backend/settings.py`: `.env.example`, and the table in the README.

`python -m scripts.settings_table` writes, `--check` only compares and fails when something is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from backend.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- settings:begin -->", "<!-- settings:end -->"


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable: `default` as it would be written, empty when unset."""

    name: str
    default: str
    description: str


def variables(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[Variable]:
    """Every variable in the order of the file; a nested model's come as PREFIX__NAME."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from variables(field.annotation, f"{prefix}{name.upper()}__")
        else:
            yield Variable(f"{prefix}{name.upper()}", _written(field), field.description or "")


def env_example() -> str:
    """`.env.example`: every variable commented out at its default, so that copying the file changes nothing."""
    head = (
        "# Every setting, with its default. Copy this file to .env and uncomment what you want to change;\n"
        "# a variable of the environment wins over .env. A limit set to 0 is off.\n"
        "# Written by scripts/settings_table.py from backend/settings.py.\n"
    )
    return head + "".join(f"\n# {each.description}\n#{each.name}={each.default}\n" for each in variables())


def markdown_table() -> str:
    """The README's table."""
    rows = (f"| `{each.name}` | {_cell(each.default)} | {each.description} |\n" for each in variables())
    return "| Variable | Default | What it is |\n| --- | --- | --- |\n" + "".join(rows)


def with_table(text: str) -> str:
    """A document with the table between its markers brought up to date; unchanged when it has no markers."""
    if BEGIN not in text or END not in text:
        return text
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{markdown_table()}{END}{rest.split(END, 1)[1]}"


def outdated(root: Path = ROOT) -> dict[Path, str]:
    """What each file that is out of date should read."""
    wanted = {root / ".env.example": env_example()}
    readme = root / "README.md"
    if readme.exists():
        wanted[readme] = with_table(readme.read_text())
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text() != text}


def main(arguments: list[str]) -> int:
    """Write, or with `--check` tell what would be written (exit code 1)."""
    stale = outdated()
    for path, text in stale.items():
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is out of date: run python -m scripts.settings_table")
        else:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in arguments else 0


def _written(field: FieldInfo) -> str:
    default: Any = field.get_default(call_default_factory=True)
    if default in (None, []) or isinstance(default, SecretStr):
        return ""
    if isinstance(default, bool | list):
        return json.dumps(default)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _cell(default: str) -> str:
    return f"`{default}`" if default else "–"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
