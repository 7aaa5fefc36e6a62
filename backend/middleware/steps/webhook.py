"""This step sends every finished turn to the operator's webhook, if one is set up."""

from backend.citations import as_json
from backend.middleware.base import StepOptions, WholeTurn, step
from backend.notifications.webhooks import WebhookClient


@step("webhook", stage="post", options={"words": True}, deadline_s=30.0, detached=True)
async def webhook(turn: WholeTurn, webhooks: WebhookClient | None, options: StepOptions) -> None:
    """Send the turn; without `words`, only labels and lengths. Raises `WebhookFailed`."""
    if webhooks is None:
        return
    asked = turn.asked
    body = {
        "user": asked.user_id,
        "conversation": asked.conversation_id,
        "source_mode": asked.source_mode,
        "mode": asked.mode,
        "platform": asked.platform,
        "message_id": turn.message_id,
        "tools": list(turn.tools),
        "thinkers": list(turn.thinkers),
        "question_characters": len(asked.text),
        "answer_characters": len(turn.answer),
    }
    if options.values["words"]:
        body |= {"question": asked.text, "answer": turn.answer, "citations": as_json(turn.citations)}
    await webhooks.send("turn", body)
