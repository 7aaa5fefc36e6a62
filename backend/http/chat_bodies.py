"""The bodies of typed turns, and the turns they ask for."""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints, model_validator

from backend.chat.turn import ChatRequest
from backend.errors import NotFound
from backend.http.bodies import ConversationId
from backend.storage.memory import new_message_id

TEXT_LIMIT = 8_000
"""Characters of one message."""
MESSAGES_LIMIT = 40
"""Messages a caller may bring along."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TEXT_LIMIT)]
MessageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{0,32}$")]


class Brought(BaseModel):
    """A message of `messages`."""

    role: Literal["user", "assistant"]
    content: Text


class SingleTurn(BaseModel):
    """`POST /api/singleturn`."""

    message: Text | None = None
    messages: list[Brought] = Field(default_factory=list, max_length=MESSAGES_LIMIT)
    platform: Label = ""
    mode: Label = ""
    stream: bool = False

    @model_validator(mode="after")
    def _one_question(self) -> SingleTurn:
        if (self.message is None) == (not self.messages):
            raise ValueError("send either `message` or `messages`")
        if self.messages and self.messages[-1].role != "user":
            raise ValueError("the last of `messages` must be the user's")
        return self

    @property
    def text(self) -> str:
        """The message to be answered."""
        return self.message if self.message is not None else self.messages[-1].content

    @property
    def earlier(self) -> tuple[tuple[str, str], ...]:
        """What the caller brings along."""
        return tuple((message.role, message.content) for message in self.messages[:-1])

    def turn(self, user_id: str) -> ChatRequest:
        """What is asked, in no conversation."""
        return ChatRequest(user_id, self.text, earlier=self.earlier, platform=self.platform, mode=self.mode)


class MultiTurn(SingleTurn):
    """`POST /api/multiturn`."""

    conversation_id: ConversationId | None = None
    message_id: MessageId | None = None

    def turn(self, user_id: str, own: str | None = None) -> ChatRequest:
        """What is asked, in `conversation_id`, or a new one; `own` is the only one this caller may name.

        Raises `NotFound` for another.
        """
        if own is not None and self.conversation_id not in (None, own):
            raise NotFound("No such conversation.", hint="A session's token opens that session's conversation only.")
        named = self.conversation_id or own
        return ChatRequest(
            user_id,
            self.text,
            named or secrets.token_urlsafe(16),
            named_conversation=named is not None,
            message_id=self.message_id or new_message_id(),
            earlier=self.earlier,
            platform=self.platform,
            mode=self.mode,
        )
