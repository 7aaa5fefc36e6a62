"""Chat completions without a model: tool calls and wording by rules, by what tools say of themselves."""
