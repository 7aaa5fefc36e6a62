"""Writes the settings of `backend/settings/` into `docs/settings.md`, and their names into the compose files.

`.env.example` gets the settings that operators set most often.

`python -m scripts.settings_table` writes, `--check` only compares and fails when something is out of date.
"""

import inspect
import itertools
import json
import re
import sys
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from backend.app.extensions import installed
from backend.settings.settings import Settings, groups

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^    # (.+)\n    (\w+):", re.M)
"""A comment before a group of `Settings`, and that group: the heading of its section."""
INTRODUCTION = """# Settings

Read from the environment and from `.env` beside the place you start the server from; the environment wins. A limit of
0 is off. Lists are comma-separated unless a description says otherwise. A mistake is reported at the start, with the
name of its variable.

This page is generated from [`backend/settings`](../backend/settings). [`.env.example`](../.env.example) holds the
settings that one sets, ready to copy.
"""
OFTEN_SET = (
    *("RESPONDERS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "REALTIME_MODEL", "REALTIME_VOICE"),
    *("THINKER_MODEL", "THINKER_MODEL_ADVANCED", "LOCAL_MODEL_URL", "LOCAL_MODEL", "LOCAL_MODEL_KEY", "GREETING"),
    *("ENDPOINTING", "FINNHUB_API_KEY", "NEWSAPI_API_KEY", "SEARXNG_URL", "PLUGIN_FOLDERS"),
    *("DATA_DIR", "REDIS_URL", "DATABASE_URL", "WORKERS", "SESSION_CAP", "IDLE_DISCONNECT_S"),
    *("ACCESS", "API_KEYS", "ADMIN_TOKEN", "SECRET_KEY", "ALLOWED_ORIGINS", "ICE_SERVERS", "RTC_FORCE_HOST"),
)
"""The settings in `.env.example`: a key, a model, the data folder, who may call. An extension's go with it."""
COMPOSE_MARKS = ("      # settings:begin\n", "      # settings:end")
SET_BY_COMPOSE = {
    *("REDIS_URL", "REDIS_PASSWORD_FILE", "PUBLISH_ON", "TRUSTED_PROXIES"),
    *("DATA_DIR", "RTC_FORCE_HOST", "RTC_PORT_RANGE", "PLUGIN_FOLDERS"),
}
"""The settings that docker-compose.yml or the image sets, or that name files which are not in the image."""
OVERRIDDEN = {"REQUIRE_PROVIDER": "false"}
"""Settings of the image that Compose sets otherwise. Their values stand there: a name alone removes the image's value
in some versions of Compose, and keeps it in others."""
SET_BY_SCALE = {"SECRET_KEY", "SHARE_SESSIONS", "WORKERS"}
"""The further settings that docker-compose.scale.yml sets."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable; `default` is its value as text, empty if it is unset."""

    name: str
    default: str
    description: str
    section: str
    """The heading of the variable's section."""


def variables() -> Iterator[Variable]:
    """Yield every variable: the core's in the order of its groups, then those of each extension."""
    headings = {name: heading for heading, name in HEADING.findall(inspect.getsource(Settings))}
    sections = [(headings[name], kind) for name, kind in groups().items()]
    sections += [(each.title or each.name, kind) for each in installed().extensions for kind in each.settings]
    for section, kind in sections:
        for name, field in kind.variables():
            yield Variable(name, _written(field), field.description or "", section)


def env_example() -> str:
    """Return `.env.example`: variables commented out at their defaults, so that copying the file changes nothing."""
    head = (
        "# The settings that one sets, with their defaults; docs/settings.md has all of them. Copy this file to .env\n"
        "# and uncomment what you want to change. A variable of the environment wins over .env. A limit of 0 is off.\n"
        "# Written by scripts/settings_table.py.\n"
    )
    known = {each.name: each for each in variables()}
    shown = [known[name] for name in OFTEN_SET if name in known]
    return head + "".join(f"\n# {each.description}\n#{each.name}={each.default}\n" for each in shown)


def markdown_page() -> str:
    """Return `docs/settings.md`: a table for each section."""
    parts = [INTRODUCTION]
    for section, group in itertools.groupby(variables(), key=lambda each: each.section):
        rows = (f"| `{each.name}` | {_cell(each.default)} | {each.description} |\n" for each in group)
        parts.append(f"\n## {section}\n\n| Variable | Default | What it is |\n| --- | --- | --- |\n" + "".join(rows))
    return "".join(parts)


def compose_list(set_there: Set[str] = frozenset()) -> str:
    """Return the lines of the variables that compose passes to the backend, without those `set_there`."""
    kept = SET_BY_COMPOSE | set_there
    return "".join(f"      - {_passed_on(each.name)}\n" for each in variables() if each.name not in kept)


def _passed_on(name: str) -> str:
    """Return a variable as Compose passes it on, with the value that is used if the operator sets none."""
    return f"{name}=${{{name}:-{OVERRIDDEN[name]}}}" if name in OVERRIDDEN else name


def between(marks: tuple[str, str], content: str, text: str) -> str:
    """Return `text` with `content` between the marks. Raises `ValueError` if they are missing."""
    begin, end = marks
    if begin not in text or end not in text:
        raise ValueError(f"there must be a line {begin.strip()!r} and a line {end.strip()!r}")
    head, rest = text.split(begin, 1)
    return head + begin + content + end + rest.split(end, 1)[1]


def outdated(root: Path = ROOT) -> dict[Path, str]:
    """Return the new text of each file that is out of date."""
    written = {root / ".env.example": env_example(), root / "docs" / "settings.md": markdown_page()}
    for name, marks, content in (
        ("docker-compose.yml", COMPOSE_MARKS, compose_list()),
        ("docker-compose.scale.yml", COMPOSE_MARKS, compose_list(SET_BY_SCALE)),
    ):
        if (path := root / name).exists():
            written[path] = between(marks, content, path.read_text())
    return {path: text for path, text in written.items() if not path.exists() or path.read_text() != text}


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` print which would be written (exit code 1)."""
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
    if isinstance(default, list):
        return ",".join(default)
    if isinstance(default, tuple):  # a range of ports
        return "-".join(map(str, default))
    if isinstance(default, bool):
        return json.dumps(default)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _cell(default: str) -> str:
    return f"`{default}`" if default else "–"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
