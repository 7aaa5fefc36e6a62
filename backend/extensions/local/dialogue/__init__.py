"""The dialogue writes the local Responder's answers, with or without a chat model."""
