"""The Realtime protocol, GA form: a pure core (`core.py`) under a WebSocket shell (`shell.py`)."""
