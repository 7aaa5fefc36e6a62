"""The dialogue: what the local Responder answers, by a chat model or without any."""
