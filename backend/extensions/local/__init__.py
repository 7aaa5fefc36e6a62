"""The product's Responder without a provider: a process of its own behind the Realtime protocol.

`__main__` starts it; `app` is its HTTP surface; `realtime/` the Realtime protocol, pure core and thin shell;
`recognition/` speech to text; `dialogue/` what is answered; `synthesis/` text to speech; `chat/` chat completions for
Thinkers where there is no model. The server in `backend/` never imports this package: it starts it as a child process
and speaks to it over a WebSocket. docs/local.md says what it can and cannot do.
"""
