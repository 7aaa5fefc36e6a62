"""Sentences in callers' words, with which routing without a language model learns the core's Thinkers."""

import tomllib
from pathlib import Path

from backend.thinkers.base import Addition

PHRASES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))
"""The sentences by the domain of the Thinker that they are for."""
ADDITIONS = tuple(Addition(domain=domain, phrases=tuple(phrases)) for domain, phrases in PHRASES.items())
