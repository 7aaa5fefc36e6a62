"""The dialogue makes the local Responder's answers, with a chat model or without."""
