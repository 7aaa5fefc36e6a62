"""A bad record or a observer that raises costs itself alone, is counted, and fills no log."""

from __future__ import annotations

import msgspec
import pytest

from backend.runtime.faults import call_observer, decode_or_skip, observer_failures, skipped_records


def test_a_record_that_cannot_be_decoded_is_skipped_counted_and_logged_when_their_number_has_doubled(
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


def test_a_listener_that_raises_is_counted_and_logged_without_the_words_of_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raises(words: str) -> None:
        raise ValueError(words)

    call_observer("test.words", raises, "what a user said")
    assert observer_failures["test.words"] == 1
    assert "test_faults.py" in caplog.text and "ValueError" in caplog.text
    assert "what a user said" not in caplog.text
