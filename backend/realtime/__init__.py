"""The OpenAI Realtime protocol, for both of its ends. Pure: no sockets, no clock, no asyncio.

`session`, `items`, `response` and `faults` are the shapes and what a client may put into them; `serving/` is a
conversation that answers, as the local Responder and the scripted peer have it. `openai.types.realtime` is the
reference: tests hold every event to it.
"""
