"""The history of a typed turn is the conversation in memory, or the messages that the client sends."""

from collections.abc import Sequence

from backend.storage.ledger.entries import of_message
from backend.storage.ledger.ledger import Ledger
from backend.storage.ledger.recall import recall
from backend.storage.ledger.work import current_work
from backend.storage.memory import HISTORY_LIMIT, Memory, briefly
from backend.storage.messages import Message, without_retried
from backend.thinkers.dispatcher import ThinkerCall
from backend.thinkers.ledger_entries import entries_of

HISTORY_WITHIN_S = 0.4
"""Seconds that loading or saving a conversation may take."""


class ChatHistory:
    """The `ContextStore` over memory, where voice calls keep the same conversations.

    A conversation is stored under its owner's keys, so another user who names its id does not find it. Conversations of
    unknown users are not kept. The client's messages begin a conversation that does not exist yet. If a conversation
    cannot be read, the client's messages stand in for it, and nothing is kept.
    """

    def __init__(
        self,
        memory: Memory | None,
        earlier: Sequence[Message] = (),
        ledger: Ledger | None = None,
        platform: str = "",
    ) -> None:
        """`memory` None: nothing is kept. `earlier` are the messages that the client sends."""
        self._memory = memory
        self._ledger = ledger
        self._platform = platform
        self._earlier = list(earlier)
        self._to_keep: list[Message] = []
        self.lost = False
        """Whether the kept conversation could not be read or extended."""

    async def load(self, conversation_id: str, user_id: str) -> list[Message]:
        """Load the kept messages, or return the client's. Never raises."""
        if self._memory is None or not user_id:
            return list(self._earlier)
        warning = "a typed turn goes on without its conversation"
        loading = recall(self._memory, self._ledger, user_id, conversation_id, HISTORY_LIMIT)
        kept = await briefly(loading, None, within_s=HISTORY_WITHIN_S, warning=warning)
        self.lost = kept is None
        if kept:
            return without_retried(kept)
        if not self.lost:
            self._to_keep = list(self._earlier)
        return list(self._earlier)

    async def append(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
        """Keep a turn's messages if this conversation is kept. Never raises."""
        if self._memory is not None and user_id and messages:
            new, self._to_keep = [*self._to_keep, *messages], []
            self._record(conversation_id, user_id, new)
            adding = self._add(self._memory, user_id, conversation_id, new)
            warning = "a typed turn could not be added to its conversation"
            self.lost |= not await briefly(adding, False, within_s=HISTORY_WITHIN_S, warning=warning)

    async def _add(self, memory: Memory, user_id: str, conversation_id: str, new: Sequence[Message]) -> bool:
        await memory.append_messages(user_id, conversation_id, *new)
        return True

    def on_outcome(self, call: ThinkerCall, message_id: str) -> None:
        """Record in the ledger what a Thinker answered to the message, and the tools it called."""
        question = call.question
        if self._ledger and self._memory is not None and question.user_id:
            known = {"conversation_id": question.conversation_id, "mode": "chat", "platform": self._platform}
            self._ledger.write(*entries_of(call, f"{message_id[:100]}:{call.id}", **known))

    def _record(self, conversation_id: str, user_id: str, messages: Sequence[Message]) -> None:
        """Record these messages in the ledger, with the tool calls and the models' usage for the last answer."""
        if self._ledger is None:
            return
        made = [of_message(each, user_id, conversation_id, platform=self._platform) for each in messages]
        entries = [entry for entry in made if entry]
        if (work := current_work.get()) and entries:
            entries = [*entries[:-1], *work.entries(entries[-1]), work.add_to(entries[-1])]
        self._ledger.write(*entries)
