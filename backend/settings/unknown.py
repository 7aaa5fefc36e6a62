"""Finds variables that are meant as settings but are none, which the server reports at the start.

The report names the nearest setting for a misspelled name, as for `SESION_CAP`, and the successor of a former name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path

from dotenv import dotenv_values

from backend.settings.plugin import PluginSettings
from backend.settings.settings import groups

ALIKE, ALIKE_IN_FILE = 0.88, 0.75
"""The least likeness, of 1, with which a variable counts as a misspelled setting: in the environment, in a file."""
BESIDES = frozenset({"LOG_LEVEL", "LOG_FORMAT", "HTTP_PORT", "HTTPS_PORT", "REDIS_PORT", "COMPOSE_PROJECT_NAME"})
"""Other variables that may be in `.env`: options of the command line, and variables of the compose files."""

FORMER: Mapping[str, str | None] = {
    "CALDAV_URL": "CALENDAR__URL",
    "CALDAV_USERNAME": "CALENDAR__USERNAME",
    "CALDAV_PASSWORD": "CALENDAR__PASSWORD",
    "GITHUB__REPOS": "GITHUB__REPO",
    "NCBI_URL": "MEDICAL__NCBI_URL",
    "NCBI_API_KEY": "MEDICAL__NCBI_API_KEY",
    "COORDINATOR__APART_S": "COORDINATOR__MIN_INTERVAL_S",
    "COORDINATOR__RESULTS_AFTER_S": "COORDINATOR__MAX_RESULT_WAIT_S",
    "CONNECTION_MAX_S": None,
    "ECHO_CANCELLATION": None,
    "LINE_PATIENCE_S": None,
    "REALTIME_MCP_FILE": "MCP__SERVERS",
    "REALTIME_PROMPT": None,
    "REASONING__REFLECTIONS": None,
    "RTC_DTX": None,
    "REDIS_CA_FILE": "REDIS_URL",
    "RESPONDER": "RESPONDERS",
    "SHARED_LINK_DAYS": "SHARING__DAYS",
    "THINKERS": None,
    "TOOLS": None,
    "UTTERANCE_READER": "UTTERANCE_CLASSIFIER",
    "VAD__ENGINE": "TEN__ENABLED",
    "VAD__NEAR_VOICE": "VAD__PRIMARY_SPEAKER",
    "BUDGETS__CALL_USD": "BUDGETS__USER__USD",
    "BUDGETS__NEW_USER_KEEP_H": "USER_RETENTION_DAYS",
    "BUDGETS__PRICES_FILE": "BUDGETS__PRICES",
    "BUDGETS__PROOF_OF_WORK_BITS": None,
    "BUDGETS__PROOF_OF_WORK_S": None,
    "MCP__ALLOWED_HOSTS": "ALLOWED_HOSTS",
    "METRICS_PORT": "METRICS_TOKEN",
    "MCP__INTERNAL_TOKENS": "API_KEYS",
    "MCP__COPILOT_TOKENS": "API_KEYS",
    "MCP__EXTERNAL_TOKENS": "API_KEYS",
}
"""Former setting → the setting that replaces it; None: none does."""


def unknown_settings(
    environment: Mapping[str, str], env_file: Path = Path(".env"), plugins: Iterable[type[PluginSettings]] = ()
) -> list[str]:
    """Return a sentence for each variable that was a setting, is nearly one, or that its group lacks, as in `VAD__X`.

    The environment has many variables of other programs, so only those very much like a setting are named.
    """
    known = BESIDES | {name for each in (*groups().values(), *plugins) for name, _ in each.variables()}
    grouped = tuple({name.partition("__")[0] + "__" for name in known if "__" in name})
    ours = {name.upper() for name in _in_file(env_file)}
    sentences = []
    for name in sorted(ours | {name.upper() for name in environment}):
        if name in known or any(name.startswith(f"{each}__") for each in known):
            continue
        if name in FORMER:
            sentences.append(_former(name))
            continue
        of_group = name.startswith(grouped)
        near = difflib.get_close_matches(name, known, 1, ALIKE_IN_FILE if of_group or name in ours else ALIKE)
        if near or of_group:
            sentences.append(f"{name} is not a setting." + (f" Did you mean {near[0]}?" if near else ""))
    return sentences


def _former(name: str) -> str:
    successor = FORMER[name]
    return f"{name} is no longer a setting. " + (f"Set {successor} instead." if successor else "Remove it.")


def prefixes() -> frozenset[str]:
    """Return the prefixes of the server's own groups, e.g. `VAD__`."""
    names = (name for each in groups().values() for name, _ in each.variables())
    return frozenset(name.partition("__")[0] + "__" for name in names if "__" in name)


def _in_file(path: Path) -> Iterable[str]:
    try:
        return dotenv_values(path) if path.is_file() else ()
    except (OSError, UnicodeDecodeError):
        return ()
