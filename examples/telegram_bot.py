"""A Telegram bot for this server: each of its users has conversations, memories and reminders of their own.

Telegram sends each message to a webhook of yours (https://core.telegram.org/bots/api#setwebhook), and takes the answer
in the webhook's own reply. The bot speaks for its users with a token that grants `on_behalf`:

    export ACCESS=open,key API_KEYS=bot:$(openssl rand -hex 32) API_KEY_GRANTS=bot:on_behalf
    export TELEGRAM_SECRET=$(openssl rand -hex 24)
    export ASSISTANT_TOKEN=$(.venv/bin/responder-thinker token telegram --grant on_behalf --days 90)
    make run &
    .venv/bin/uvicorn --app-dir examples telegram_bot:app --port 8100

Then register the webhook once, with the token from BotFather, the bot's address, and the secret for its requests:

    curl https://api.telegram.org/bot<token>/setWebhook -d url=https://bot.example.com/telegram -d secret_token=$TELEGRAM_SECRET
"""  # noqa: E501 - a command to copy

import hmac
import os
from typing import Any

import httpx2
from fastapi import FastAPI, Header, HTTPException

ASSISTANT = os.environ.get("ASSISTANT_URL", "http://127.0.0.1:8000")
TOKEN = os.environ["ASSISTANT_TOKEN"]
SECRET = os.environ["TELEGRAM_SECRET"]
ANSWER_WITHIN_S = 55
"""Seconds for an answer; Telegram waits for a minute, then sends the message again."""
SORRY = "I cannot answer just now. Please ask again in a moment."

app = FastAPI()


@app.post("/telegram")
async def on_update(update: dict[str, Any], x_telegram_bot_api_secret_token: str = Header("")) -> dict[str, Any]:
    """Answer a text message in its chat; anything else is accepted and ignored."""
    if not hmac.compare_digest(x_telegram_bot_api_secret_token.encode(), SECRET.encode()):
        raise HTTPException(403, "This is not Telegram.")
    message = update.get("message") or {}
    if not message.get("text") or "from" not in message:
        return {}
    chat = message["chat"]["id"]
    body = {
        "message": message["text"][:8000],
        "platform": "telegram",
        "user_id": str(message["from"]["id"]),
        "conversation_id": f"chat_{chat}",
        "message_id": f"update-{update['update_id']}",  # sent again, it gets the same answer
    }
    return {"method": "sendMessage", "chat_id": chat, "text": (await _ask(body))[:4096]}


async def _ask(body: dict[str, str]) -> str:
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        async with httpx2.AsyncClient(base_url=ASSISTANT, headers=headers, timeout=ANSWER_WITHIN_S) as client:
            answer = await client.post("/api/multiturn", json=body)
            answer.raise_for_status()
            return str(answer.json()["text"])
    except httpx2.HTTPError:
        return SORRY
