"""One file per kind of tool: each defines `SKILL`. A new file here is found by itself."""
