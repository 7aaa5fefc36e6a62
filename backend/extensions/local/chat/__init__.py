"""The chat completions that Thinkers ask for: passed on to a model, or answered without one."""
