"""What is read from a model that writes its calls between tags: any text, cut in any way."""

from __future__ import annotations

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
    RAW_LIMIT,
    RESULT,
    RESULT_END,
    THINK,
    THINK_END,
    Malformed,
    ParsedCall,
    Piece,
    TagReader,
)

TOOLS = ("weather", "clock")
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


def read(*pieces: str) -> list[Piece]:
    """All that comes out when the model says `pieces`; words joined."""
    reader = TagReader()
    out = [piece for text in pieces for piece in reader.feed(text)] + reader.finish()
    joined: list[Piece] = []
    for piece in out:
        if isinstance(piece, TextDelta) and joined and isinstance(before := joined[-1], TextDelta):
            joined[-1] = TextDelta(before.text + piece.text)
        else:
            joined.append(piece)
    return joined


def written(name: str, arguments: object) -> str:
    """A call as a model should write it."""
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"{CALL}{body}{CALL_END}"


def cut(text: str, places: list[int]) -> list[str]:
    """`text` in pieces."""
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@given(TEXTS, st.lists(st.integers(0, 400), max_size=12))
def test_it_does_not_matter_how_the_text_is_cut(text: str, places: list[int]) -> None:
    assert read(*cut(text, places)) == read(text) == read(*text)


@given(TEXTS)
def test_no_words_come_out_with_or_after_a_call(text: str) -> None:
    out = read(text)
    called = [index for index, piece in enumerate(out) if not isinstance(piece, TextDelta)]
    assert all(not isinstance(piece, TextDelta) for piece in out[called[0] :]) if called else True
    for piece in out:
        if isinstance(piece, TextDelta):
            hidden = any(opener in text for opener in CLOSERS)  # what stood around it may read like a tag now
            assert hidden or (CALL not in piece.text and piece.text in text)
        if isinstance(piece, Malformed):
            assert len(piece.raw) <= RAW_LIMIT


@given(PLAIN, st.lists(st.tuples(st.sampled_from(TOOLS), ARGUMENTS), min_size=1, max_size=3), TEXTS)
def test_calls_are_read_as_they_were_meant(before: str, calls: list[tuple[str, dict[str, object]]], after: str) -> None:
    texts = [written(name, arguments) for name, arguments in calls]
    out = read(before + "\n".join(texts) + "\nThe result is 42. " + after)
    made = [piece for piece in out if not isinstance(piece, TextDelta)]
    assert all(isinstance(piece, ParsedCall) for piece in made)
    assert [(piece.name, json.loads(piece.arguments)) for piece in made if isinstance(piece, ParsedCall)] == calls
    assert "".join(piece.text for piece in out if isinstance(piece, TextDelta)) == before


@given(PLAIN)
def test_words_without_tags_are_left_alone(text: str) -> None:
    assert read(text) == ([TextDelta(text)] if text else [])


def test_a_result_the_model_makes_up_is_dropped_and_so_are_the_calls_built_on_it() -> None:
    text = (
        f'Let me look. {written("weather", {"place": "Oslo"})}\n{RESULT}>{{"rain": true}}{RESULT_END}\n'
        f"So it rains. {written('clock', {})}"
    )
    assert read(text) == [TextDelta("Let me look. "), ParsedCall("weather", '{"place": "Oslo"}')]
    assert read(f"Hm. {RESULT}>42{RESULT_END}It is 42.") == [TextDelta("Hm. It is 42.")]
    assert read(f"Hm. {CALL_RESULT}>42{CALL_RESULT_END}It is 42.") == [TextDelta("Hm. It is 42.")]


def test_nothing_more_is_wanted_once_the_model_goes_on_after_a_call() -> None:
    reader = TagReader()
    reader.feed(written("clock", {}))
    assert not reader.over
    reader.feed("  \n")
    assert reader.feed("It") == []
    assert repr(reader) == "TagReader(OVER, 0 characters held back)"
    assert reader.feed("anything") == reader.finish() == []


def test_thoughts_stay_private() -> None:
    text = f"{THINK}The user is wrong. {written('clock', {})}{THINK_END}\nFine."
    assert read(text) == [TextDelta("\nFine.")]
    assert read("Well", "<thi", "nk>secret", "</thin", "k>.") == [TextDelta("Well.")]
    assert read(f"Well.{THINK}never closed") == [TextDelta("Well.")]


def test_a_closing_tag_may_be_missing() -> None:
    assert read(f'{CALL}{{"name": "clock", "arguments": {{}}}}') == [ParsedCall("clock", "{}")]
    assert read(f'{CALL}{{"name": "clock"}} It is noon.') == [ParsedCall("clock", "{}")]


def test_a_closing_tag_within_a_text_does_not_end_the_call() -> None:
    call = written("weather", {"place": f'a "quoted" {CALL_END} }} place'})
    (piece,) = read(call)
    assert isinstance(piece, ParsedCall) and json.loads(piece.arguments)["place"] == f'a "quoted" {CALL_END} }} place'


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
def test_what_cannot_be_read_is_malformed_and_no_words(body: str) -> None:
    out = read(f"Well. {CALL}{body}{CALL_END}")
    assert [type(piece) for piece in out] == [TextDelta, Malformed]


def test_arguments_may_be_text_and_may_be_called_parameters() -> None:
    assert read(f'{CALL}{{"name": "clock", "arguments": "{{\\"a\\": 1}}"}}{CALL_END}') == [
        ParsedCall("clock", '{"a": 1}')
    ]
    assert read(f'{CALL}{{"name": "clock", "parameters": {{"a": 1}}}}{CALL_END}') == [ParsedCall("clock", '{"a": 1}')]


def test_a_call_without_end_is_given_up() -> None:
    reader = TagReader()
    reader.feed(CALL + '{"name": "')
    out = [piece for _ in range(CALL_LIMIT // 100 + 1) for piece in reader.feed("x" * 100)]
    assert [type(piece) for piece in out] == [Malformed] and reader.over


def test_words_are_handed_on_as_soon_as_they_cannot_be_a_tag() -> None:
    reader = TagReader()
    assert reader.feed("It is 3 < ") == [TextDelta("It is 3 < ")]
    assert reader.feed("4 <fun") == [TextDelta("4 ")]
    assert reader.feed("ny") == [TextDelta("<funny")]
