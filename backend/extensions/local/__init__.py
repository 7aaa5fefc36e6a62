"""The Responder without a provider: a separate process behind the Realtime protocol.

`__main__` starts it, and `app` is its HTTP surface; `recognition/` turns speech into text, `dialogue/` answers it, and
`synthesis/` turns text into speech. The server starts it as a child process, and speaks to it over a WebSocket.
docs/local.md says what it can and cannot do.
"""
