"""A Thinker's call becomes ledger entries: its answer, and its tool calls."""

import time
from collections.abc import Iterator
from typing import Any

from backend.citations import as_json
from backend.storage.ledger.entries import Entry
from backend.thinkers.dispatcher import ThinkerCall


def entries_of(call: ThinkerCall, entry_id: str, **known: Any) -> Iterator[Entry]:
    """Yield the entries of a finished call. `known` are the fields that all entries of its conversation share."""
    answer = call.answer
    details: dict[str, Any] = {"query": call.question.query}
    details |= {"source": answer.source} if answer else {"failed": True}
    if answer and answer.citations:
        details["citations"] = as_json(answer.citations)
    entry = Entry(
        entry_id[:128],
        call.question.user_id,
        at=time.time(),
        kind="thinker_answer",
        text=answer.text if answer else call.error,
        name=call.question.domain,
        call_id=entry_id[:128],
        took_ms=round(call.elapsed_s * 1000),
        details=details,
        **known,
    )
    yield from call.work.entries(entry)
    yield call.work.add_to(entry)
