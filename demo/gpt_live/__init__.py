"""A peer that plays OpenAI's GPT-Live: it follows a script, and refuses what the `openai` package's types lack."""
