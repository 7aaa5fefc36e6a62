"""Our prose keeps to the rule file, and the program that reads it finds what it is for, where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.prose import ROOT, Passage, docstrings_of, files_of, findings, load_rules, passages_of

RULES = load_rules()


def test_documents_and_docstrings_keep_to_the_rules() -> None:
    assert [str(each) for each in findings(RULES, passages_of(files_of(RULES)))] == []


@pytest.mark.parametrize(
    "words", ["Whoever calls is heard.", "It begins anew.", "the caller, whom it knows", "An irregardless word."]
)
def test_what_the_rules_name_is_found_with_its_line(words: str) -> None:
    [found] = findings(RULES, [Passage(ROOT / "README.md", 7, f"A line.\nAnother.\n{words}")])
    assert (found.line, str(found).startswith("README.md:9: ")) == (9, True)


def test_code_links_and_quotations_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`whom` “You told me.”\n\n```\nanew\n```\n\n    told\n\n[a page](https://whom.example/whom)\n")
    assert list(findings(RULES, passages_of([page]))) == []


def test_every_kind_of_docstring_is_read(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""One."""\nx = 1\n"""Two."""\n\n\nclass C:\n    """Three."""\n\n    def f(self):\n        """Four."""\n'
    )
    assert sorted(each.text for each in docstrings_of(module)) == ["Four.", "One.", "Three.", "Two."]


@pytest.mark.parametrize(("folder", "count"), [("backend/turns", 1), ("tests", 0)], ids=["swept", "not swept"])
def test_swept_folders_keep_the_rules_of_documents(folder: str, count: int) -> None:
    passage = Passage(ROOT / folder / "module.py", 1, "Nobody speaks.")
    assert len(list(findings(RULES, [passage]))) == count
