"""Finds variables that are meant as settings but are none, which the server reports at the start.

The report names the nearest setting for a misspelled name, as for `SESION_CAP`, and the successor of a former name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from types import MappingProxyType

from dotenv import dotenv_values

from backend.settings.plugin import PluginSettings
from backend.settings.settings import groups

ALIKE, ALIKE_IN_FILE = 0.88, 0.75
"""The least likeness, of 1, with which a variable counts as a misspelled setting: in the environment, in a file."""
COMPOSE = {"COMPOSE_FILE", "COMPOSE_PROFILES", "COMPOSE_PROJECT_NAME", "HTTP_PORT", "HTTPS_PORT", "REDIS_PORT"}
BESIDES = frozenset({"LOG_LEVEL", "LOG_FORMAT", "LOG_WORDS", *COMPOSE})
"""Other variables that may be in `.env`: options of the command line, and variables of the compose files."""

GONE = (
    *("ADMISSION_MAX_CPU_PERCENT", "CONNECTION_MAX_S", "LINE_PATIENCE_S", "PROMPTS_FOLDER", "REALTIME_CONTEXT_TOKENS"),
    *("REALTIME_PROMPT", "REALTIME_PROMPT_VERSION", "REALTIME_RETENTION_RATIO"),
    *("RECONNECT_TIMEOUT_S", "RESPONDER_CONNECTION_MAX_S", "RTC_DTX", "THINKERS", "TOOLS"),
)
"""Former settings of the core without a successor that no group gives away."""
FORMER: Mapping[str, str] = {
    **dict.fromkeys(GONE, "Remove it."),
    "API_DOCS": "Remove it: the API's description is always served.",
    "BUDGETS__CALL_USD": "BUDGETS__USER__USD",
    "BUDGETS__NEW_USER_KEEP_H": "USER_RETENTION_DAYS",
    "BUDGETS__PRICES_FILE": "BUDGETS__PRICES",
    "COORDINATOR__APART_S": "COORDINATOR__MIN_INTERVAL_S",
    "COORDINATOR__RESULTS_AFTER_S": "COORDINATOR__MAX_RESULT_WAIT_S",
    "INTERRUPTION_ONSET": "Remove it: a reply is always turned down first.",
    "MCP__ALLOWED_HOSTS": "ALLOWED_HOSTS",
    **dict.fromkeys(("MCP__COPILOT_TOKENS", "MCP__EXTERNAL_TOKENS", "MCP__INTERNAL_TOKENS"), "API_KEYS"),
    "METRICS_PORT": "METRICS_TOKEN",
    "REALTIME_MCP_FILE": "MCP__SERVERS",
    "REASONING__EXECUTOR_MODEL": "THINKER_MODEL",
    "REASONING__PLANNER_MODEL": "THINKER_MODEL_ADVANCED",
    "REDIS_CA_FILE": "REDIS_URL",
    "RESPONDER": "RESPONDERS",
    "VAD__NEAR_VOICE": "VAD__PRIMARY_SPEAKER",
}
"""Former setting of the core → the setting that replaces it, or a sentence with advice."""


def unknown_settings(
    environment: Mapping[str, str],
    env_file: Path = Path(".env"),
    further: Iterable[type[PluginSettings]] = (),
    former: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return a sentence for each variable that was a setting, or is meant as one.

    `further` are the settings of extensions and plugins, `former` their former ones. Every unknown name in `env_file`
    is named. The environment has many variables of other programs, so only those very much like a setting are named, or
    those that begin like a group.
    """
    known = BESIDES | {name for each in (*groups().values(), *further) for name, _ in each.variables()}
    nested = tuple(f"{name}__" for name in known)
    advice = {**FORMER, **former}
    ours = {name.upper() for name in _in_file(env_file)}
    sentences = []
    for name in sorted(ours | {name.upper() for name in environment}):
        if name in advice and name not in known:
            what = f"Set {advice[name]} instead." if advice[name].isupper() else advice[name]
            sentences.append(f"{name} is no longer a setting. {what}")
        elif name not in known and not name.startswith(nested):
            sentences += _slip(name, known, name in ours)
    return sentences


def _slip(name: str, known: Set[str], is_ours: bool) -> list[str]:
    """Return the sentence about an unknown name; none where it may be a variable of others."""
    group, nested, _ = name.partition("__")
    prefix = group + nested if nested and any(each.startswith(group + nested) for each in known) else ""
    candidates = [each.removeprefix(prefix) for each in known if each.startswith(prefix)]
    is_ours = is_ours or bool(prefix)
    near = difflib.get_close_matches(name.removeprefix(prefix), candidates, 1, ALIKE_IN_FILE if is_ours else ALIKE)
    if near:
        return [f"{name} is not a setting. Did you mean {prefix}{near[0]}?"]
    return [f"{name} is not a setting."] if is_ours else []


def prefixes() -> frozenset[str]:
    """Return the prefixes of the server's own groups, e.g. `VAD__`."""
    names = (name for each in groups().values() for name, _ in each.variables())
    return frozenset(name.partition("__")[0] + "__" for name in names if "__" in name)


def _in_file(path: Path) -> Iterable[str]:
    try:
        return dotenv_values(path) if path.is_file() else ()
    except (OSError, UnicodeDecodeError):
        return ()
