"""The tool calls that the Responder's provider makes itself, on MCP servers; what needs it is asked of the caller.

A question of the provider's is answered without waiting: yes where the caller has agreed to this very call, else no,
with the advice to ask them and to call again, which then finds their agreement. So a question lives as long as any
other confirmation, on the page and in the conversation, and not only as long as a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backend.responders.mcp_items import ASKS, arguments_of
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all
from backend.turns import events as ev
from backend.turns.commands import AnswerApproval, RunThinker

Agree = Callable[[str, Json], Awaitable[str]]
"""(tool, arguments) → empty where the caller has agreed to this very call, else why it is not made."""
BEGINS_WITHIN_S = 1.0
"""Seconds in which a call that was agreed to begins by itself; else with the reply that is asked for then."""
ENDS_WITHIN_S = 30.0
"""Seconds a call may take."""
KEPT = 32
"""Ends that are kept of calls that are not run here yet: a reply that is prepared may call before its turn ends."""
LATE = "the tool has not answered in time"
LOST = "the connection broke while the tool was at work: it is not known whether it did"


class ProviderCalls:
    """Those of one voice call; `dispatch` takes the outcome of each, and `send` the answer to a question."""

    def __init__(
        self,
        dispatch: Callable[[ev.Event], None],
        send: Callable[[AnswerApproval], None],
        agree: Agree,
        turn: Callable[[], int],
    ) -> None:
        self._dispatch = dispatch
        self._send = send
        self._agree = agree
        self._turn = turn
        self._ran_in = -1
        self._known: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Call → when it is overdue."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, ev.Event] = {}
        """Call → its outcome, of one that was over before it was run here."""

    def __repr__(self) -> str:
        return f"ProviderCalls({len(self._timers)} running, {len(self._asking)} asked about)"

    def untrusted(self) -> bool:
        """Return whether text of others has entered the caller's latest turn, with the result of a call."""
        return self._ran_in == self._turn()

    def run(self, command: RunThinker) -> None:
        """Wait for a call's end, or answer the question about one; the outcome is dispatched once."""
        call, name = command.call, command.name
        self._known.add(call)
        if not name.startswith(ASKS):
            self._ran_in = self._turn()
            if outcome := self._ended.pop(call, None):
                self._dispatch(outcome)
                return
            self._wait(call, ENDS_WITHIN_S, ev.ThinkerFailed(call, LATE))
            return
        asking = self._ask(call, name.removeprefix(ASKS), arguments_of(command.arguments))
        task = self._asking[call] = asyncio.create_task(asking, name="ask about a provider's call")
        task.add_done_callback(lambda _: self._asking.pop(call, None))

    def on_event(self, event: ev.ProviderToolBegun | ev.ProviderToolEnded) -> None:
        """Learn that a call has begun or ended."""
        if isinstance(event, ev.ProviderToolBegun):
            if event.approval in self._timers:
                self._wait(event.approval, ENDS_WITHIN_S, ev.ThinkerFailed(event.approval, LATE))
            return
        for call in (event.call, event.approval):
            outcome = ev.ThinkerFailed(call, event.error) if event.error else ev.ThinkerFinished(call, "{}")
            if timer := self._timers.pop(call, None):
                timer.cancel()
                self._dispatch(outcome)
            elif call and call not in self._known:
                self._ended[call] = outcome
                if len(self._ended) > KEPT:
                    del self._ended[next(iter(self._ended))]

    def on_lost(self) -> None:
        """Give up what runs: a connection that broke tells nothing more of it."""
        running = list(self._timers)
        self._stop_timers()
        for call in running:
            self._dispatch(ev.ThinkerFailed(call, LOST))

    def cancel(self, call: str) -> None:
        """Wait for a call no longer."""
        if timer := self._timers.pop(call, None):
            timer.cancel()
        if task := self._asking.get(call):
            task.cancel()

    async def close(self) -> None:
        """Wait for nothing any more."""
        self._stop_timers()
        await cancel_all(list(self._asking.values()))

    async def _ask(self, call: str, tool: str, arguments: Json) -> None:
        refusal = await self._agree(tool, arguments)
        self._send(AnswerApproval(call, not refusal, refusal))
        if refusal:
            self._dispatch(ev.ThinkerFinished(call, refusal))
        else:
            self._wait(call, BEGINS_WITHIN_S, ev.ThinkerFinished(call, "{}"))

    def _wait(self, call: str, seconds: float, outcome: ev.Event) -> None:
        if timer := self._timers.pop(call, None):
            timer.cancel()
        self._timers[call] = asyncio.get_running_loop().call_later(seconds, self._overdue, call, outcome)

    def _overdue(self, call: str, outcome: ev.Event) -> None:
        del self._timers[call]
        self._dispatch(outcome)

    def _stop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
