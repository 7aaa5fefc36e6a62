"""A backend-mediated realtime voice server. Start reading at `main.py`, or follow a frame from `transports/`."""
