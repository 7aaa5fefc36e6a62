"""A bad record or a failing observer costs only itself, is counted, and does not flood the log."""

import msgspec
import pytest

from backend.runtime.faults import call_observer, decode_or_skip, observer_failures, skipped_records


def test_an_undecodable_record_is_skipped_and_counted_and_logged_each_time_the_count_doubles(
    caplog: pytest.LogCaptureFixture,
) -> None:
    decode = msgspec.json.Decoder(list[int]).decode
    assert decode_or_skip("test.list", b"[1]", decode) == [1]
    assert decode_or_skip("test.list", b"[", decode) is None
    assert decode_or_skip("test.list", b'["a"]', decode) is None
    assert decode_or_skip("test.fields", {"text": ""}, lambda fields: fields["kind"]) is None
    assert (skipped_records["test.list"], skipped_records["test.fields"]) == (2, 1)
    caplog.clear()
    for _ in range(9):
        decode_or_skip("test.repeated", b"x", int)
    assert len(caplog.records) == 4, "at 1, 2, 4 and 8"


def test_an_observer_that_raises_is_counted_and_logged_without_the_words_of_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raises(words: str) -> None:
        raise ValueError(words)

    call_observer("test.words", raises, "what a user said")
    assert observer_failures["test.words"] == 1
    assert "test_faults.py" in caplog.text and "ValueError" in caplog.text
    assert "what a user said" not in caplog.text
