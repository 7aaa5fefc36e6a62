"""The tables in `words.toml`: written forms → spoken forms."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

TITLES: dict[str, str] = _TABLES["titles"]
ABBREVIATED: dict[str, str] = _TABLES["abbreviations"]
ACRONYMS: dict[str, str] = _TABLES["acronyms"]
DAYS: dict[str, str] = _TABLES["days"]
CURRENCIES: dict[str, tuple[str, str, str, str]] = {key: tuple(row) for key, row in _TABLES["currencies"].items()}
UNITS: dict[str, str] = _TABLES["units"]
PLURALS: dict[str, str] = _TABLES["units_with_plural"]
PER: dict[str, str] = _TABLES["per"]
SYMBOLS: dict[str, str] = _TABLES["symbols"]
EMPHASIS: frozenset[str] = frozenset(_TABLES["capitals"]["emphasis"].upper().split())


def any_of(written: Iterable[str]) -> str:
    """Return a pattern that matches any of the words; the longest wins."""
    return "|".join(re.escape(each) for each in sorted(written, key=len, reverse=True))
