"""Our prose keeps to the rule file, and the prose checker finds each place that does not."""

from pathlib import Path

import pytest

from scripts.prose import ROOT, Passage, files_of, findings, load_rules, passages_of

RULES = load_rules()


def test_documents_and_docstrings_keep_to_the_rules() -> None:
    assert [str(each) for each in findings(RULES, passages_of(files_of(RULES)))] == []


@pytest.mark.parametrize(
    "words", ["Whoever calls is heard.", "It begins anew.", "the caller, whom it knows", "An irregardless word."]
)
def test_an_unused_word_is_found_with_its_line(words: str) -> None:
    [found] = findings(RULES, [Passage(ROOT / "README.md", 7, f"A line.\nAnother.\n{words}")])
    assert (found.line, str(found).startswith("README.md:9: ")) == (9, True)


def test_code_links_and_quotations_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`whom` “You told me.”\n\n```\nanew\n```\n\n    told\n\n[a page](https://whom.example/whom)\n")
    assert list(findings(RULES, passages_of([page]))) == []
