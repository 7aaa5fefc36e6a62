"""Writes one call into the ledger, without waiting: words said and heard, tool calls, Thinkers' answers, notices."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from backend.page_events import AnswerMeasured, NoticeChanged, TurnMeasured, UsageCounted
from backend.sessions.session import Session
from backend.storage.ledger.entries import Entry, Kind, of_message
from backend.storage.ledger.ledger import Ledger
from backend.storage.messages import Message
from backend.thinkers.dispatcher import ThinkerCall
from backend.thinkers.ledger_entries import entries_of


class CallLedger:
    """The entries of one call in the ledger; without a ledger nothing is written."""

    def __init__(self, ledger: Ledger | None, session: Session, model: Callable[[], str]) -> None:
        """`model` returns the name of the model that serves the call now."""
        self._ledger = ledger
        self._session = session
        self._model = model
        self._began = time.time()
        self._responder = ""
        self._tokens = 0
        self._measured: dict[str, int] = {}
        self._usd: float | None = None

    def on_message(self, message: Message) -> None:
        """Write a message that was really said or heard; add to the assistant's the tokens since its last one."""
        if self._ledger is None:
            return
        session, replied = self._session, message.role == "assistant"
        known = {"session_id": session.id, "model": self._model() if replied else ""}
        entry = of_message(message, session.owner, session.conversation_id, **known)
        if entry and replied and self._tokens:
            details = entry.details | {"responder": self._responder}  # replies have cost tokens since the last entry
            entry = replace(entry, tokens=self._tokens, cost_usd=self._usd, details=details)
            self._tokens, self._usd = 0, None
        if entry and replied:
            entry = replace(entry, details=entry.details | self._measured)
            self._measured = {}
        if entry:
            self._ledger.write(entry)

    def on_measured(self, event: TurnMeasured | AnswerMeasured) -> None:
        """Note how long the caller waited; it is written with the next words that they hear."""
        match event:
            case AnswerMeasured(_, answer_ms):
                self._measured["answer_ms"] = answer_ms
            case TurnMeasured(first_sound_ms=first_sound_ms):
                self._measured["first_sound_ms"] = first_sound_ms

    def on_usage(self, usage: UsageCounted) -> None:
        """Note the tokens of a reply; they are written with the words heard of it, or when the call ends."""
        tokens, self._responder = usage.input_tokens + usage.output_tokens, usage.responder
        self._tokens += tokens
        if usage.usd is not None:
            self._usd = (self._usd or 0) + usage.usd

    def on_tool_call(self, call_id: str, name: str, arguments: str) -> None:
        """Write a tool call of the Responder."""
        self._write(f"{call_id}:call", "tool_call", arguments, name=name, call_id=call_id)

    def on_outcome(self, call: ThinkerCall) -> None:
        """Write a Thinker's answer or error, with the tools that it called."""
        if self._ledger is not None:
            session = self._session
            known = {"conversation_id": session.conversation_id, "session_id": session.id, "mode": "voice"}
            self._ledger.write(*entries_of(call, call.id, **known))

    def on_notice(self, event: NoticeChanged) -> None:
        """Write a notice when the caller has heard it."""
        if event.state == "told" and event.content:
            self._write(event.notice_id, "notice", event.content.text, name=event.content.kind)

    def close(self, reason: str) -> None:
        """Write the call's length and remaining tokens; if it was deleted, delete all its entries instead."""
        if self._ledger is None:
            return
        if reason == "deleted":
            self._ledger.forget_soon(self._session.owner, self._session.conversation_id)
        elif self._responder:
            self._write(
                f"{self._session.id}:ended",
                "call",
                reason,
                name=self._responder,
                model=self._model(),
                tokens=self._tokens,
                cost_usd=self._usd,
                took_ms=round((time.time() - self._began) * 1000),
            )

    def _write(self, entry_id: str, kind: Kind, text: str, **known: Any) -> None:
        if self._ledger is not None:
            session = self._session
            conversation = session.conversation_id
            entry = Entry(entry_id[:128], session.owner, conversation, time.time(), kind, text, mode="voice", **known)
            self._ledger.write(replace(entry, session_id=session.id))
