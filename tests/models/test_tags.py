"""Reading a model that writes its calls between tags: any text, cut anywhere."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.models.base import TextDelta
from backend.models.tags import (
    CALL,
    CALL_END,
    CALL_LIMIT,
    CALL_RESULT,
    CALL_RESULT_END,
    CLOSERS,
    MALFORMED,
    RAW_LIMIT,
    RESULT,
    RESULT_END,
    THINK,
    THINK_END,
    TagReader,
)

BITS = st.sampled_from(
    [
        CALL, CALL_END, f"{RESULT}>", f'{RESULT} name="x">', RESULT_END,
        f"{CALL_RESULT}>", CALL_RESULT_END, THINK, THINK_END,
        "<", "</", "{", "}", '"', "\\", "\n", " ", '{"name": "weather", "arguments": {}}', '{"name": "clock"}',
        '{"name": "weather", "arguments": {"place": "</function_call> \\" }"}}', "It is", "<function_", "é", "😀",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(BITS, st.text(max_size=6)), max_size=14).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=6), JSON, max_size=4)
PLAIN = st.text(st.characters(exclude_characters="<`", codec="utf-8"), max_size=30)

Read = tuple[str, list[tuple[str, str]]]
CLOCK: Read = ("", [("clock", "{}")])


def read(*pieces: str) -> Read:
    """The words, and the name and arguments of each call, when the model says `pieces`. No words follow a call."""
    reader = TagReader()
    words, calls = "", list[tuple[str, str]]()
    for piece in [piece for text in pieces for piece in reader.feed(text)] + reader.finish():
        if isinstance(piece, TextDelta):
            assert not calls
            words += piece.text
        else:
            calls.append((piece.name, piece.arguments))
    return words, calls


def written(name: str, arguments: object) -> str:
    """A call as a model should write it."""
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"{CALL}{body}{CALL_END}"


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
def test_the_cuts_in_a_text_do_not_change_what_is_read(text: str, places: list[int]) -> None:
    ends = sorted({place % (len(text) + 1) for place in places})
    cut = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    words, calls = read(text)
    assert read(*cut) == read(*text) == (words, calls)
    hidden = any(opener in text for opener in CLOSERS)  # the text around it may now read as a tag
    assert hidden or (CALL not in words and words in text)
    assert all(len(json.loads(raw)["text"]) <= RAW_LIMIT for name, raw in calls if name == MALFORMED)


@given(
    PLAIN,
    st.lists(st.tuples(st.sampled_from(("weather", "clock")), ARGUMENTS), min_size=1, max_size=3),
    TEXTS,
)
def test_calls_are_read_as_written(before: str, calls: list[tuple[str, dict[str, object]]], after: str) -> None:
    texts = [written(name, arguments) for name, arguments in calls]
    words, made = read(before + "\n".join(texts) + "\nThe result is 42. " + after)
    assert words == before
    assert [(name, json.loads(arguments)) for name, arguments in made] == calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Look.{written('clock', {})}\n{RESULT}>1{RESULT_END} It is one. {written('clock', {})}", ("Look.", CLOCK[1])),
        (f"Hm. {RESULT}>42{RESULT_END}It is 42.", ("Hm. It is 42.", [])),
        (f"Hm. {CALL_RESULT}>42{CALL_RESULT_END}It is 42.", ("Hm. It is 42.", [])),
        (f"{THINK}The user is wrong. {written('clock', {})}{THINK_END}\nFine.", ("\nFine.", [])),
        (f"Well.{THINK}never closed", ("Well.", [])),
        (f'{CALL}{{"name": "clock", "arguments": {{}}}}', CLOCK),
        (f'{CALL}{{"name": "clock"}} It is noon.', CLOCK),
        (f'{CALL}{{"name": "clock", "arguments": "{{\\"a\\": 1}}"}}{CALL_END}', ("", [("clock", '{"a": 1}')])),
        (f'{CALL}{{"name": "clock", "parameters": {{"a": 1}}}}{CALL_END}', ("", [("clock", '{"a": 1}')])),
        (f'{CALL}{{"name": "clock", "args": {{"a": "{CALL_END}"}}}}', ("", [("clock", f'{{"a": "{CALL_END}"}}')])),
    ],
)
def test_invented_results_and_thoughts_are_dropped_and_small_mistakes_understood(text: str, expected: Read) -> None:
    assert read(text) == expected


def test_reading_ends_when_the_model_goes_on_after_a_call() -> None:
    reader = TagReader()
    reader.feed(written("clock", {}) + "  \n")
    assert [reader.over, reader.feed("It"), reader.over] == [False, [], True]
    assert reader.feed("anything") == reader.finish() == []


@pytest.mark.parametrize(
    "body",
    [
        "",
        "weather(Oslo)",
        "{'name': 'weather'}",
        '{"name": 5}',
        '{"name": ""}',
        '{"arguments": {}}',
        '{"name": "weather", "arguments": {"n": NaN}}',
        '{"name": "weather", "arguments": {',
        '["weather"]',
        '{"name": "weather", "arguments": "unclosed}',
        '```json\n{"name": "weather"}\n```',
        '{"a":' * 5000,
    ],
)
def test_an_unreadable_call_is_malformed_and_not_read_as_words(body: str) -> None:
    words, [(name, _)] = read(f"Well. {CALL}{body}{CALL_END}")
    assert (words, name) == ("Well. ", MALFORMED)


def test_a_call_without_an_end_is_cut_off() -> None:
    reader = TagReader()
    reader.feed(CALL + '{"name": "')
    [given_up] = [piece for _ in range(CALL_LIMIT // 100 + 1) for piece in reader.feed("x" * 100)]
    assert not isinstance(given_up, TextDelta) and given_up.name == MALFORMED and reader.over
