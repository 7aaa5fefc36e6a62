"""The files that the glossary names exist."""

import re
from pathlib import Path

from tests.support.of_extensions import is_of_deleted

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"


def test_every_file_that_the_glossary_names_exists() -> None:
    named = set(re.findall(r"`((?:frontend/|\w+/)[\w/.]*)`", GLOSSARY.read_text()))
    missing = [each for each in named if not (ROOT / each).exists() and not (ROOT / "backend" / each).exists()]
    assert sorted(each for each in missing if not is_of_deleted(each)) == []
