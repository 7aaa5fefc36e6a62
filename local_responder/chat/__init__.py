"""Chat completions without a model: tool calls and wording by rules, one file per kind of tool in `skills/`."""
