"""The word lists and patterns of each language for the rules of turn-taking: a file a language, read once."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Language:
    """The data of one language, by section and name; a missing one raises `KeyError` where it is first used."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._data: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name(f"{code}.toml").read_text("utf-8"))

    def words(self, section: str, name: str) -> frozenset[str]:
        """Return a list of words."""
        return frozenset(self._data[section][name].split())

    def words_by(self, section: str, name: str) -> dict[str, tuple[str, ...]]:
        """Return several lists of words, in their order, by the key of each."""
        return {key: tuple(words.split()) for key, words in self._data[section][name].items()}

    def phrases(self, section: str, name: str) -> tuple[str, ...]:
        """Return a list of phrases, which commas separate in the file."""
        return _phrases(self._data[section][name])

    def phrases_by(self, section: str, name: str) -> dict[str, tuple[str, ...]]:
        """Return several lists of phrases by the key of each."""
        return {key: _phrases(text) for key, text in self._data[section][name].items()}

    def pattern(self, section: str, name: str, flags: int = 0) -> re.Pattern[str]:
        """Return a regular expression; `%name%` in it stands for another expression of its section."""
        known = self._data[section]
        whole = re.sub("%([a-z_]+)%", lambda found: "".join(known[found[1]]), "".join(known[name]))
        return re.compile(whole, flags)

    def table(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a table."""
        rows: Sequence[Mapping[str, Any]] = self._data[name]
        return rows


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


ENGLISH = Language("en")
