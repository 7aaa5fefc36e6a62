"""Records as LangSmith's ingest API takes them; pure functions.

Its documentation calls a span a *run*. `POST {endpoint}/runs/batch` takes `{"post": […], "patch": […]}`: runs that
are new, and additions to runs it has. Every run names its trace, its parent and its `dotted_order`: the beginnings
and ids on the way from the outermost run, joined by dots. Metadata with `session_id` on every run makes one
thread of a conversation; `usage_metadata` carries a model's tokens.
See https://docs.langchain.com/langsmith/run-data-format and …/smith-api/runs/ingest-runs-batch-json.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from backend.observability.trace_records import TEXT_LIMIT, Record, Step, TracedWords
from backend.runtime.json_objects import Json

RUN_TYPES = {"model": "llm", "tool": "tool"}
"""LangSmith's names; everything else is a chain."""
USER = "user_hash"
"""The metadata by which a user's runs are found; it names nobody."""
CONVERSATION_LIMIT = 4 * TEXT_LIMIT
"""Characters of the messages shown to a model that are sent, the latest first."""
QUERY_LIMIT = 100
"""Runs that a query returns at most."""
ALWAYS = "2020-01-01T00:00:00Z"
"""A time before the first trace of this server."""


def payload(records: Sequence[Record], project: str) -> bytes:
    """Return the body of one request. A run that begins and ends within it is sent once."""
    posts: dict[int, Json] = {}
    patches: dict[int, Json] = {}
    for record in records:
        id_, run = record.path[-1].id, run_of(record, project)
        # The outermost run is sent at both its ends, each time whole: either may get lost.
        known = len(record.path) == 1 and record.ended is not None and id_ not in posts
        (patches if known else posts)[id_] = run
    return msgspec.json.encode({"post": list(posts.values()), "patch": list(patches.values())})


def erasure(user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/delete` that deletes every trace of the user with this hash.

    See https://docs.langchain.com/langsmith/smith-api/run/delete-runs: traces that match the metadata, from a time on.
    """
    return msgspec.json.encode({"metadata": {USER: user}, "start_time": ALWAYS})


def traces_query(projects: Sequence[str], user: str) -> bytes:
    """Return the body of `POST /api/v1/runs/query` that finds the outermost runs of the user with this hash.

    See https://docs.langchain.com/langsmith/trace-query-syntax: a condition on metadata is one on a key and its value.
    """
    of_user = f'and(eq(metadata_key, "{USER}"), eq(metadata_value, "{user}"))'
    return msgspec.json.encode(
        {"session": projects, "is_root": True, "filter": of_user, "select": ["id"], "limit": QUERY_LIMIT}
    )


def run_of(record: Record, project: str) -> Json:
    """Return one run."""
    step = record.path[-1]
    run: Json = {
        "id": _uuid(step),
        "trace_id": _uuid(record.path[0]),
        "parent_run_id": _uuid(record.path[-2]) if len(record.path) > 1 else None,
        "dotted_order": ".".join(map(_order, record.path)),
        "session_name": project,
        "name": record.name,
        "run_type": RUN_TYPES.get(record.kind, "chain"),
        "start_time": _moment(step.began),
        "inputs": _words(record.asked),
        "extra": {"metadata": metadata(record)},
        "tags": [record.kind, *([record.outcome] if record.outcome else [])],
    }
    if record.ended is not None:
        run["end_time"] = _moment(record.ended)
        run["outputs"] = _words(record.said) | {"outcome": record.outcome}
        if record.outcome == "failed":
            run["error"] = str(record.facts.get("error") or "failed")
        if isinstance(first := record.facts.get("first_token_ms"), int | float):
            at = _moment(step.began + round(first * 1_000_000))
            run["events"] = [{"name": "new_token", "time": at}]
    return run


def metadata(record: Record) -> Json:
    """Return the metadata that runs can be filtered by."""
    shown: Json = {"session_id": record.session_id, "kind": record.kind, **record.facts}
    if record.user:
        shown[USER] = record.user
    if record.outcome:
        shown |= {"outcome": record.outcome, "tokens": record.tokens}
    if record.kind == "model":
        shown["ls_model_name"] = record.facts.get("model") or record.name
        if record.tokens:
            shown["usage_metadata"] = {
                "input_tokens": record.facts.get("tokens_in") or 0,
                "output_tokens": record.facts.get("tokens_out") or 0,
                "total_tokens": record.tokens,
            }
    return shown


def _words(words: TracedWords) -> Json:
    """Return lengths and, where they were kept, the words: a conversation's end rather than its beginning."""
    shown = {name: value for name, value in words._asdict().items() if value is not None}
    if words.conversation is None:
        return shown
    del shown["conversation"]
    room = CONVERSATION_LIMIT
    messages: list[Json] = []
    for message in reversed(words.conversation):
        if room <= 0:
            break
        content = str(message.get("content") or "")[: min(room, TEXT_LIMIT)]
        room -= len(content) + 1
        messages.insert(0, {**message, "content": content})
    return {"messages": messages, "count": shown.pop("messages", 0), **shown}


def _uuid(step: Step) -> str:
    digits = f"{step.id:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@lru_cache(maxsize=512)
def _order(step: Step) -> str:
    """Return a step of a dotted order, e.g. 20261121T101500123456Z019aa…; a span's is part of all those within it."""
    moment = _moment(step.began).translate(_PUNCTUATION).removesuffix("+0000")
    return f"{moment}Z{_uuid(step)}"


_PUNCTUATION = str.maketrans("", "", "-:.")


def _moment(nanoseconds: int) -> str:
    """Return ISO 8601 to the microsecond. In integers: a float would round a child to before its parent."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000).isoformat(timespec="microseconds")
