"""The page about the design documents comes from marks in the tests, and claims nothing that is not there."""

from pathlib import Path

from scripts import documents_table


def test_the_page_is_up_to_date() -> None:
    assert documents_table.PAGE.read_text() == documents_table.page(), "run python -m scripts.documents_table"


def test_a_row_without_a_test_and_a_mark_without_a_row_are_errors(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    mark = '@pytest.mark.document("001", "lost")\ndef test_it() -> None: ...\n'
    (tmp_path / "tests/test_it.py").write_text(mark + 'pytestmark = [pytest.mark.block("001/lost")]\n')
    (tmp_path / "main.py").touch()
    tests = documents_table.held(tmp_path)
    assert tests == {("001", "lost"): ["tests/test_it.py::test_it"], ("block", "001/lost"): ["tests/test_it.py"]}
    rows = {"kept": {"where": ["main.py"]}, "moved": {"where": ["gone.py"]}, "lost": {"where": ["extensions/x/y.py"]}}
    wrong = list(documents_table.astray({"001": {"rows": rows}}, tests, tmp_path))
    assert wrong == [
        "('block', '001/lost'): a test names it, and there is no such row",
        "001, kept: no test has this row in its mark",
        "001, moved: there is no gone.py",
        "001, moved: no test has this row in its mark",
    ]
