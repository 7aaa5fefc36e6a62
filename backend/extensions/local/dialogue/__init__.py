"""The dialogue: what the local Responder answers, by rules or by a chat model."""
