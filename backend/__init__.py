"""A backend-mediated realtime voice server. Start reading at `app/main.py`, or follow a way in docs/architecture.md."""
